"""Indexing by cases: NumPy's results, gradients of every write, threads and errors."""

from __future__ import annotations

import itertools

import pytest

import undertow as ut

np = pytest.importorskip("numpy")

ITEMS = [
    1,
    -1,
    slice(None),
    slice(1, None, 2),
    None,
    Ellipsis,
    True,
    [0, 1],
    np.array([[1, 0], [0, 1]]),
    np.array([-1]),
]


def as_numpy(t):
    return np.array(t.tolist(), dtype=str(t.dtype).split(".")[-1]).reshape(tuple(t.shape))


def names_too_much(items):
    return sum(i is not None and i is not Ellipsis and i is not True for i in items) > 3 or items.count(Ellipsis) > 1


def combinations():
    for n in (1, 2, 3):
        for items in itertools.product(range(len(ITEMS)), repeat=n):
            chosen = [ITEMS[i] for i in items]
            if sum(c is Ellipsis for c in chosen) <= 1:
                yield tuple(chosen)


def test_reads_and_writes_match_numpy():
    values = np.arange(24.0).reshape(2, 3, 4)
    checked = 0
    for index in combinations():
        # Ints next to arrays are views here and arrays in NumPy, which moves dimensions differently: not compared.
        arrays = sum(isinstance(i, (list, np.ndarray)) or i is True for i in index)
        if arrays and any(isinstance(i, int) and i is not True for i in index):
            continue
        try:
            want = values[index]
        except IndexError:
            with pytest.raises(IndexError):
                ut.tensor(values.tolist())[index]
            continue
        x = ut.tensor(values.tolist(), dtype=ut.float64)
        got = x[index]
        assert np.array_equal(as_numpy(got), want), index
        new = np.arange(100.0, 100.0 + want.size).reshape(want.shape)
        expected = values.copy()
        expected[index] = new
        x[index] = ut.tensor(new.tolist(), dtype=ut.float64)
        if arrays == 0 or len(np.unique(np.arange(24).reshape(2, 3, 4)[index])) == want.size:
            assert np.array_equal(as_numpy(x), expected), index
        checked += 1
    assert checked > 300


def test_basic_indices_are_views():
    x = ut.arange(12.0).reshape(3, 4)
    for index in (0, slice(1, 3), None, Ellipsis, (slice(None), 1), (0, 2), ()):
        view = x[index]
        assert view._base is not None
        assert view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert x[[0, 1]]._base is None


def test_writes_convert_and_broadcast():
    x = ut.zeros(3, 4)
    x[0] = 1
    x[1] = ut.tensor([1, 2, 3, 4])
    x[2, :2] = [5, 6]
    x[:, 3] = np.array([7, 8, 9], dtype=np.int16)
    assert x.tolist() == [[1, 1, 1, 7], [1, 2, 3, 8], [5, 6, 0, 9]]
    x[ut.tensor([True, False, True])] = -1
    assert x.tolist() == [[-1] * 4, [1, 2, 3, 8], [-1] * 4]
    x[[0, 0]] += 1
    assert x[0].tolist() == [0] * 4
    with pytest.raises(RuntimeError, match="without overflow"):
        ut.zeros(2, dtype=ut.uint8)[0] = 300
    with pytest.raises(TypeError, match="can't assign a str"):
        x[0] = "a"
    with pytest.raises(TypeError, match="does not support deleting items"):
        del x[0]


def test_a_write_that_raises_changes_nothing():
    x = ut.zeros(3)
    for write in (
        lambda: x.index_put_((ut.tensor([0, 5]),), ut.ones(2)),
        lambda: x.scatter_(0, ut.tensor([0, 5]), ut.ones(2)),
        lambda: x.index_add_(0, ut.tensor([0, 5]), ut.ones(2)),
        lambda: x.index_fill_(0, ut.tensor([0, 5]), 1.0),
        lambda: x.put_(ut.tensor([0, 5]), ut.ones(2)),
        lambda: x.index_reduce_(0, ut.tensor([0, 5]), ut.ones(2), "prod"),
    ):
        with pytest.raises((IndexError, RuntimeError), match="out of (range|bounds)"):
            write()
        assert x.tolist() == [0, 0, 0]


