"""`gradients`: what it returns, how terms are summed, where it stops; gradients that are rows."""

from __future__ import annotations

import threading

import pytest

import undertow as ut
from undertow import train
from undertow.train import AggregationMethod, IndexedSlices, UnconnectedGradients, gradients, stop_gradient

ADD_N, TREE, ACCUMULATE = AggregationMethod.ADD_N, AggregationMethod.EXPERIMENTAL_TREE, AggregationMethod.EXPERIMENTAL_ACCUMULATE_N
METHODS = [None, ADD_N, TREE, ACCUMULATE]


@pytest.fixture(params=[1, 3], ids=["one worker", "three workers"])
def workers(request):
    ut.autograd.set_num_workers(request.param)
    yield request.param
    ut.autograd.set_num_workers(1)


def leaf(value, dtype=ut.float32):
    return ut.tensor(value, dtype=dtype, requires_grad=True)


def test_ys_are_summed_and_weighted():
    x = leaf([1.0, 2.0])
    y1, y2 = x * 3, x * x
    assert gradients([y1, y2], x)[0].tolist() == [5, 7]
    assert gradients([y1, y2], [x], grad_ys=[ut.tensor([1.0, 0.0]), None])[0].tolist() == [5, 4]


def test_gradients_can_be_differentiated_and_computed_again():
    x = leaf(2.0)
    y = x**4
    (first,) = gradients(y, x)
    (second,) = gradients(first, x)
    assert (first.item(), second.item(), gradients(y, x)[0].item()) == (32, 48, 32)


def test_interior_tensors_are_among_the_xs():
    x = leaf([1.0, 2.0])
    h = x * 2
    assert [g.tolist() for g in gradients((h * h).sum(), [h, x])] == [[4, 8], [8, 16]]


def test_unconnected_gradients_are_none_or_zeros():
    x, other, frozen = leaf([1.0]), leaf([1.0, 2.0]), ut.ones(1)
    y = x * 2
    assert gradients(y, [x, other, frozen])[1:] == [None, None]
    zeros = gradients(y, [x, other, frozen], unconnected_gradients=UnconnectedGradients.ZERO)
    assert zeros[1].tolist() == [0, 0] and zeros[2].tolist() == [0]
    assert gradients(frozen * 2, [x]) == [None]
    with pytest.raises(ValueError, match="unconnected_gradients"):
        gradients(y, x, unconnected_gradients="ones")


def test_stop_gradients_are_constants():
    a = leaf(0.0)
    b = 2 * a
    total = gradients(a + b, [a, b])
    partial = gradients(a + b, [a, b], stop_gradients=[a, b])
    assert [g.item() for g in total] == [3, 1] and [g.item() for g in partial] == [1, 1]
    assert gradients(b * b, [a], stop_gradients=[b]) == [None]
    assert gradients(b, [a], stop_gradients=b) == [None]


def test_stopping_at_one_output_of_a_node_leaves_the_others():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    first, second = (x * 1).unbind()
    g, at_first = gradients((first * 5).sum() + (second * 7).sum(), [x, first], stop_gradients=[first])
    assert g.tolist() == [[0, 0], [7, 7]] and at_first.tolist() == [5, 5]
    assert gradients((first * 5).sum() + (second * 7).sum(), x)[0].tolist() == [[5, 5], [7, 7]]  # nothing stays behind


def test_stop_gradient_keeps_the_value():
    x = leaf([3.0])
    assert stop_gradient(x).tolist() == [3] and not stop_gradient(x).requires_grad


def test_bad_arguments():
    x = leaf([1.0])
    with pytest.raises(ValueError, match="Passed 2 grad_ys for 1 ys"):
        gradients(x * 2, x, grad_ys=[None, None])
    with pytest.raises(ValueError, match="Invalid aggregation_method specified 9"):
        gradients(x * 2, x, aggregation_method=9)
    with pytest.raises(TypeError, match="expected tensors"):
        gradients(x * 2, 3.0)
    with pytest.raises(ValueError, match="shape of ys"):
        gradients(x * 2, x, grad_ys=ut.ones(3))


# Contributions of nodes created later arrive first: the list is the order of summation.


def summed(terms, dtype, method, interior=False):
    x = leaf([0.0], dtype)
    used = x * 1 if interior else x
    ys = [used * ut.tensor([t], dtype=dtype) for t in reversed(terms)]
    return gradients(ys, x, aggregation_method=method)[0].item()


@pytest.mark.parametrize("interior", [False, True])
def test_float32_sums_differ_by_aggregation_method(interior, workers):
    terms = [2.0**24, 1.0, 1.0, 1.0]
    assert summed(terms, ut.float32, ADD_N, interior) == 2**24  # one after the other, each 1 lost
    assert summed(terms, ut.float32, ACCUMULATE, interior) == 2**24
    assert summed(terms, ut.float32, TREE, interior) == 2**24 + 2  # (2^24 + 1) + (1 + 1)


