"""Linear algebra: factors multiply to their matrix, and impossible requests raise."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut

DTYPES = ["float32", "float64", "complex64", "complex128"]
SHAPES = [(3, 3), (5, 3), (3, 5), (2, 4, 4), (2, 0, 3, 2), (1, 1), (40, 30), (30, 40)]


def matrix(*shape: int, dtype: str = "float64", seed: int = 0) -> ut.Tensor:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    if dtype.startswith("complex"):
        x = x + 1j * rng.standard_normal(shape)
    return ut.from_numpy(x.astype(dtype))


def positive(n: int, dtype: str = "float64") -> ut.Tensor:
    a = matrix(n, n, dtype=dtype)
    return a @ a.mH + n * ut.eye(n, dtype=a.dtype)


def close(a: ut.Tensor, b: ut.Tensor) -> None:
    tolerance = 2e-4 if a.dtype in (ut.float32, ut.complex64) else 1e-11
    np.testing.assert_allclose(a.detach().resolve_conj().numpy(), b.detach().resolve_conj().numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_factors_multiply_to_the_matrix(shape: tuple[int, ...], dtype: str):
    a = matrix(*shape, dtype=dtype)
    P, L, U = ut.linalg.lu(a)
    close(P @ L @ U, a)
    for mode in ("reduced", "complete"):
        Q, R = ut.linalg.qr(a, mode)
        close(Q @ R, a)
        close(Q.mH @ Q, (Q.mH @ Q) * 0 + ut.eye(Q.shape[-1], dtype=a.dtype))
        assert bool((R.tril(-1) == 0).all())
    k = min(a.shape[-2:])
    for full in (False, True):
        U, S, Vh = ut.linalg.svd(a, full_matrices=full)
        close((U[..., :k] * S.unsqueeze(-2)) @ Vh[..., :k, :], a)
        close(U.mH @ U, (U.mH @ U) * 0 + ut.eye(U.shape[-1], dtype=a.dtype))
        close(Vh @ Vh.mH, (Vh @ Vh.mH) * 0 + ut.eye(Vh.shape[-2], dtype=a.dtype))
        assert bool((S[..., 1:] <= S[..., :-1]).all())
    close(ut.linalg.svdvals(a), S)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 5, 33, 60])
def test_eigenvalues_and_vectors_satisfy_their_equation(n: int, dtype: str):
    a = matrix(n, n, dtype=dtype)
    h = a + a.mH
    for uplo in ("L", "U"):
        values, vectors = ut.linalg.eigh(h, uplo)
        close(h @ vectors / n, vectors * values / n)
        close(vectors.mH @ vectors, ut.eye(n, dtype=a.dtype))
        assert bool((values[1:] >= values[:-1]).all())
    close(ut.linalg.eigvalsh(h) / n, values / n)
    values, vectors = ut.linalg.eig(a)
    close(a.to(vectors.dtype) @ vectors / n, vectors * values / n)


def test_eigh_reads_one_triangle_only():
    a = positive(4)
    spoiled = a.tril() + ut.triu(ut.full((4, 4), float("nan"), dtype=ut.float64), 1).nan_to_num(7.0)
    close(ut.linalg.eigvalsh(spoiled), ut.linalg.eigvalsh(a))
    close(ut.linalg.eigvalsh(spoiled.mT, "U"), ut.linalg.eigvalsh(a))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 3, 50])
def test_solutions_satisfy_their_equations(n: int, dtype: str):
    a, b = matrix(n, n, dtype=dtype), matrix(n, 3, dtype=dtype, seed=1)
    x = ut.linalg.solve(a, b)
    scale = x.abs().max().item()
    close(a @ x / scale, b / scale)
    close(ut.linalg.solve(a.mT, b.mT, left=False) / scale, x.mT / scale)
    close(ut.linalg.solve(a, b[:, 0]) / scale, x[:, 0] / scale)
    close(ut.linalg.lu_solve(*ut.linalg.lu_factor(a), b) / scale, x / scale)
    close(a.mH @ ut.linalg.lu_solve(*ut.linalg.lu_factor(a), b, adjoint=True) / scale, b / scale)
    s = positive(n, dtype)
    L = ut.linalg.cholesky(s)
    close(L @ L.mH / n, s / n)
    U = ut.linalg.cholesky(s, upper=True)
    close(U, L.mH)
    close(s @ ut.cholesky_solve(b, L) / n, b / n)
    close(s @ ut.cholesky_inverse(L), ut.eye(n, dtype=s.dtype))


def test_a_singular_matrix_is_a_linalg_error():
    singular = ut.tensor([[1.0, 2.0], [2.0, 4.0]])
    batch = ut.stack([ut.eye(2), singular])
    assert issubclass(ut.linalg.LinAlgError, RuntimeError)
    for function in (ut.linalg.inv, ut.inverse):
        with pytest.raises(ut.linalg.LinAlgError, match=r"linalg.inv: The diagonal element 2 is zero"):
            function(singular)
    with pytest.raises(ut.linalg.LinAlgError, match=r"\(Batch element 1\)"):
        ut.linalg.inv(batch)
    with pytest.raises(ut.linalg.LinAlgError, match="The solver failed because the input matrix is singular"):
        ut.linalg.solve(singular, ut.ones(2))
    with pytest.raises(ut.linalg.LinAlgError, match="leading minor of order 2 is not positive-definite"):
        ut.linalg.cholesky(ut.tensor([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(ut.linalg.LinAlgError, match="is zero"):
        ut.linalg.lu_factor(ut.zeros(2, 2))
    with pytest.raises(ut.linalg.LinAlgError, match="failed to converge"):
        ut.linalg.svd(ut.tensor([[float("nan"), 1.0], [1.0, 1.0]]))


def test_the_ex_forms_return_an_info_code_instead():
    singular = ut.stack([ut.eye(2), ut.tensor([[1.0, 2.0], [2.0, 4.0]])])
    assert ut.linalg.inv_ex(singular).info.tolist() == [0, 2]
    assert ut.linalg.solve_ex(singular, ut.ones(2, 2)).info.tolist() == [0, 2]
    assert ut.linalg.lu_factor_ex(singular).info.tolist() == [0, 2]
    assert ut.linalg.cholesky_ex(-ut.eye(2)).info.item() == 1
    with pytest.raises(ut.linalg.LinAlgError):
        ut.linalg.inv_ex(singular, check_errors=True)


def test_pivots_keep_an_inverse_exact_where_elimination_in_order_would_not():
    a = ut.tensor([[1e-20, 1.0], [1.0, 1.0]], dtype=ut.float64)
    close(ut.linalg.inv(a), ut.tensor([[-1.0, 1.0], [1.0, 0.0]], dtype=ut.float64))


def test_small_singular_values_keep_their_relative_accuracy():
    scale = ut.tensor([1.0, 1e-8, 1e-16], dtype=ut.float64)
    q, _ = ut.linalg.qr(matrix(3, 3))
    np.testing.assert_allclose(ut.linalg.svdvals(q * scale).numpy(), scale.numpy(), rtol=1e-12)


def test_vectors_of_a_matrix_without_rank_are_still_orthonormal():
    for a in (ut.zeros(4, 3), ut.ones(4, 3)):
        U, S, Vh = ut.linalg.svd(a)
        close(U.mT @ U, ut.eye(4))
        close(Vh @ Vh.mT, ut.eye(3))
        assert int((S > 1e-5).sum()) == int(ut.linalg.matrix_rank(a))


@pytest.mark.parametrize("ord", ["nuc", 2, -2])
def test_norms_by_singular_values(ord: int | str):
    a = matrix(2, 4, 3)
    wanted = np.stack([np.linalg.norm(m, ord) for m in a.numpy()])
    np.testing.assert_allclose(ut.linalg.matrix_norm(a, ord).numpy(), wanted)
    assert ut.linalg.matrix_norm(a, ord, keepdim=True).shape == (2, 1, 1)
    moved = a.permute(1, 2, 0).contiguous()
    np.testing.assert_allclose(ut.linalg.matrix_norm(moved, ord, dim=(0, 1)).numpy(), wanted)


def test_the_exponential_of_a_large_matrix_and_of_a_rotation():
    turn = ut.tensor([[0.0, -100.0], [100.0, 0.0]], dtype=ut.float64)
    wanted = [[np.cos(100), -np.sin(100)], [np.sin(100), np.cos(100)]]
    np.testing.assert_allclose(ut.linalg.matrix_exp(turn).numpy(), wanted, atol=1e-10)


def test_least_squares_minimize_the_residual():
    a, b = matrix(6, 3), matrix(6, 2, seed=1)
    for driver in ("gels", "gelsy", "gelsd", "gelss"):
        found = ut.linalg.lstsq(a, b, driver=driver)
        wanted, rest, rank, values = np.linalg.lstsq(a.numpy(), b.numpy(), rcond=None)
        np.testing.assert_allclose(found.solution.numpy(), wanted, atol=1e-12)
        if driver != "gelsy":
            np.testing.assert_allclose(found.residuals.numpy(), rest)
        if driver in ("gelsd", "gelss"):
            np.testing.assert_allclose(found.singular_values.numpy(), values)
    without_rank = ut.ones(4, 2, dtype=ut.float64)
    np.testing.assert_allclose(ut.linalg.lstsq(without_rank, ut.ones(4, 1, dtype=ut.float64)).solution.numpy(), [[0.5], [0.5]])


def test_reflections_of_geqrf_multiply_to_q():
    a = matrix(5, 3)
    packed, tau = ut.geqrf(a)
    q, r = ut.linalg.qr(a)
    close(ut.linalg.householder_product(packed, tau), q)
    close(packed[:3].triu(), r)
    other = matrix(5, 2, seed=1)
    full, _ = ut.linalg.qr(a, "complete")
    close(ut.ormqr(packed, tau, other), full @ other)
    close(ut.ormqr(packed, tau, other, transpose=True), full.mT @ other)
    close(ut.ormqr(packed, tau, other.mT, left=False), other.mT @ full)


def test_lists_of_sizes_cannot_be_single_ints():
    x = ut.ones(3)
    for call in (lambda: ut.zeros(size=3), lambda: ut.full(3, 1.0), lambda: ut.flip(x, 0), lambda: ut.tile(x, 2), lambda: ut.permute(x, 0),
                 lambda: x.new_full(3, 1.0), lambda: ut.broadcast_to(x, 3), lambda: x.expand(size=3)):
        with pytest.raises(TypeError, match="must be tuple of ints, not int"):
            call()
    # Lists of a known length take one number, and a method's only list its elements one by one.
    assert ut.zeros(3).shape == x.view(3, 1).sum(1).shape == x.flip(0).shape == ut.roll(x, 1, 0).shape == ut.amax(x.view(3, 1), 1).shape == (3,)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 0, 3)])
@pytest.mark.parametrize("order", [1, 2, float("inf"), "nuc", "fro"])
def test_the_norm_of_an_empty_matrix_is_zero(shape, order):
    norm = ut.linalg.matrix_norm(ut.zeros(shape), order)
    assert norm.shape == shape[:-2] and not norm.any()


def test_lu_of_a_singular_matrix_does_not_raise():
    # torch.lu and Tensor.lu give factors with a zero pivot; linalg.lu_factor is the one that raises.
    singular = ut.tensor([[1.0, 2.0], [2.0, 4.0]])
    for factors, pivots in (ut.lu(singular), singular.lu()):
        assert factors.tolist() == [[2.0, 4.0], [0.5, 0.0]] and pivots.tolist() == [2, 2]
    for *_, info in (ut.lu(singular, get_infos=True), singular.lu(get_infos=True)):
        assert info.item() == 2
    with pytest.raises(RuntimeError, match="singular|is zero"):
        ut.linalg.lu_factor(singular)