@pytest.mark.parametrize("index", [3, -4, (0, 2), (0, -3), (slice(None), 2), (..., -3), [3], [-4], (slice(1), [-3])], ids=str)
def test_an_index_just_out_of_range_raises(index):
    x = ut.arange(6.0).reshape(3, 2)
    with pytest.raises(IndexError, match="out of bounds"):
        x[index]
    with pytest.raises(IndexError, match="out of bounds"):
        x[index] = 7.0
    assert x.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    assert (x[-3].tolist(), x[2].tolist(), x[0, -2].item(), x[..., 1].tolist()) == ([0.0, 1.0], [4.0, 5.0], 0.0, [1.0, 3.0, 5.0])


@pytest.mark.parametrize("name", ["scatter", "scatter_add", "scatter_reduce"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (1, 2)])
def test_a_scatter_with_more_indices_than_source_elements_raises(name, shape):
    x, source = ut.zeros(4, 5), ut.ones(2, 3)
    more = ("sum",) if name == "scatter_reduce" else ()
    fits = shape[0] <= 2 and shape[1] <= 3
    for dim in (0, 1):
        index = ut.zeros(shape, dtype=ut.int64)
        if fits:
            assert getattr(x, name)(dim, index, source, *more).sum().item() > 0
            continue
        with pytest.raises(RuntimeError, match="to be no larger than"):
            getattr(x, name)(dim, index, source, *more)
        with pytest.raises(RuntimeError, match="to be no larger than"):
            getattr(x, name + "_")(dim, index, source, *more)
    assert x.tolist() == [[0.0] * 5] * 4


def test_membership_length_iteration():
    x = ut.arange(6.0).reshape(2, 3)
    assert 5.0 in x and 7 not in x and ut.tensor(3.0) in x
    assert len(x) == 2
    assert [row.tolist() for row in x] == x.tolist()
    with pytest.raises(TypeError, match="0-d"):
        len(ut.tensor(1))
    with pytest.raises(TypeError, match="0-d"):
        iter(ut.tensor(1))
    with pytest.raises(RuntimeError, match="only supports Tensor or scalar"):
        "a" in x  # noqa: B015


def test_repeated_positions_add_up_in_backward():
    x = ut.arange(3.0).requires_grad_()
    (x[[0, 0, 2]] * ut.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [11.0, 0.0, 100.0]


def test_gradients_of_writes():
    x = ut.arange(6.0).reshape(2, 3).requires_grad_()
    v = ut.ones(2).requires_grad_()
    y = x * 1
    y[:, 0] = v
    y[[1], [2]] = 5.0
    (y * y).sum().backward()
    assert x.grad.tolist() == [[0.0, 2.0, 4.0], [0.0, 8.0, 0.0]]
    assert v.grad.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        x[0] = 1.0


@pytest.mark.parametrize("columns", [1, 5, 300])
def test_accumulation_is_bitwise_equal_for_any_number_of_threads(columns):
    ut.manual_seed(0)
    index = ut.randint(0, 50, (4000,))
    source = ut.randn(4000, columns)
    results = []
    before = ut.get_num_threads()
    try:
        for threads in (1, 2, 5):
            ut.set_num_threads(threads)
            zeros = ut.zeros(50, columns)
            results.append(
                [
                    zeros.index_add(0, index, source),
                    zeros.index_put((index,), source, accumulate=True),
                    zeros.scatter_add(0, index.reshape(-1, 1).expand(4000, columns), source),
                    zeros.scatter_reduce(0, index.reshape(-1, 1).expand(4000, columns), source, "prod"),
                ]
            )
    finally:
        ut.set_num_threads(before)
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            assert a.tolist() == b.tolist()
    sums, products = np.zeros((50, columns)), np.zeros((50, columns))
    np.add.at(sums, index.numpy(), source.numpy().astype("float64"))
    np.multiply.at(products, index.numpy(), source.numpy().astype("float64"))
    for got, wanted in zip(results[0], [sums, sums, sums, products], strict=True):
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-4, atol=1e-4)


