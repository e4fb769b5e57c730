"""Factorizations and systems of equations on a GPU agree with the CPU's."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import undertow as ut
from tests.cuda.compare import close, numbers

pytestmark = pytest.mark.cuda
DTYPES = (ut.float32, ut.float64, ut.complex64, ut.complex128)
TOLERANCES = {ut.float32: 2e-4, ut.float64: 1e-10, ut.complex64: 2e-4, ut.complex128: 1e-10}
SHAPES = [(1, 1), (5, 5), (3, 40, 40), (2, 2, 9, 9)]


def matrices(*shape: int, dtype: ut.dtype, seed: int = 0) -> ut.Tensor:
    """Well-conditioned where they are square."""
    if dtype.is_complex:
        real = ut.float32 if dtype == ut.complex64 else ut.float64
        m = ut.complex(numbers(*shape, dtype=real, seed=seed), numbers(*shape, dtype=real, seed=seed + 1))
    else:
        m = numbers(*shape, dtype=dtype, seed=seed)
    return m + 2 * shape[-1] ** 0.5 * ut.eye(shape[-2], shape[-1], dtype=dtype) if shape[-1] == shape[-2] else m


def parts(t: ut.Tensor) -> ut.Tensor:
    t = t.cpu()
    return ut.view_as_real(t) if t.is_complex() else t


def agree(f: Callable[..., Any], *inputs: ut.Tensor) -> None:
    expected, got = f(*inputs), f(*(t.to("cuda") for t in inputs))
    for e, g in zip(*((r,) if isinstance(r, ut.Tensor) else tuple(r) for r in (expected, got))):
        assert g.device.type == "cuda" and g.shape == e.shape and g.dtype == e.dtype
        close(parts(g), parts(e), TOLERANCES.get(inputs[0].dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_systems_inverses_and_determinants(dtype: ut.dtype, shape: tuple[int, ...]) -> None:
    a, b = matrices(*shape, dtype=dtype), matrices(*shape[:-1], 11, dtype=dtype, seed=5)
    agree(ut.linalg.lu_factor, a)
    agree(ut.linalg.lu, a)
    agree(ut.linalg.solve, a, b)
    agree(ut.linalg.inv, a)
    agree(ut.linalg.det, a / (2 * shape[-1] ** 0.5))
    agree(ut.linalg.slogdet, a)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(7, 4), (4, 7), (2, 150, 20)])
def test_lu_of_other_shapes(dtype: ut.dtype, shape: tuple[int, ...]) -> None:
    agree(ut.linalg.lu, matrices(*shape, dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_cholesky(dtype: ut.dtype, shape: tuple[int, ...]) -> None:
    a = matrices(*shape, dtype=dtype)
    agree(ut.linalg.cholesky, a @ a.mH)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_triangular_systems(dtype: ut.dtype, upper: bool, left: bool, unit: bool) -> None:
    a = matrices(3, 20, 20, dtype=dtype) / 8
    b = matrices(3, 20, 9, dtype=dtype, seed=3) if left else matrices(3, 9, 20, dtype=dtype, seed=3)
    agree(lambda x, y: ut.linalg.solve_triangular(x, y, upper=upper, left=left, unitriangular=unit), a, b)


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("left", [True, False])
def test_large_triangular_systems(upper: bool, left: bool) -> None:
    a = matrices(2, 300, 300, dtype=ut.float64) / 40
    b = matrices(2, 300, 5, dtype=ut.float64) if left else matrices(2, 5, 300, dtype=ut.float64)
    agree(lambda x, y: ut.linalg.solve_triangular(x, y, upper=upper, left=left), a, b)


def test_large_matrices() -> None:
    a = matrices(2, 260, 260, dtype=ut.float64)
    agree(ut.linalg.solve, a, matrices(2, 260, 3, dtype=ut.float64, seed=5))
    agree(ut.linalg.inv, a)
    agree(ut.linalg.cholesky, a @ a.mT)


def test_a_singular_matrix_is_reported() -> None:
    a = ut.zeros(2, 3, 3)
    a[0] = ut.eye(3)
    with pytest.raises(ut.linalg.LinAlgError, match="singular"):
        ut.linalg.inv(a.to("cuda"))
    with pytest.raises(ut.linalg.LinAlgError, match="positive-definite"):
        ut.linalg.cholesky(a.to("cuda"))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(6, 6), (2, 9, 5), (3, 4, 8), (2, 100, 70), (70, 100), (80, 80)])
def test_decompositions_reproduce_the_matrix(dtype: ut.dtype, shape: tuple[int, ...]) -> None:
    a = matrices(*shape, dtype=dtype)
    there = a.to("cuda")
    tol = TOLERANCES[dtype]
    for mode in ("reduced", "complete"):
        q, r = ut.linalg.qr(there, mode=mode)
        close(parts(q @ r), parts(a), tol)
        close(parts(q.mH @ q), parts(ut.eye(q.shape[-1], dtype=dtype).expand(*q.shape[:-2], -1, -1)), tol)
        close(parts(r), parts(r.triu()), 0.0)
    u, s, vh = ut.linalg.svd(there, full_matrices=False)
    close(parts(u @ (s.to(dtype).unsqueeze(-1) * vh)), parts(a), tol)
    close(s, ut.linalg.svdvals(a), tol)
    close(ut.linalg.svdvals(there), ut.linalg.svdvals(a), tol)
    u, s, vh = ut.linalg.svd(there, full_matrices=True)
    k = s.shape[-1]
    close(parts(u[..., :k] @ (s.to(dtype).unsqueeze(-1) * vh[..., :k, :])), parts(a), tol)
    square = a @ a.mH
    values, vectors = ut.linalg.eigh(square.to("cuda"))
    close(values, ut.linalg.eigvalsh(square), tol)
    close(parts(square.to("cuda") @ vectors), parts(vectors * values.to(dtype).unsqueeze(-2)), tol)


@pytest.mark.parametrize("dtype", [ut.float64, ut.complex128])
def test_pseudoinverses_least_squares_and_exponentials(dtype: ut.dtype) -> None:
    a, b = matrices(2, 9, 5, dtype=dtype), matrices(2, 9, 3, dtype=dtype, seed=4)
    agree(ut.linalg.pinv, a)
    agree(ut.linalg.matrix_rank, a)
    agree(lambda x, y: ut.linalg.lstsq(x, y)[:2], a, b)
    agree(ut.linalg.matrix_exp, matrices(2, 4, 4, dtype=dtype) / 4)


def test_eigenvalues_of_general_matrices() -> None:
    a = matrices(2, 6, 6, dtype=ut.float64)
    values, vectors = ut.linalg.eig(a.to("cuda"))
    close(parts(a.to("cuda").to(ut.complex128) @ vectors), parts(vectors * values.unsqueeze(-2)), 1e-10)
