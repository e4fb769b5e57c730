"""Derivatives of factorizations against finite differences, as functions with unique values: of Hermitian matrices, and
of vectors whose free phase is taken out."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from paths import TESTS

sys.path.insert(0, str(TESTS / "ops"))
from numeric import check_gradient, check_second, check_tangent

import undertow as ut


def hermitian(a: ut.Tensor) -> ut.Tensor:
    return a + a.mH


def positive(a: ut.Tensor) -> ut.Tensor:
    return a @ a.mH + ut.eye(a.shape[-1], dtype=a.dtype)


def without_phase(vectors: ut.Tensor) -> ut.Tensor:
    """Columns multiplied by a phase so that their sum is real and positive."""
    total = vectors.sum(-2, keepdim=True)
    return vectors * (total.conj() / total.abs())


def eigh(a: ut.Tensor) -> tuple[ut.Tensor, ut.Tensor]:
    values, vectors = ut.linalg.eigh(hermitian(a))
    return values, without_phase(vectors)


def svd(a: ut.Tensor) -> tuple[ut.Tensor, ...]:
    U, S, Vh = ut.linalg.svd(a, full_matrices=False)
    total = U.sum(-2, keepdim=True)
    phase = total.conj() / total.abs()
    return U * phase, S, phase.mH * Vh


def eig(a: ut.Tensor) -> tuple[ut.Tensor, ut.Tensor]:
    values, vectors = ut.linalg.eig(a)
    order = values.detach().real.argsort()
    return values[order], without_phase(vectors[:, order])


FUNCTIONS = {
    "cholesky": (lambda a: ut.linalg.cholesky(positive(a)), (3, 3)),
    "cholesky upper": (lambda a: ut.linalg.cholesky(positive(a), upper=True), (3, 3)),
    "old cholesky": (lambda a: ut.cholesky(positive(a)), (2, 3, 3)),
    "cholesky_inverse": (lambda a: ut.cholesky_inverse(ut.linalg.cholesky(positive(a))), (3, 3)),
    "cholesky_solve": (lambda a: ut.cholesky_solve(a[:, :2], ut.linalg.cholesky(positive(a))), (3, 3)),
    "eigh": (eigh, (3, 3)),
    "eigvalsh": (lambda a: ut.linalg.eigvalsh(hermitian(a)), (2, 3, 3)),
    "eig": (eig, (3, 3)),
    "svd": (svd, (3, 3)),
    "svd tall": (svd, (4, 2)),
    "svd wide": (svd, (2, 4)),
    "qr": (lambda a: tuple(ut.linalg.qr(a)), (3, 3)),
    "qr tall": (lambda a: tuple(ut.linalg.qr(a)), (4, 2)),
    "qr wide": (lambda a: tuple(ut.linalg.qr(a)), (2, 4)),
    "nuclear norm": (lambda a: ut.linalg.matrix_norm(a, "nuc"), (3, 4)),
    "spectral norm": (lambda a: ut.linalg.matrix_norm(a, 2), (3, 4)),
    "condition": (lambda a: ut.linalg.cond(a), (3, 3)),
    "lstsq": (lambda a: ut.linalg.lstsq(a[:, :2], a[:, 2:]).solution, (4, 4)),
    "lstsq vector": (lambda a: ut.linalg.lstsq(a[:, :2], a[:, 2]).solution, (4, 3)),
    "pinv hermitian": (lambda a: ut.linalg.pinv(hermitian(a), hermitian=True), (3, 3)),
}


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_those_of_finite_differences(name: str, dtype: str):
    function, shape = FUNCTIONS[name]
    rng = np.random.default_rng(3)
    a = rng.uniform(-1, 1, shape).astype(dtype)
    if dtype == "complex128":
        a = a + 1j * rng.uniform(-1, 1, shape)
    assert check_gradient(function, [a], rng)
    assert check_tangent(function, [a], rng)
    if name not in ("eig", "svd wide", "svd tall", "condition"):
        check_second(function, [a], rng)


@pytest.mark.parametrize("driver", ["gels", "gelsd"])
def test_residuals_of_least_squares_have_a_gradient(driver: str):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((5, 2)), rng.standard_normal((5, 3))
    check_gradient(lambda x, y: ut.linalg.lstsq(x, y, driver=driver)[:2], [a, b], rng)


def test_the_determinant_of_a_singular_matrix_has_a_gradient_and_a_second_one():
    a = ut.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.5, 1.0, -1.0]], dtype=ut.float64, requires_grad=True)
    (grad,) = ut.autograd.grad(ut.linalg.det(a), a, create_graph=True)
    cofactors = [[-10.0, 5.0, 0.0], [5.0, -2.5, 0.0], [0.0, 0.0, 0.0]]
    np.testing.assert_allclose(grad.detach().numpy(), cofactors, atol=1e-12)
    (again,) = ut.autograd.grad(grad[2, 2], a)
    np.testing.assert_allclose(again.numpy(), [[4.0, -2.0, 0.0], [-2.0, 1.0, 0.0], [0.0, 0.0, 0.0]], atol=1e-10)


def test_a_loss_that_depends_on_the_phase_of_eigenvectors_raises():
    rng = np.random.default_rng(0)
    a = ut.from_numpy(rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3))).requires_grad_()
    with pytest.raises(RuntimeError, match="up to multiplication by e"):
        ut.linalg.eigh(hermitian(a)).eigenvectors.imag.sum().backward()
    with pytest.raises(RuntimeError, match="up to multiplication by e"):
        ut.linalg.svd(a).U.imag.sum().backward()
    with pytest.raises(RuntimeError, match="depends on Q, which is not computed when mode='r'"):
        ut.linalg.qr(a, "r").R.abs().sum().backward()


def test_the_tangent_of_cholesky_inverse_is_that_of_finite_differences():
    rng = np.random.default_rng(0)
    factor, move = (np.tril(rng.standard_normal((4, 4))) + 3 * np.eye(4) for _ in range(2))
    forward, step = ut.autograd.forward_ad, 1e-6
    with forward.dual_level():
        dual = forward.make_dual(ut.from_numpy(factor.copy()), ut.from_numpy(move.copy()))
        tangent = forward.unpack_dual(ut.cholesky_inverse(dual)).tangent.numpy()
    above, below = (ut.cholesky_inverse(ut.from_numpy(factor + s * move)).numpy() for s in (step, -step))
    np.testing.assert_allclose(tangent, (above - below) / (2 * step), atol=1e-8)


def test_the_logarithm_of_a_complex_determinant_has_a_gradient_of_its_own():
    a = ut.tensor([[2 + 1j, 0.5], [1j, 3 - 1j]], dtype=ut.complex128, requires_grad=True)
    (got,) = ut.autograd.grad(ut.linalg.slogdet(a).logabsdet, a)
    np.testing.assert_allclose(got.numpy(), np.linalg.inv(a.detach().numpy()).conj().T, rtol=1e-12)


def test_the_gradient_of_a_norm_is_the_same_with_and_without_a_graph_of_it():
    rows = [[3.0, 4.0], [0.0, 0.0], [1.0, float("nan")], [float("inf"), 1.0], [1e-30, 1e-30], [1e-42, 0.0]]
    for given in ([1.0] * 6, [float("nan")] * 6, [float("inf")] * 6, [0.0] * 6):
        for dtype in (ut.float32, ut.float64):
            grads = []
            for create_graph in (False, True):
                x = ut.tensor(rows, dtype=dtype, requires_grad=True)
                grads.append(ut.autograd.grad(x.norm(dim=1), x, ut.tensor(given, dtype=dtype), create_graph=create_graph)[0].detach())
            assert bool(((grads[0] == grads[1]) | (grads[0].isnan() & grads[1].isnan())).all())
    x = ut.zeros(3, requires_grad=True)
    assert ut.autograd.grad(x.norm(), x)[0].tolist() == [0.0, 0.0, 0.0]
