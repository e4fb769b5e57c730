"""Reductions: bitwise equal results for any number of threads, accurate sums, layouts, ties, scans and sorts at their edges."""

import math
import warnings

import numpy as np
import pytest

import undertow as ut


def tensor(array):
    return ut.from_numpy(np.ascontiguousarray(array))


@pytest.fixture
def threads():
    before = ut.get_num_threads()
    yield ut.set_num_threads
    ut.set_num_threads(before)


CASES = {
    "all": ((1_000_003,), None),
    "rows": ((37, 30_011), 1),
    "columns": ((30_011, 37), 0),
    "wide columns": ((513, 2_050), 0),
    "few columns": ((200_003, 3), 0),
    "short rows": ((200_003, 3), 1),
    "outer and inner": ((40, 50, 300), (0, 2)),
    "middle": ((40, 3_000, 7), 1),
}


@pytest.mark.parametrize("op", ["sum", "mean", "amax", "var", "logsumexp"])
@pytest.mark.parametrize("name", CASES)
def test_results_are_bitwise_equal_for_any_number_of_threads(op, name, threads):
    shape, dim = CASES[name]
    x = tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32))
    dims = tuple(range(len(shape))) if dim is None else dim
    results = []
    for n in (1, 2, 3, 7):
        threads(n)
        results.append(getattr(ut, op)(x, dims).numpy())
    assert all(np.array_equal(results[0], r) for r in results[1:])


@pytest.mark.parametrize("name", CASES)
def test_float32_sums_are_accurate(name):
    shape, dim = CASES[name]
    a = np.random.default_rng(1).random(shape).astype(np.float32)
    got = ut.sum(tensor(a), dim).numpy() if dim is not None else ut.sum(tensor(a)).numpy()
    want = a.astype(np.float64).sum(axis=dim)
    np.testing.assert_allclose(got, want, rtol=3e-7)


def test_ten_million_equal_summands():
    assert ut.full((10_000_000,), 0.1).sum().item() == pytest.approx(1_000_000.0149, rel=3e-7)


@pytest.mark.parametrize("dim", [0, 1, 2, (0, 1), (0, 2), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "complex64", "bool"])
def test_any_layout(dim, dtype):
    a = np.random.default_rng(2).integers(-4, 5, (6, 7, 5)).astype(dtype)
    base = tensor(a)
    for x, view in ((base.permute(2, 0, 1), a.transpose(2, 0, 1)), (base[::2, 1:, ::3], a[::2, 1:, ::3]), (base[:, :1].expand(6, 4, 5), np.broadcast_to(a[:, :1], (6, 4, 5)))):
        np.testing.assert_allclose(x.sum(dim).numpy(), view.sum(axis=dim), rtol=1e-5)


def test_nan_propagates_through_extrema():
    x = ut.tensor([[1.0, math.nan, 3.0], [4.0, 5.0, 6.0]])
    values, indices = x.max(1)
    assert math.isnan(values[0]) and indices.tolist() == [1, 2]
    assert math.isnan(x.amin()) and x.argmax().item() == 1
    assert x.nansum().item() == 19


def test_equal_maxima_share_the_gradient_and_max_along_a_dim_picks_one():
    x = ut.tensor([2.0, 2.0, 1.0], requires_grad=True)
    assert ut.autograd.grad(x.amax(), x)[0].tolist() == [0.5, 0.5, 0.0]
    assert ut.autograd.grad(x.max(), x)[0].tolist() == [0.5, 0.5, 0.0]
    assert ut.autograd.grad(x.max(0).values, x)[0].tolist() == [1.0, 0.0, 0.0]


def test_gradients_of_products_with_zeros():
    for values in ([2.0, 3.0, 4.0], [2.0, 0.0, 4.0], [0.0, 0.0, 4.0]):
        x = ut.tensor(values, requires_grad=True)
        want = [math.prod(values[:i] + values[i + 1 :]) for i in range(3)]
        assert ut.autograd.grad(x.prod(), x)[0].tolist() == want
        scans = ut.autograd.grad(x.cumprod(0).sum(), x)[0].tolist()
        steps = [sum(math.prod(v for k, v in enumerate(values[: j + 1]) if k != i) for j in range(i, 3)) for i in range(3)]
        assert scans == pytest.approx(steps)


@pytest.mark.parametrize("op, error, text", [
    (lambda e: e.amax(), RuntimeError, r"amax\(\): Expected reduction dim to be specified for input.numel\(\) == 0"),
    (lambda e: e.max(0), IndexError, r"max\(\): Expected reduction dim 0 to have non-zero size"),
    (lambda e: e.argmin(), IndexError, r"argmin\(\): Expected reduction dim to be specified"),
    (lambda e: e.sum((0, 0)), RuntimeError, "dim 0 appears multiple times"),
    (lambda e: e.sum(2), IndexError, r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)"),
    (lambda e: e.long().mean(), RuntimeError, r"mean\(\): could not infer output dtype"),
    (lambda e: e.kthvalue(4, 1), RuntimeError, "selected number k out of range"),
])
def test_errors(op, error, text):
    with pytest.raises(error, match=text):
        op(ut.zeros(0, 3))


def test_a_warning_turned_into_an_error_is_raised():
    with pytest.warns(UserWarning, match="degrees of freedom is <= 0"):
        assert math.isnan(ut.ones(1).var())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="degrees of freedom is <= 0"):
            ut.ones(1).var()


def test_empty_reductions_give_the_neutral_element():
    e = ut.zeros(0, 2)
    assert e.sum(0).tolist() == [0, 0] and e.prod(0).tolist() == [1, 1]
    assert e.all().item() and not e.any().item()
    assert e.logsumexp(0).tolist() == [-math.inf, -math.inf]
    assert math.isnan(e.mean())


def test_sort_puts_nan_last_and_is_stable():
    values, indices = ut.tensor([2.0, math.nan, 1.0, 2.0]).sort(stable=True)
    assert indices.tolist() == [2, 0, 3, 1] and math.isnan(values[3])


def test_softmax_of_large_numbers():
    x = ut.tensor([[1000.0, 1000.0], [-1000.0, 0.0]])
    assert x.softmax(1).tolist() == [[0.5, 0.5], [0.0, 1.0]]
    assert x.log_softmax(1)[1].tolist() == [-1000.0, 0.0]


@pytest.mark.parametrize("order, wanted", [(float("inf"), [0.5, -0.5, 0.0]), (float("-inf"), [0.0, 0.0, 1.0]), (1, [1.0, -1.0, 1.0])])
def test_equal_extrema_share_the_gradient_of_a_norm(order, wanted):
    x = ut.tensor([2.0, -2.0, 1.0], requires_grad=True)
    ut.linalg.vector_norm(x, order).backward()
    assert x.grad.tolist() == wanted


@pytest.mark.parametrize("order", [1, 1.5, 2, 3, float("inf")])
@pytest.mark.parametrize("create_graph", [False, True])
def test_the_gradient_of_a_norm_of_zeros_is_zero(order, create_graph):
    x = ut.zeros(2, 3, requires_grad=True)
    (g,) = ut.autograd.grad(ut.linalg.vector_norm(x, order, dim=1).sum(), x, create_graph=create_graph)
    assert g.tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 1000, 1023, 4095, 4096, 4097])
def test_a_short_row_is_summed_whole_as_along_its_dimension(n):
    x = ut.from_numpy(np.random.default_rng(n).standard_normal(n).astype("float32"))
    assert x.sum().item() == x.sum(0).item() == ut.stack([x, x]).sum(1)[1].item()
