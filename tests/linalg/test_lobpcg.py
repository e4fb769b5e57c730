"""lobpcg: eigenvalues and eigenvectors of dense, sparse and batched matrices, its state, and its derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut


def spread(n: int, seed: int = 0, batch: tuple[int, ...] = ()) -> np.ndarray:
    """A symmetric positive definite matrix whose eigenvalues are far apart."""
    rng = np.random.default_rng(seed)
    q, _ = np.linalg.qr(rng.standard_normal((*batch, n, n)))
    return (q * (1.0 + np.arange(n))) @ np.swapaxes(q, -1, -2)


def start(n: int, k: int, batch: tuple[int, ...] = ()) -> ut.Tensor:
    return ut.from_numpy(np.random.default_rng(5).standard_normal((*batch, n, k)))


@pytest.mark.parametrize("method", ["ortho", "basic"])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("batch", [(), (2,), (2, 2)])
def test_eigenpairs(method: str, largest: bool, batch: tuple[int, ...]):
    A = ut.from_numpy(spread(15, batch=batch))
    E, X = ut.lobpcg(A, k=3, X=start(15, 3, batch), largest=largest, method=method, tol=1e-9)
    assert E.shape == (*batch, 3) and X.shape == (*batch, 15, 3)
    np.testing.assert_allclose(E.numpy(), np.broadcast_to([15.0, 14.0, 13.0] if largest else [1.0, 2.0, 3.0], (*batch, 3)), rtol=1e-6)
    np.testing.assert_allclose((A @ X).numpy(), (X * E.unsqueeze(-2)).numpy(), atol=1e-5)


def test_the_generalized_problem():
    A, B = spread(12), spread(12, 1)
    E, X = ut.lobpcg(ut.from_numpy(A), k=2, B=ut.from_numpy(B), X=start(12, 2), tol=1e-10)
    found = np.sort(np.linalg.eigvals(np.linalg.solve(B, A)).real)[::-1]
    np.testing.assert_allclose(E.numpy(), found[:2], rtol=1e-7)
    np.testing.assert_allclose((X.T @ ut.from_numpy(B) @ X).numpy(), np.eye(2), atol=1e-8)


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_sparse_matrices(layout: str):
    A = ut.diag(ut.arange(1.0, 41.0, dtype=ut.float64)).to_sparse(layout=getattr(ut, layout))
    np.testing.assert_allclose(ut.lobpcg(A, k=2, X=start(40, 2), tol=1e-9)[0].numpy(), [40.0, 39.0])


def test_a_preconditioner_saves_steps():
    diagonal = ut.logspace(0, 3, 60, dtype=ut.float64)
    steps = {}
    for name, iK in (("none", None), ("inverse", ut.diag(1 / diagonal))):
        seen: list[int] = []
        options = {"largest": False, "method": "basic", "tol": 1e-5, "tracker": lambda w, s=seen: s.append(w.ivars["istep"])}
        E, _ = ut.lobpcg(ut.diag(diagonal), k=1, X=start(60, 1), iK=iK, **options)
        steps[name] = len(seen)
    np.testing.assert_allclose(E.numpy(), [1.0], rtol=1e-5)
    assert steps["inverse"] < steps["none"]


def test_a_tracker_sees_each_step_and_can_stop():
    seen = []

    def tracker(worker):
        seen.append((worker.ivars["istep"], worker.ivars["converged_count"], float(worker.tvars["rerr"].max())))
        worker.bvars["force_stop"] = len(seen) == 3

    ut.lobpcg(ut.from_numpy(spread(20)), k=2, X=start(20, 2), tracker=tracker, niter=50)
    assert [s[0] for s in seen] == [1, 2, 3] and seen[2][2] < seen[1][2]


def test_the_first_guess_is_not_changed_and_steps_are_limited():
    X = start(20, 2)
    before = X.clone()
    count: list[int] = []
    ut.lobpcg(ut.from_numpy(spread(20)), X=X, niter=2, tracker=lambda w: count.append(1))
    assert ut.equal(X, before) and len(count) == 2


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("largest", [True, False])
def test_first_and_second_derivatives(k: int, largest: bool):
    A = ut.from_numpy(spread(9)).requires_grad_()

    def pairs(A):
        E, X = ut.lobpcg(A + A.mT, k=k, X=start(9, k), largest=largest, tol=1e-12, niter=300)
        return E, X * X.sum(0).sign().detach()  # an eigenvector is only known up to its sign

    assert ut.autograd.gradcheck(pairs, A, check_undefined_grad=False)
    assert ut.autograd.gradgradcheck(pairs, A, atol=1e-4)


def test_the_gradient_of_a_batch():
    A = ut.from_numpy(spread(9, batch=(2,))).requires_grad_()
    E, X = ut.lobpcg(A, k=2, X=start(9, 2, (2,)), tol=1e-12)
    (g,) = ut.autograd.grad(E.sum(), A, retain_graph=True)
    np.testing.assert_allclose(g.numpy(), (X @ X.mT).detach().numpy(), atol=1e-9)
    (g,) = ut.autograd.grad((X * start(9, 2)).sum(), A)
    assert ut.allclose(g, g.mT) and g.abs().max() > 0.01


def test_mistakes_raise():
    with pytest.raises(ValueError, match="smaller than 3 x the number of requested eigenpairs"):
        ut.lobpcg(ut.eye(5), k=2)
    with pytest.raises(AssertionError, match="A must be square"):
        ut.lobpcg(ut.ones(4, 3))
    with pytest.raises(AssertionError, match="same shape"):
        ut.lobpcg(ut.eye(6), B=ut.eye(5))
    with pytest.raises(AssertionError, match="X shape mismatch"):
        ut.lobpcg(ut.eye(6), X=ut.ones(5, 1))
    A = ut.from_numpy(spread(9)).requires_grad_()
    with pytest.raises(ValueError, match="B != I"):
        ut.lobpcg(A, B=ut.eye(9, dtype=ut.float64))[0].sum().backward()
    with pytest.raises(ValueError, match="sparse input"):
        ut.lobpcg(A.detach().to_sparse().requires_grad_())[0].sum().backward()
