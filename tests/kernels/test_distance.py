"""Distances between rows: matrix products compute many at once, which must not lose the precision of small distances."""

import numpy as np
import pytest

import undertow as ut


def exact(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    apart = x.astype("float64")[..., :, None, :] - y.astype("float64")[..., None, :, :]
    return np.sqrt((apart**2).sum(-1))


def rows(*shape: int, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype, tolerance", [("float32", 3e-6), ("float64", 1e-14)])
@pytest.mark.parametrize("m, n, k", [(200, 100, 16), (33, 70, 8), (129, 31, 65), (3, 5, 2), (64, 64, 4)])
def test_distances_are_right_to_nearly_the_last_digit(m: int, n: int, k: int, dtype: str, tolerance: float):
    x, y = rows(m, k, dtype=dtype), rows(n, k, dtype=dtype, seed=1)
    y[: n // 2] = x[: n // 2] if m >= n // 2 else y[: n // 2]
    y[0, 0] += 1e-3
    for shift in (0, 100):  # far from the origin the squares cancel
        x, y = x + np.asarray(shift, dtype), y + np.asarray(shift, dtype)
        np.testing.assert_allclose(ut.cdist(ut.tensor(x), ut.tensor(y)).numpy(), exact(x, y), rtol=tolerance)


def test_equal_rows_have_distance_zero_and_gradient_zero():
    x = ut.tensor(rows(150, 12) + np.float32(3), requires_grad=True)
    d = ut.cdist(x, x)
    assert d.diagonal().eq(0).all()
    (grad,) = ut.autograd.grad(d.diagonal().sum(), x)
    assert grad.eq(0).all()


def test_nonfinite_values_stay_in_their_row():
    x, y = rows(100, 20), rows(90, 20, seed=1)
    x[3, 4], x[5, 6], x[7] = np.inf, np.nan, 3e38
    d = ut.cdist(ut.tensor(x), ut.tensor(y)).numpy()
    assert np.isinf(d[3]).all() and np.isnan(d[5]).all() and np.isinf(d[7]).all()
    others = np.delete(d, (3, 5, 7), 0)
    np.testing.assert_allclose(others, exact(np.delete(x, (3, 5, 7), 0), y), rtol=3e-6)


def test_batches_broadcast_and_their_gradients_are_summed():
    x, y = (ut.tensor(rows(*s, dtype="float64", seed=len(s)), requires_grad=True) for s in ((2, 1, 9, 5), (3, 7, 5)))
    assert ut.autograd.gradcheck(ut.cdist, (x, y), check_forward_ad=True)
    assert ut.autograd.gradgradcheck(ut.cdist, (x[:, :, :3].detach().requires_grad_(), y[:2, :3].detach().requires_grad_()))
    (only,) = ut.autograd.grad(ut.cdist(x.detach(), y).sum(), y)
    assert ut.allclose(only, ut.autograd.grad(ut.cdist(x, y).sum(), (x, y))[1])


@pytest.mark.parametrize("p", [1.0, 3.0, float("inf")])
def test_gradients_of_other_orders(p: float):
    x, y = (ut.tensor(rows(*s, dtype="float64", seed=s[0]), requires_grad=True) for s in ((6, 4), (5, 4)))
    assert ut.autograd.gradcheck(lambda a, b: ut.cdist(a, b, p), (x, y))


def test_results_are_bitwise_equal_for_any_number_of_threads():
    x, y = ut.tensor(rows(300, 24)), ut.tensor(rows(200, 24, seed=1))
    before, results = ut.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            ut.set_num_threads(threads)
            results.append(ut.cdist(x, y))
    finally:
        ut.set_num_threads(before)
    assert ut.equal(results[0], results[1]) and ut.equal(results[0], results[2])
