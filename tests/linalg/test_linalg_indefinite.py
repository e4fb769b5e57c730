"""LDL factors of symmetric and Hermitian indefinite matrices, and systems solved with them."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut


def matrix(n: int, dtype: str, hermitian: bool, batch: tuple[int, ...] = (), seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(*batch, n, n))
    if dtype.startswith("complex"):
        a = a + 1j * rng.normal(size=a.shape)
    turned = np.swapaxes(a, -1, -2)
    a = a + (turned.conj() if hermitian else turned)
    a[..., range(n), range(n)] *= (rng.random(n) > 0.5) | (n == 1)  # zeros on the diagonal require 2x2 blocks
    return a.astype(dtype)


def unpacked(ld: np.ndarray, pivots: np.ndarray, hermitian: bool) -> np.ndarray:
    """P L D (P L)^H from LAPACK's format, the exchanges applied one by one."""
    n = len(pivots)
    left, d = np.eye(n, dtype=ld.dtype), np.zeros_like(ld)
    k = 0
    while k < n:
        size = 1 if pivots[k] > 0 else 2
        p = abs(pivots[k]) - 1
        exchange = np.eye(n, dtype=ld.dtype)
        exchange[[k + size - 1, p]] = exchange[[p, k + size - 1]]
        step = np.eye(n, dtype=ld.dtype)
        step[k + size :, k : k + size] = ld[k + size :, k : k + size]
        left = left @ exchange @ step
        d[k, k] = ld[k, k]
        if size == 2:
            d[k + 1, k + 1], d[k + 1, k] = ld[k + 1, k + 1], ld[k + 1, k]
            d[k, k + 1] = ld[k + 1, k].conj() if hermitian else ld[k + 1, k]
        k += size
    return left @ d @ (left.conj().T if hermitian else left.T)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 20])
@pytest.mark.parametrize(("dtype", "hermitian"), [("float64", False), ("float64", True), ("complex128", False), ("complex128", True), ("float32", False)])
def test_the_factors_multiply_back_and_solve(n, dtype, hermitian):
    a = matrix(n, dtype, hermitian, seed=n)
    ld, pivots = ut.linalg.ldl_factor(ut.from_numpy(a), hermitian=hermitian)
    tolerance = 1e-4 if dtype == "float32" else 1e-11
    np.testing.assert_allclose(unpacked(ld.numpy(), pivots.numpy(), hermitian), a, rtol=tolerance, atol=tolerance)
    assert n < 7 or (pivots < 0).any()  # 2x2 blocks occurred
    b = np.random.default_rng(1).normal(size=(n, 3)).astype(dtype)
    x = ut.linalg.ldl_solve(ld, pivots, ut.from_numpy(b), hermitian=hermitian)
    np.testing.assert_allclose(a @ x.numpy(), b, rtol=tolerance * 100, atol=tolerance * 100)


def test_batches_are_solved_matrix_by_matrix():
    a = matrix(4, "float64", False, (2, 3), seed=3)
    ld, pivots, info = ut.linalg.ldl_factor_ex(ut.from_numpy(a))
    assert ld.shape == (2, 3, 4, 4) and pivots.shape == (2, 3, 4) and info.tolist() == [[0] * 3] * 2
    b = np.random.default_rng(2).normal(size=(4, 2))
    x = ut.linalg.ldl_solve(ld, pivots, ut.from_numpy(b))
    np.testing.assert_allclose(a @ x.numpy(), np.broadcast_to(b, (2, 3, 4, 2)), atol=1e-10)


def test_a_singular_matrix_is_named():
    ld, pivots, info = ut.linalg.ldl_factor_ex(ut.zeros(3, 3))
    assert info.item() == 1 and pivots.tolist() == [1, 2, 3]
    with pytest.raises(ut.linalg.LinAlgError, match=r"D\[1,1\] is zero"):
        ut.linalg.ldl_factor(ut.zeros(3, 3))


NAN = float("nan")


@pytest.mark.parametrize(
    ("values", "pivots", "info"),
    [([[NAN]], [1], 1), ([[NAN, 1.0], [1.0, 2.0]], [2, 2], 2), ([[1.0, NAN], [NAN, 2.0]], [-2, -2], 0), ([[1.0, 0.0], [0.0, NAN]], [1, 2], 2)],
)
def test_nan_gives_lapacks_pivots_and_stays_inside_the_matrix(values, pivots, info):
    factored = ut.linalg.ldl_factor_ex(ut.tensor(values, dtype=ut.float64))
    assert factored.pivots.tolist() == pivots
    assert factored.info.item() == info


def test_arguments_that_are_not_factors_raise():
    ld, pivots = ut.linalg.ldl_factor(ut.eye(3))
    b = ut.ones(3, 1)
    for wrong, clause in (
        (ut.tensor([-1, -1, -1], dtype=ut.int32), "pivots are not those"),
        (ut.tensor([1, 2, 4], dtype=ut.int32), "pivots are not those"),
        (ut.tensor([0, 2, 3], dtype=ut.int32), "pivots are not those"),
        (pivots[:2], "LD.shape"),
        (pivots.float(), "Expected pivots to be integers"),
    ):
        with pytest.raises(RuntimeError, match=clause):
            ut.linalg.ldl_solve(ld, wrong, b)
    with pytest.raises(RuntimeError, match="Incompatible matrix sizes"):
        ut.linalg.ldl_solve(ld, pivots, ut.ones(2, 1))
    with pytest.raises(RuntimeError, match="square"):
        ut.linalg.ldl_factor(ut.ones(2, 3))
    with pytest.raises(RuntimeError, match="same dtype"):
        ut.linalg.ldl_solve(ld, pivots, b.double())


def test_there_is_no_derivative_as_in_torch():
    a = ut.eye(2).requires_grad_()
    ld, _ = ut.linalg.ldl_factor(a)
    with pytest.raises((RuntimeError, NotImplementedError), match="ldl_factor_ex is not implemented"):
        ld.sum().backward()
