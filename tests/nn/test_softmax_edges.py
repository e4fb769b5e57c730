"""softmax, log_softmax and logsumexp at the boundaries of vectors, blocks and groups of columns, along every dimension, with infinities and NaN."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut

INF, NAN = float("inf"), float("nan")


def _lse(a, axis):
    m = a.max(axis, keepdims=True)
    return m + np.log(np.exp(a - m).sum(axis, keepdims=True))


def _check(x, dim):
    a = x.detach().double().numpy()
    log = a - _lse(a, dim)
    np.testing.assert_allclose(ut.softmax(x, dim).numpy(), np.exp(log), rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(ut.log_softmax(x, dim).numpy(), log, rtol=1e-6, atol=2e-6)
    np.testing.assert_allclose(ut.logsumexp(x, dim).numpy(), _lse(a, dim).squeeze(dim), rtol=1e-6, atol=2e-6)


# Around one vector, four vectors, a block of 1024, and the size from which lines are processed one by one.
@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 49, 63, 64, 65, 100, 1023, 1024, 1025, 8191, 8192, 8200])
def test_lines_of_any_length(n):
    r = np.random.default_rng(n)
    _check(ut.tensor(r.normal(size=(67, n)) * 10, dtype=ut.float32), 1)


@pytest.mark.parametrize("shape", [(3, 1), (5, 2), (65, 31), (64, 33), (130, 127), (129, 300), (2000, 65), (7, 5000)])
def test_columns_of_any_width(shape):
    r = np.random.default_rng(shape[0])
    _check(ut.tensor(r.normal(size=shape) * 10, dtype=ut.float32), 0)


def test_a_middle_dimension_and_a_strided_input():
    r = np.random.default_rng(0)
    x = ut.tensor(r.normal(size=(4, 70, 37)), dtype=ut.float32)
    for dim in (0, 1, 2):
        _check(x, dim)
        _check(x.transpose(0, 2), dim)
        _check(x[:, ::3], dim)


@pytest.mark.parametrize("dims", [(0, 1), (1, 2), (0, 2), (0, 1, 2), (1,), (-1, 0)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_logsumexp_over_several_dimensions(dims, keepdim):
    r = np.random.default_rng(1)
    a = r.normal(size=(6, 17, 33))
    ours = ut.logsumexp(ut.tensor(a), dims, keepdim)
    np.testing.assert_allclose(ours.numpy(), np.log(np.exp(a).sum(dims, keepdims=keepdim)), rtol=1e-13)


@pytest.mark.parametrize("n", [3, 16, 40])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("dtype", [ut.float32, ut.float64])
def test_infinities_and_nan_give_their_limits(n, dim, dtype):
    """Lines: all minus infinity, one infinity, one minus infinity, one NaN, infinity and NaN."""
    a = np.zeros((5, n))
    a[0] = -INF
    a[1, 1] = INF
    a[2, 1] = -INF
    a[3, n - 1] = NAN
    a[4, 0], a[4, n - 1] = INF, NAN
    x = ut.tensor(a, dtype=dtype)
    lse = (ut.logsumexp(x, 1) if dim else ut.logsumexp(x.t().contiguous(), 0)).numpy()
    np.testing.assert_allclose(lse, [-INF, INF, np.log(n - 1), NAN, NAN], rtol=1e-6)
    p = (ut.softmax(x, 1) if dim else ut.softmax(x.t().contiguous(), 0).t()).numpy()
    assert np.isnan(p[:2]).all()
    assert p[2, 1] == 0
    np.testing.assert_allclose(p[2, 0], 1 / (n - 1), rtol=1e-6)
    assert np.isnan(p[3:]).all()


def test_small_terms_keep_their_precision_down_to_the_denormals():
    x = ut.tensor([[0.0, -50.0, -87.0, -95.0, -103.0, -110.0] * 5])
    expected = np.exp(x.double().numpy()) / 5
    np.testing.assert_allclose(ut.softmax(x, 1).numpy(), expected, rtol=1e-5, atol=3e-45)


@pytest.mark.parametrize("shape", [(300, 700), (2, 90_000), (700, 300)])
@pytest.mark.parametrize("dim", [0, 1])
def test_results_are_bitwise_equal_for_any_number_of_threads(shape, dim, same_for_any_thread_count):
    x = ut.randn(shape, requires_grad=True)

    def normalized():
        found = []
        for f in (ut.softmax, ut.log_softmax, ut.logsumexp):
            y = f(x, dim)
            (g,) = ut.autograd.grad(y, x, ut.ones_like(y) * 0.5)
            found += [y.detach().numpy().tobytes(), g.numpy().tobytes()]
        return found

    same_for_any_thread_count(normalized)


@pytest.mark.parametrize("shape", [(33, 49), (3, 1030), (1030, 3)])
@pytest.mark.parametrize("dim", [0, 1])
def test_gradients_agree_with_their_formulas(shape, dim):
    r = np.random.default_rng(2)
    x, g = ut.tensor(r.normal(size=shape), dtype=ut.float32, requires_grad=True), ut.tensor(r.normal(size=shape), dtype=ut.float32)
    a, b = x.detach().double().numpy(), g.double().numpy()
    p = np.exp(a - _lse(a, dim))
    (ours,) = ut.autograd.grad(ut.softmax(x, dim), x, g)
    np.testing.assert_allclose(ours.numpy(), p * (b - (p * b).sum(dim, keepdims=True)), rtol=1e-4, atol=1e-6)
    (ours,) = ut.autograd.grad(ut.log_softmax(x, dim), x, g)
    np.testing.assert_allclose(ours.numpy(), b - p * b.sum(dim, keepdims=True), rtol=1e-4, atol=1e-5)
