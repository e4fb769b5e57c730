"""lobpcg beside torch: from the same first guess the same steps, eigenvalues, states, gradients and errors."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
A = (lambda m: m @ m.T + 20 * np.eye(20))(RNG.standard_normal((20, 20)))
B = (lambda m: m @ m.T + 20 * np.eye(20))(RNG.standard_normal((20, 20)))
X = RNG.standard_normal((20, 2))


@pytest.mark.parametrize("method", ["ortho", "basic"])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("with_b", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_every_step_is_torchs(method, largest, with_b, sparse):
    def run(lib):
        seen = []

        def tracker(w):
            seen.append([w.ivars["istep"], w.ivars["converged_count"], w.ivars["converged_end"], round(float(w.tvars["rerr"].max()), 6)])
            seen.append([sorted(getattr(w, name)) for name in ("iparams", "fparams", "bparams", "ivars", "bvars", "tvars")])

        a, b = lib.tensor(A), lib.tensor(B)
        options = {"B": (b.to_sparse() if sparse else b) if with_b else None, "X": lib.tensor(X.copy()), "niter": 12}
        e, _ = lib.lobpcg(a.to_sparse() if sparse else a, k=2, largest=largest, method=method, tracker=tracker, **options)
        return seen, np.round(e.numpy(), 7).tolist()

    assert run(ut) == run(torch)


@pytest.mark.parametrize("options", [{}, {"ortho_bparams": {"ortho_use_drop": True}}, {"ortho_iparams": {"ortho_i_max": 1, "ortho_j_max": 2}}, {"n": 4, "X": None}])
def test_options_of_the_orthogonalization(options):
    def run(lib):
        lib.manual_seed(0)
        given = {"X": lib.tensor(X.copy()), **options}
        return np.round(lib.lobpcg(lib.tensor(A), k=2, tol=1e-8, **given)[0].numpy(), 6).tolist()

    assert run(ut) == run(torch)


@pytest.mark.parametrize("largest", [True, False])
def test_gradients(largest):
    def run(lib):
        a = lib.tensor(A, requires_grad=True)
        e, v = lib.lobpcg(a, k=2, X=lib.tensor(X.copy()), largest=largest, tol=1e-12, niter=200)
        v = v * v.sum(0).sign().detach()
        return lib.autograd.grad((e * lib.tensor([1.0, 2.0])).sum() + (v * lib.tensor(X)).sum(), a)[0].numpy()

    np.testing.assert_allclose(run(ut), run(torch), rtol=1e-4, atol=1e-6)