@pytest.mark.parametrize("interior", [False, True])
def test_add_n_rounds_half_types_once(interior, workers):
    terms = [256.0, 1.0, 1.0, 1.0]  # neighbors of 256 in bfloat16 are 2 apart
    assert summed(terms, ut.bfloat16, ADD_N, interior) == 260  # 259, rounded to even
    assert summed(terms, ut.bfloat16, None, interior) == 260  # the default
    assert summed(terms, ut.bfloat16, ACCUMULATE, interior) == 256  # each 1 lost
    assert summed(terms, ut.bfloat16, TREE, interior) == 258  # (256 + 1) + (1 + 1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("count", [1, 2, 3, 7, 40])
def test_every_aggregation_method_sums_all_terms(method, count, workers):
    x = leaf([[1.0, 2.0], [3.0, 4.0]], ut.float64)
    y = sum((x * (i + 1)).sin() for i in range(count))
    expected = sum((x.detach() * (i + 1)).cos() * (i + 1) for i in range(count))
    ut.testing.assert_close(gradients(y, x, aggregation_method=method)[0], expected)


@pytest.mark.parametrize("method", METHODS)
def test_second_derivatives_work_with_every_aggregation_method(method, workers):
    x = leaf(0.5, ut.float64)
    (first,) = gradients(x.sin() + x**3 + x.exp() + x * x, x, aggregation_method=method)
    (second,) = gradients(first, x, aggregation_method=method)
    expected = -x.detach().sin() + 6 * x.detach() + x.detach().exp() + 2
    ut.testing.assert_close(second.detach(), expected)


def test_terms_that_are_views_and_expanded_are_summed():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    ys = [x.sum(), x.t().sum(), (x.t() * ut.tensor([[1.0, 2.0], [3.0, 4.0]])).sum(), x[0].sum()]
    results = [gradients(ys, x, aggregation_method=m)[0].tolist() for m in METHODS]
    assert results == [[[4, 6], [4, 6]]] * 4


# Rows.


