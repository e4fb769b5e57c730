"""vmap: what it maps over, how inputs and outputs nest, and its errors. Also runs on torch, for comparison."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, namedtuple
from functools import partial

import pytest

import undertow as ut
from undertow import vmap

Pair = namedtuple("Pair", ["first", "second"])


def arange(*shape):
    n = 1
    for s in shape:
        n *= s
    return ut.arange(n, dtype=ut.float64).reshape(shape)


def same(a, b) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and bool((a == b).all())


def test_the_batch_dimension_is_the_first_by_default():
    x = arange(3, 2)
    assert same(vmap(lambda a: a.sum())(x), x.sum(1))


def test_inside_the_function_a_tensor_looks_like_one_sample():
    seen = []
    vmap(lambda a: seen.append((tuple(a.shape), a.dim(), a.numel(), a.size(0), a.dtype, len(a))) or a)(arange(3, 2, 4))
    assert seen == [((2, 4), 2, 8, 2, ut.float64, 2)]


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -2, -3])
def test_in_dims_names_the_dimension_to_map_over(dim):
    x = arange(2, 3, 4)
    assert same(vmap(lambda a: a * 2, in_dims=dim)(x), (x * 2).movedim(dim, 0))


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_out_dims_places_the_batch_dimension(dim):
    x = arange(2, 3, 4)
    assert same(vmap(lambda a: a * 2, out_dims=dim)(x), (x * 2).movedim(0, dim))


def test_an_input_with_in_dim_none_is_seen_whole():
    x, y = arange(3, 2), arange(2)
    assert same(vmap(lambda a, b: a * b, in_dims=(0, None))(x, y), x * y)


def test_keyword_arguments_are_seen_whole():
    x = arange(3, 2)
    assert same(vmap(lambda a, scale: a * scale)(x, scale=x[0]), x * x[0])


def test_inputs_may_be_nested_in_any_container():
    x, y = arange(3, 2), arange(3)

    def f(d):
        return d["pair"].first * d["pair"].second + d["list"][0]

    assert same(vmap(f)({"pair": Pair(x, y), "list": [y]}), x * y.unsqueeze(1) + y.unsqueeze(1))


def test_in_dims_may_be_nested_as_the_inputs_are_or_stop_short():
    x = arange(2, 3)
    f = lambda d, e: d["a"] * e[0] + e[1]  # noqa: E731
    assert same(vmap(f, in_dims=({"a": 1}, (1, None)))({"a": x}, (x, 2.0)), (x * x).T + 2)
    assert same(vmap(lambda d, e: d["a"] * e, in_dims=(1, None))({"a": x}, 2.0), (x * 2).T)


@pytest.mark.parametrize(
    "make", [lambda a: (a, a), lambda a: [a], lambda a: {"k": a}, lambda a: OrderedDict(k=a), lambda a: Pair(a, a), lambda a: (a, ()), lambda a: defaultdict(list, k=a)]
)
def test_outputs_keep_their_containers(make):
    x = arange(3, 2)
    got = vmap(make)(x)
    assert type(got) is type(make(x)) and str(got) == str(make(x))


def test_out_dims_may_be_nested_as_the_outputs_are():
    x = arange(2, 3)
    a, b = vmap(lambda a: (a, a.sum()), out_dims=(1, 0))(x)
    assert same(a, x.T) and same(b, x.sum(1))
    assert same(vmap(lambda a: {"k": a}, out_dims={"k": 1})(x)["k"], x.T)


def test_an_output_that_depends_on_no_sample_is_repeated_for_each():
    assert same(vmap(lambda a: ut.ones(2))(arange(3)), ut.ones(3, 2))
    assert same(vmap(lambda a: ut.ones(2), out_dims=None)(arange(3)), ut.ones(2))


def test_nested_maps_see_the_tensors_of_outer_ones():
    x = arange(3, 2)
    got = vmap(lambda a: vmap(lambda b: b * a.sum())(a))(x)
    assert same(got, x * x.sum(1, keepdim=True))


def test_an_outer_product_is_two_maps():
    x, y = arange(3), arange(4)
    assert same(vmap(vmap(ut.mul, (None, 0)), (0, None))(x, y), x.unsqueeze(1) * y)


def test_chunks_give_the_same_result():
    x = arange(5, 2)
    for chunk in (1, 2, 3, 5, 7):
        assert same(vmap(lambda a: a * 2, chunk_size=chunk)(x), x * 2)
    assert same(vmap(lambda a: a, out_dims=1, chunk_size=2)(x), x.T)


def test_an_empty_batch_gives_an_empty_result():
    assert vmap(lambda a: a @ a.T)(ut.ones(0, 2, 3)).shape == (0, 2, 2)


def test_promotion_is_that_of_one_sample():
    x = ut.ones(3, 2, dtype=ut.float32)
    scalar = ut.ones(3, dtype=ut.float64)
    assert vmap(lambda a, s: a * s)(x, scalar).dtype == ut.float32  # a zero-dimensional tensor does not affect promotion
    assert vmap(lambda a, s: a * s)(ut.ones(3, 2, dtype=ut.int64), scalar).dtype == ut.float64
    assert vmap(lambda a, s: a * s, in_dims=(0, None))(ut.ones(3, dtype=ut.float32), ut.ones((), dtype=ut.float64)).dtype == ut.float64
    assert vmap(lambda a, s: a.add(s))(ut.ones(3, 2, dtype=ut.int32), ut.ones(3, dtype=ut.int64)).dtype == ut.int32
    assert vmap(lambda a: a * 1.5)(ut.ones(3, dtype=ut.int64)).dtype == ut.float32


def test_gradients_flow_through_a_map_to_outside():
    x = arange(3, 2).requires_grad_()
    w = arange(2).requires_grad_()
    vmap(lambda a: (a * w).sin().sum())(x).sum().backward()
    gx, gw = x.grad, w.grad
    x.grad = w.grad = None
    (x * w).sin().sum().backward()
    assert ut.allclose(gx, x.grad) and ut.allclose(gw, w.grad)


def test_inside_a_map_tensors_do_not_require_grad_by_themselves():
    seen = []
    out = vmap(lambda a: seen.append((a.requires_grad, (a * 2).grad_fn)) or a * 2)(arange(3).requires_grad_())
    assert seen == [(False, None)] and out.requires_grad


def test_a_map_over_autograd_grad_gives_jacobians():
    x = arange(3).requires_grad_()
    y = x * x
    (rows,) = vmap(lambda v: ut.autograd.grad(y, x, v, retain_graph=True))(ut.eye(3, dtype=ut.float64))
    assert same(rows, ut.diag(2 * x.detach()))


def test_a_tensor_prints_as_batched():
    text = []
    vmap(vmap(lambda a: text.append(repr(a)) or a))(ut.zeros(2, 1))
    assert text[0].startswith("BatchedTensor(lvl=2, bdim=0, value=\n    BatchedTensor(lvl=1, bdim=0, value=\n        tensor(")


def test_an_exception_inside_leaves_no_map_running():
    with pytest.raises(ZeroDivisionError):
        vmap(lambda a: 1 / 0)(arange(2))
    ut.rand(2)  # random outside of any map


ERROR_CASES = {
    "no inputs": (lambda x: vmap(lambda: 1)(), ValueError, "got no inputs"),
    "in_dims of a wrong type": (lambda x: vmap(lambda a: a, in_dims="0")(x), ValueError, "expected `in_dims` to be int or a"),
    "in_dims that does not nest as the inputs": (lambda x: vmap(lambda a: a, in_dims=(0, 0))(x), ValueError, "in_dims is not compatible with the structure of `inputs`"),
    "in_dims that is no int": (lambda x: vmap(lambda a: a, in_dims=(0.5,))(x), ValueError, "in_dim must be either an integer dimension or None"),
    "a number to map over": (lambda x: vmap(lambda a, b: a)(x, 2), ValueError, "but the input is of type <class 'int'>"),
    "a dimension that is not there": (lambda x: vmap(lambda a: a, in_dims=2)(x), ValueError, "expected in_dim to satisfy"),
    "nothing to map over": (lambda x: vmap(lambda a: a, in_dims=(None,))(x), ValueError, "Expected at least one Tensor to vmap over"),
    "sizes that differ": (lambda x: vmap(lambda a, b: a)(x, x[1:]), ValueError, "Expected all tensors to have the same size in the mapped dimension"),
    "an output that is no tensor": (lambda x: vmap(lambda a: None)(x), ValueError, "must only return Tensors, got type"),
    "out_dims None for a sample": (lambda x: vmap(lambda a: a, out_dims=None)(x), ValueError, "can not return a BatchedTensor when out_dim is None"),
    "out_dims that does not nest as the outputs": (lambda x: vmap(lambda a: a, out_dims=(0, 0))(x), ValueError, "out_dims is not compatible with the structure of `outputs`"),
    "out_dims of a wrong type": (lambda x: vmap(lambda a: a, out_dims="0")(x), ValueError, "`out_dims` must be an int, None or a python collection"),
    "an output dimension that is not there": (lambda x: vmap(lambda a: a, out_dims=2)(x), IndexError, "Dimension out of range"),
    "no chunk": (lambda x: vmap(lambda a: a, chunk_size=0)(x), ValueError, "chunk_size should be None or greater than 0"),
    "an unknown randomness": (lambda x: vmap(lambda a: a, randomness="some")(x), RuntimeError, "Only allowed values for randomness are"),
    "item": (lambda x: vmap(lambda a: a.sum().item())(x), RuntimeError, "It looks like you're calling .item() on a Tensor"),
    "float": (lambda x: vmap(lambda a: float(a.sum()))(x), RuntimeError, "It looks like you're calling .item() on a Tensor"),
    "a condition": (lambda x: vmap(lambda a: a if a.sum() > 0 else -a)(x), RuntimeError, "data-dependent control flow"),
    "tolist": (lambda x: vmap(lambda a: a.tolist())(x), RuntimeError, "Cannot access data pointer of Tensor that doesn't have storage"),
    "numpy": (lambda x: vmap(lambda a: a.numpy())(x), RuntimeError, "Cannot access data pointer of Tensor that doesn't have storage"),
    "data": (lambda x: vmap(lambda a: a.data)(x), RuntimeError, "accessing `data` under vmap transform is not allowed"),
    "nonzero": (lambda x: vmap(lambda a: a.nonzero())(x), RuntimeError, "We do not support batching operators that can output dynamic shape"),
    "a mask as an index": (lambda x: vmap(lambda a: a[a > 0])(x), RuntimeError, "Attempting to batch over indexing with a boolean mask"),
    "masked_select": (lambda x: vmap(lambda a: a.masked_select(a > 0))(x), RuntimeError, "Attempted to vmap over `mask` in torch.masked_select"),
    "out=": (lambda x: vmap(lambda a: ut.add(a, a, out=ut.empty_like(a)))(x), RuntimeError, "Batching rule not implemented for"),
    "requires_grad_": (lambda x: vmap(lambda a: a.requires_grad_())(x), RuntimeError, "You are attempting to call Tensor.requires_grad_()"),
    "backward": (lambda x: vmap(lambda a: a.sum().backward())(x.requires_grad_()), RuntimeError, "backward() called inside a functorch transform"),
}


@pytest.mark.parametrize("name", ERROR_CASES)
def test_vmap_raises(name):
    f, kind, text = ERROR_CASES[name]
    with pytest.raises(kind) as error:
        f(arange(3, 2))
    assert text in str(error.value)


def test_an_error_names_the_function():
    def scale(a):
        return None

    with pytest.raises(ValueError, match=r"vmap\(scale, "):
        vmap(scale)(arange(2))
    with pytest.raises(ValueError, match=r"functools.partial\(scale, ...\)"):
        vmap(partial(scale), in_dims=4)(arange(2))


def test_a_tensor_that_escapes_raises_when_used():
    kept = []
    vmap(lambda a: kept.append(a) or a)(arange(2))
    with pytest.raises(RuntimeError, match="may have escaped from inside a function being vmapped"):
        kept[0] + 1
    assert repr(kept[0]).startswith("BatchedTensor(")


@pytest.mark.parametrize("shape", [(3, 4, 2), (3, 2, 4), (3, 2, 2)])
def test_the_empty_residuals_of_a_batched_least_squares_require_grad(shape, same_as_torch):
    def run(L):
        A, B = (L.arange(48.0) * 7 % 5 + 1).sin()[: shape[0] * shape[1] * shape[2]].reshape(shape).requires_grad_(), L.ones(shape[0], shape[1], 1)
        found = L.func.vmap(lambda a, b: tuple(L.linalg.lstsq(a, b))[:2])(A, B)
        return [(list(t.shape), t.requires_grad) for t in found]

    same_as_torch(run)


@pytest.mark.parametrize("shape", [(4, 3, 1), (2, 4, 3, 2)], ids=str)
def test_leading_dimensions_of_a_right_side_are_not_the_batch(shape):
    """With as many samples as leading dimensions, a wrong alignment would raise no error."""
    matrix = arange(3, 3).triu() + ut.eye(3, dtype=ut.float64)
    matrices = matrix * (1 + arange(4))[:, None, None]
    right = arange(4, *shape) + 1
    solve = partial(ut.linalg.solve_triangular, upper=True)
    assert same(vmap(lambda b: solve(matrix, b))(right), ut.stack([solve(matrix, b) for b in right]))
    assert same(vmap(solve)(matrices, right), ut.stack([solve(m, b) for m, b in zip(matrices, right, strict=True)]))