def test_embedding_padding_and_norm():
    weight = ut.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]]).requires_grad_()
    rows = ut.nn.functional.embedding(ut.tensor([0, 2, 0]), weight, padding_idx=2)
    rows.sum().backward()
    assert weight.grad.tolist() == [[2.0, 2.0], [0.0, 0.0], [0.0, 0.0]]
    ut.nn.functional.embedding(ut.tensor([0, 1]), weight, max_norm=1.0)
    assert weight.detach()[0].tolist() == pytest.approx([0.6, 0.8], abs=1e-6)
    assert weight.detach()[1].tolist() == pytest.approx([0.3, 0.4], abs=1e-6)
    assert weight.detach()[2].tolist() == [6.0, 8.0]


@pytest.mark.parametrize("size", [0, 3, 12, 15])
def test_nonzero_static_is_row_major_whatever_it_finds(size):
    found = ut.nonzero_static(ut.ones(3, 4), size=size)
    assert found.shape == (size, 2) and found.stride() == (2, 1)
    assert ut.nonzero_static(ut.ones(3, 4, device="meta"), size=size).stride() == (2, 1)


@pytest.mark.parametrize("index", [[0, 1], slice(0, 2), True, [True, True], (slice(None), [0, 1, 2]), ([[0], [1]], [0, 1, 2])], ids=str)
@pytest.mark.parametrize("shape", [(2, 3), (1, 1, 2, 3), (1, 1, 1, 3), (1, 1)])
def test_an_assigned_value_may_have_leading_dimensions_of_one(index, shape):
    value = ut.rand(shape, requires_grad=True)
    x = ut.zeros(2, 3, requires_grad=True) * 1
    weights = ut.arange(6.0).reshape(2, 3)
    x[index] = value
    (found,) = ut.autograd.grad((x * weights).sum(), value)
    (expected,) = ut.autograd.grad((value.expand(1, 1, 2, 3) * weights).sum(), value)
    assert ut.equal(found, expected)


def test_positions_in_an_empty_tensor_are_checked_although_nothing_is_read():
    assert ut.ones(2, 0).index_select(0, ut.tensor([1, 0, 1])).shape == (3, 0)
    for shape, dim, position in (((0, 3), 1, 3), ((2, 0), 0, 2), ((2, 0), 1, 0)):
        with pytest.raises(IndexError, match=f"index {position} for dimension {dim}"):
            ut.ones(shape).index_select(dim, ut.tensor([position]))


def test_a_mask_that_overlaps_the_filled_tensor_raises():
    mask = ut.tensor([True, False, True])
    with pytest.raises(RuntimeError, match="unsupported operation: some elements of the input tensor and the written-to tensor"):
        mask[1:].masked_fill_(mask[:-1], False)
    assert mask.masked_fill_(mask, False).tolist() == [False, False, False]


def test_one_value_under_a_mask_is_converted(same_as_torch):
    def scenario(L):
        results = []
        for value in (L.tensor(1.5), L.tensor([7.0]), L.tensor([[True]]), L.tensor(2, dtype=L.int8)):
            a, b = L.arange(4), L.arange(6).reshape(2, 3)
            a[a > 1] = value
            b[:, L.tensor([True, False, True])] = value
            results += [a.tolist(), b.tolist()]
        return results

    same_as_torch(scenario)


def test_a_wrong_shape_is_reported_before_a_wrong_dtype():
    a = ut.arange(4)
    for index in (a > -1, ut.tensor([0, 1, 2, 3])):
        with pytest.raises(RuntimeError, match=r"shape mismatch: value tensor of shape \[3\] cannot be broadcast to indexing result of shape \[4\]"):
            a[index] = ut.ones(3)
        with pytest.raises(RuntimeError, match="Index put requires the source and destination dtypes match"):
            a[index] = ut.ones(4)


def test_the_step_of_an_integral_is_real():
    for integrate in (ut.trapezoid, ut.cumulative_trapezoid):
        with pytest.raises(RuntimeError, match="we only support dx as a real number"):
            integrate(ut.ones(2, 2), dx=1j)