def test_a_table_gets_the_rows_that_were_looked_up():
    table = leaf([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    for looked_up in (ut.nn.functional.embedding(ut.tensor([2, 0, 2]), table), table.index_select(0, ut.tensor([2, 0, 2])), table[ut.tensor([2, 0, -1])]):
        (g,) = gradients((looked_up * ut.tensor([[1.0], [10.0], [100.0]])).sum(), table)
        assert isinstance(g, IndexedSlices) and g.dense_shape == (3, 2)
        assert g.indices.tolist() == [2, 0, 2] and g.values.tolist() == [[1, 1], [10, 10], [100, 100]]
        assert g.summed().indices.tolist() == [0, 2] and g.summed().values.tolist() == [[10, 10], [101, 101]]
        assert g.to_dense().tolist() == [[10, 10], [0, 0], [101, 101]]


def test_the_padding_row_is_left_out():
    table = leaf([[1.0], [2.0], [3.0]])
    (g,) = gradients(ut.nn.functional.embedding(ut.tensor([[0, 1], [1, 2]]), table, padding_idx=1).sum(), table)
    assert g.indices.tolist() == [0, 2] and g.values.tolist() == [[1], [1]]


@pytest.mark.parametrize("options", [{"mode": "sum"}, {"mode": "mean"}, {"mode": "mean", "padding_idx": 4}, {"mode": "sum", "weights": True}], ids=str)
def test_bags_of_rows_are_rows(options):
    table = leaf([[float(i), i * 0.5] for i in range(6)])
    weights = ut.tensor([1.0, 2.0, 3.0, 4.0, 5.0]) if options.get("weights") else None
    options = {k: v for k, v in options.items() if k != "weights"}

    def loss():
        bags = ut.nn.functional.embedding_bag(ut.tensor([1, 2, 4, 1, 1]), table, ut.tensor([0, 2, 3]), per_sample_weights=weights, **options)
        return (bags**2 * ut.tensor([[1.0], [2.0], [3.0]])).sum()

    (g,) = gradients(loss(), table)
    assert isinstance(g, IndexedSlices) and len(g.indices) == (4 if "padding_idx" in options else 5)
    ut.testing.assert_close(g.to_dense().detach(), ut.autograd.grad(loss(), table)[0])


def test_lookups_are_joined_and_rows_equal_the_dense_gradient():
    table = leaf([[0.5, 1.0], [1.5, 2.0], [2.5, 3.0], [0.1, 0.2]])

    def loss():
        return (table[ut.tensor([0, 1, 1])] ** 2).sum() + (table.index_select(0, ut.tensor([1, 3])) ** 3).sum()

    (g,) = gradients(loss(), table)
    assert isinstance(g, IndexedSlices) and len(g.indices) == 5
    (dense,) = ut.autograd.grad(loss(), table)
    ut.testing.assert_close(g.to_dense().detach(), dense)


@pytest.mark.parametrize(
    "use",
    [
        lambda t: t[ut.tensor([0])].sum() + t.sum(),
        lambda t: t[:, ut.tensor([0])].sum(),
        lambda t: t[ut.tensor([0]), ut.tensor([1])].sum(),
        lambda t: t.index_select(1, ut.tensor([0])).sum(),
        lambda t: t[ut.tensor([True, False])].sum(),
        lambda t: ut.nn.functional.embedding_bag(ut.tensor([[0, 1]]), t, mode="max").sum(),
        lambda t: ut.nn.functional.embedding(ut.tensor([0, 0]), t, scale_grad_by_freq=True).sum(),
    ],
    ids=["also used whole", "columns", "elements", "columns selected", "mask", "maxima of bags", "scaled by frequency"],
)
def test_gradients_that_are_not_only_rows_are_dense(use):
    table = leaf([[1.0, 2.0], [3.0, 4.0]])
    (g,) = gradients(use(table), table)
    assert isinstance(g, ut.Tensor)
    (dense,) = ut.autograd.grad(use(table), table)
    assert (g == dense).all()


def test_a_hook_on_the_table_sees_the_whole_gradient():
    table = leaf([[1.0], [2.0]])
    table.register_hook(lambda g: g * 10)
    (g,) = gradients(table[ut.tensor([1, 1])].sum(), table)
    assert g.tolist() == [[0], [20]]


def test_rows_can_be_differentiated_again():
    table = leaf([[1.0], [2.0]], ut.float64)
    (g,) = gradients((table[ut.tensor([1])] ** 3).sum(), table)
    (second,) = gradients(g.values.sum(), table)
    assert second.to_dense().tolist() == [[0], [12]]


def test_slices_check_themselves():
    with pytest.raises(ValueError, match="one index for each row"):
        IndexedSlices(ut.ones(2, 3), ut.tensor([1]))
    with pytest.raises(TypeError, match="integer indices"):
        IndexedSlices(ut.ones(1, 3), ut.tensor([1.0]))
    with pytest.raises(ValueError, match="do not fit"):
        IndexedSlices(ut.ones(1, 3), ut.tensor([1]), (4, 2))
    with pytest.raises(ValueError, match="without known dense_shape"):
        IndexedSlices(ut.ones(1, 3), ut.tensor([1])).to_dense()


def test_variables_are_ordered_by_first_use():
    a, b, c = (train.Variable(1.0, name=n) for n in "abc")
    frozen = train.Variable(1.0, trainable=False)
    early = b * frozen
    loss = (a * early) * c + a
    assert [v.name for v in train.trainable_variables(loss)] == ["b", "a", "c"]
    assert train.trainable_variables(a)[0] is a
    assert train.trainable_variables(ut.ones(1)) == []


# Options and second derivatives.


def test_gated_gradients_are_the_same_and_use_one_thread(workers):
    x = ut.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    threads = []
    y.register_hook(lambda g: threads.append(threading.get_ident()))
    ys = [y.sin().sum(), y.exp().sum()]
    gated = train.gradients(ys, [x, y], gate_gradients=True, colocate_gradients_with_ops=True)
    assert set(threads) == {threading.get_ident()}
    plain = train.gradients(ys, [x, y])
    assert all((a == b).all() for a, b in zip(gated, plain))
    assert train.gradients(gated[0].sum(), x)[0].tolist() == train.gradients(plain[0].sum(), x)[0].tolist()
    unused = ut.ones(1, requires_grad=True)
    assert train.gradients(ys, [unused], gate_gradients=True) == [None]


@pytest.mark.parametrize("option", ["gate_gradients", "colocate_gradients_with_ops"])
def test_an_option_that_is_neither_true_nor_false_raises(option):
    x = ut.ones(1, requires_grad=True)
    for function in (train.gradients, train.hessians):
        with pytest.raises(TypeError, match=f"{option} must be True or False, got 2"):
            function(x * x, x, **{option: train.Optimizer.GATE_GRAPH})


def test_hessians_are_the_second_derivatives_of_the_sum_of_ys():
    x = ut.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=ut.float64, requires_grad=True)
    z = ut.tensor(2.0, dtype=ut.float64, requires_grad=True)
    ys = [(x**3).sum() * z, x.prod()]
    of_x, of_z = train.hessians(ys, [x, z])
    expected = ut.autograd.functional.hessian(lambda v: (v**3).sum() * 2 + v.prod(), x.detach())
    assert of_x.shape == (2, 2, 2, 2) and ut.allclose(of_x, expected) and of_z.shape == () and of_z.item() == 0
    assert ut.allclose(train.hessians(ys, x, gate_gradients=True, colocate_gradients_with_ops=True)[0], expected)
    assert not train.hessians(x.sum(), x)[0].any()  # linear
    with pytest.raises(ValueError, match="ys do not depend on element 1 of xs, of shape \\(1,\\)"):
        train.hessians(ys, [x, ut.ones(1, requires_grad=True)])


def test_hessians_of_rows_are_dense():
    table = train.Variable([[1.0], [2.0]], dtype=ut.float64)
    (h,) = train.hessians((ut.nn.functional.embedding(ut.tensor([1, 1]), table) ** 2).sum(), table)
    assert h.shape == (2, 1, 2, 1) and h.reshape(2, 2).tolist() == [[0, 0], [0, 4]]
