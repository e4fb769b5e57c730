"""`lobpcg`: the largest or smallest eigenvalues of a symmetric matrix, by products with the matrix only.

References: Knyazev (2001), Toward the optimal preconditioned eigensolver, for the method "basic"; Duersch, Shao, Yang and Gu (2018), A robust
and efficient implementation of LOBPCG, for "ortho"; Stathopoulos and Wu (2002), A block orthogonalization procedure with constant
synchronization requirements, for the orthogonalization that it uses.
"""

from __future__ import annotations

from math import prod

import undertow
from undertow._C import Tensor
from undertow._override import overridable
from undertow.autograd import Function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["lobpcg"]

_PRECISION = {undertow.float32: 1.2e-07, undertow.float64: 2.23e-16}


def _times(A: Tensor | None, X: Tensor) -> Tensor:
    """Return A @ X, where None is the identity and A may be sparse."""
    return X if A is None else A @ X


def _form(A: Tensor | None, S: Tensor) -> Tensor:
    """Return the quadratic form S^T A S."""
    return S.mT @ _times(A, S)


def _eigenpairs(M: Tensor, largest: bool = False) -> tuple[Tensor, Tensor]:
    """Return the eigenpairs of a small symmetric matrix, in ascending order or, for `largest`, in descending order."""
    E, Z = undertow.linalg.eigh(M, UPLO="U")
    return (E.flip(-1), Z.flip(-1)) if largest else (E, Z)


class LOBPCG:
    """The iteration for one matrix, and its state, which a tracker sees after each step.

    `iparams`, `fparams` and `bparams` are the parameters; `ivars`, `fvars`, `bvars` and `tvars` hold numbers, flags and tensors that change.
    X and E are the current eigenvectors and eigenvalues, R the residuals, and S the basis of the next subspace: X, the last directions
    and the new ones.
    """

    def __init__(
        self,
        A: Tensor,
        B: Tensor | None,
        X: Tensor,
        iK: Tensor | None,
        iparams: dict[str, int],
        fparams: dict[str, float],
        bparams: dict[str, bool],
        method: str,
        tracker: Callable[[Any], Any] | None,
    ) -> None:
        self.A, self.B, self.iK = A, B, iK
        self.iparams, self.fparams, self.bparams = iparams, fparams, bparams
        self.method, self.tracker = method, tracker
        m, n = iparams["m"], iparams["n"]
        self.X = X
        self.E = X.new_zeros(n)
        self.R = X.new_zeros(m, n)
        self.S = X.new_zeros(m, 3 * n)
        self.tvars: dict[str, Tensor] = {}
        self.ivars: dict[str, int] = {"istep": 0}
        self.fvars: dict[str, float] = {"_": 0.0}
        self.bvars: dict[str, bool] = {"_": False}

    def __str__(self) -> str:
        names = ["iparams", "fparams", "bparams", "ivars", "fvars", "bvars", "tvars", "A", "B", "iK", "X", "E"]
        return "LOBPCG:\n" + "".join(f"  {name}={getattr(self, name)}\n" for name in names)

    def run(self) -> None:
        """Iterate until enough eigenpairs have converged, the steps are used up, or the tracker sets `bvars["force_stop"]`."""
        self.update()
        self.call_tracker()
        while not self.stop_iteration():
            self.update()
            self.call_tracker()

    def call_tracker(self) -> None:
        """Show the state to the tracker."""
        if self.tracker is not None:
            self.tracker(self)

    def stop_iteration(self) -> bool:
        """Return True if the last step was the last one."""
        return self.bvars.get("force_stop", False) or self.ivars["iterations_left"] == 0 or self.ivars["converged_count"] >= self.iparams["k"]

    def update(self) -> None:
        """Make one step."""
        if self.ivars["istep"] == 0:
            norm = float(self.X.norm())
            self.fvars["X_norm"] = norm
            self.fvars["A_norm"] = float(_times(self.A, self.X).norm()) / norm
            self.fvars["B_norm"] = float(_times(self.B, self.X).norm()) / norm
            self.ivars["iterations_left"] = self.iparams["niter"]
            self.ivars["converged_count"] = self.ivars["converged_end"] = 0
            self._start()
        elif self.method == "ortho":
            self._step_ortho()
        else:
            self._step_basic()
        self.ivars["iterations_left"] -= 1
        self.ivars["istep"] += 1

    def update_residual(self) -> None:
        """Compute the residuals of the current eigenpairs."""
        self.R = _times(self.A, self.X) - _times(self.B, self.X) * self.E

    def update_converged_count(self) -> int:
        """Count the converged eigenpairs: those before the first one whose relative residual is not below the tolerance."""
        scale = self.fvars["A_norm"] + self.E[: self.X.shape[-1]].abs() * self.fvars["B_norm"]
        error = self.R.norm(dim=0) / (self.X.norm(dim=0) * scale)
        count = next((i for i, e in enumerate(error.tolist()) if not e < self.fparams["tol"]), error.shape[0])
        before = self.ivars["converged_count"]
        if count < before:
            raise AssertionError(f"the number of converged eigenpairs (was {before}, got {count}) cannot decrease")
        self.ivars["converged_count"] = count
        self.tvars["rerr"] = error
        return count

    def _start(self) -> None:
        """The eigenpairs within the span of the given X."""
        Ri = self._get_rayleigh_ritz_transform(self.X)
        E, Z = _eigenpairs(Ri.mT @ _form(self.A, self.X) @ Ri, self.bparams["largest"])
        self.X = self.X @ (Ri @ Z)
        if self.method != "ortho":
            self.E[:] = E
        self._extend(None)

    def _step_basic(self) -> None:
        n, done = self.iparams["n"], self.ivars["converged_count"]
        S = self.S[:, done : self.ivars["converged_end"]]
        Ri = self._get_rayleigh_ritz_transform(S)
        E, Z = _eigenpairs(Ri.mT @ _form(self.A, S) @ Ri, self.bparams["largest"])
        self.X[:, done:] = S @ (Ri @ Z[:, : n - done])
        self.E[done:] = E[: n - done]
        self._extend(S @ (Ri @ Z[:, n : 2 * n - done]))

    def _step_ortho(self) -> None:
        n, done = self.iparams["n"], self.ivars["converged_count"]
        S = self.S[:, done : self.ivars["converged_end"]]
        E, Z = _eigenpairs(_form(self.A, S), self.bparams["largest"])
        self.X[:, done:] = S @ Z[:, : n - done]
        self.E[done:] = E[: n - done]
        others = Z[:, n - done :]
        self._extend(S @ (others @ undertow.linalg.qr(Z[: n - done, n - done :].mT).Q))

    def _extend(self, P: Tensor | None) -> None:
        """Make the basis of the next subspace: X, the last directions P, and the residuals of the pairs that have not converged."""
        self.update_residual()
        done = self.update_converged_count()
        n = self.iparams["n"]
        used = n if P is None else n + P.shape[-1]
        self.S[:, :n] = self.X
        if P is not None:
            self.S[:, n:used] = P
        R = self.R if P is None else self.R[:, done:]
        W = self._get_ortho(R, self.S[:, :used]) if self.method == "ortho" else _times(self.iK, R)
        self.ivars["converged_end"] = used + W.shape[-1]
        self.S[:, used : used + W.shape[-1]] = W

    def _get_rayleigh_ritz_transform(self, S: Tensor) -> Tensor:
        """Return an upper triangular matrix T for which T^T (S^T B S) T is the identity."""
        SBS = _form(self.B, S)
        scale = SBS.diagonal() ** -0.5
        R = undertow.linalg.cholesky(SBS * scale * scale[:, None], upper=True)
        return undertow.linalg.solve_triangular(R, scale.diag_embed(), upper=True, left=False)

    def _get_svqb(self, U: Tensor, drop: bool, tau: float) -> Tensor:
        """Return U with B-orthonormal columns. Columns of zeros go; with `drop`, also those that add less than `tau` to the span."""
        if not U.numel():
            return U
        UBU = _form(self.B, U)
        d = UBU.diagonal()
        if bool((d == 0).any()):
            kept = d != 0
            U = U[:, kept]
            if not U.numel():
                return U
            UBU = _form(self.B, U)
            d = UBU.diagonal()
        scale = d**-0.5
        E, Z = _eigenpairs(UBU * scale * scale[:, None])
        least = tau * E.abs().max()
        if drop:
            kept = least < E
            E, Z = E[kept], Z[:, kept]
        else:
            E = E.clamp(min=least)
        return (U * scale) @ (Z * E**-0.5)

    def _get_ortho(self, U: Tensor, V: Tensor) -> Tensor:
        """Return U with B-orthonormal columns that are B-orthogonal to those of V; none if all of them are in the span of V."""
        use_drop, tolerance = self.bparams["ortho_use_drop"], self.fparams["ortho_tol"]
        for key in [k for k in self.fvars if k.startswith("ortho_") and k.endswith("_rerr")]:
            del self.fvars[key]
        BV_norm = _times(self.B, V).norm()
        BU = _times(self.B, U)
        i = j = 0
        for i in range(self.iparams["ortho_i_max"]):
            U = U - V @ (V.mT @ BU)
            drop, tau = False, self.fparams["ortho_tol_drop" if use_drop else "ortho_tol_replace"]
            for j in range(self.iparams["ortho_j_max"]):
                U = self._get_svqb(U, drop, tau)
                drop, tau = use_drop, self.fparams["ortho_tol_replace"]
                if not U.numel():
                    self.ivars["ortho_i"], self.ivars["ortho_j"] = i, j
                    return U
                BU = _times(self.B, U)
                UBU = U.mT @ BU
                error = float((UBU - undertow.eye(UBU.shape[-1], dtype=UBU.dtype, device=UBU.device)).norm()) / float(BU.norm() * U.norm())
                self.fvars[f"ortho_UBUmI_rerr[{i}, {j}]"] = error
                if error < tolerance:
                    break
            error = float((V.mT @ BU).norm()) / float(BV_norm * U.norm())
            self.fvars[f"ortho_VBU_rerr[{i}]"] = error
            if error < tolerance:
                break
            if self.iparams["m"] < U.shape[-1] + V.shape[-1]:
                columns = f"#B-cols(={self.iparams['m']}) >= #U-cols(={U.shape[-1]}) + #V-cols(={V.shape[-1]}) must hold"
                raise ValueError(f"Overdetermined shape of U: {columns}")
        self.ivars["ortho_i"], self.ivars["ortho_j"] = i, j
        return U


def _solve(A: Tensor, B: Tensor | None, X: Tensor | None, options: dict[str, Any]) -> tuple[Tensor, Tensor]:
    """Return eigenvalues and eigenvectors without history, one matrix of a batch after the other."""
    if A.shape[-2] != A.shape[-1]:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    if B is not None and A.shape != B.shape:
        raise AssertionError(f"A and B must have same shape, got {A.shape} vs {B.shape}")
    dtype = A.dtype if A.dtype in (undertow.float16, *_PRECISION) else undertow.float32
    tol = _PRECISION.get(dtype, undertow.finfo(dtype).eps) ** 0.5 if options["tol"] is None else options["tol"]
    m = A.shape[-1]
    k = options["k"] if options["k"] is not None else 1 if X is None else X.shape[-1]
    n = X.shape[-1] if X is not None else k if options["n"] is None else options["n"]
    if m < 3 * n:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the number of requested eigenpairs (={n})"
        )
    method = options["method"] or "ortho"
    iparams = {"m": m, "n": n, "k": k, "niter": 1000 if options["niter"] is None else options["niter"]}
    fparams = {"tol": tol}
    bparams = {"largest": options["largest"] is None or options["largest"]}
    if method == "ortho":
        iparams = {"ortho_i_max": 3, "ortho_j_max": 3, **iparams, **(options["ortho_iparams"] or {})}
        fparams = {"ortho_tol": tol, "ortho_tol_drop": tol, "ortho_tol_replace": tol, **fparams, **(options["ortho_fparams"] or {})}
        bparams = {"ortho_use_drop": False, **bparams, **(options["ortho_bparams"] or {})}

    def one(A: Tensor, B: Tensor | None, X: Tensor | None) -> tuple[Tensor, Tensor]:
        start = undertow.randn(m, n, dtype=dtype, device=A.device) if X is None else X
        if tuple(start.shape) != (m, n):
            raise AssertionError(f"X shape mismatch: got {start.shape}, expected {(m, n)}")
        worker = LOBPCG(A, B, start, options["iK"], iparams, fparams, bparams, method, options["tracker"])
        worker.run()
        return worker.E[:k], worker.X[:, :k]

    batch = A.shape[:-2]
    if not batch:
        return one(A, B, X)
    matrices, others = A.reshape(-1, m, m), None if B is None else B.reshape(-1, m, m)
    starts = None if X is None else X.reshape(-1, *X.shape[-2:])
    E, U = undertow.empty(prod(batch), k, dtype=dtype, device=A.device), undertow.empty(prod(batch), m, k, dtype=dtype, device=A.device)
    for i in range(prod(batch)):
        iparams["batch_index"] = i
        E[i], U[i] = one(matrices[i], None if others is None else others[i], None if starts is None else starts[i])
    return E.reshape(*batch, k), U.reshape(*batch, m, k)


class LOBPCGAutogradFunction(Function):
    """The eigenpairs of A as a node of the graph."""

    @staticmethod
    def forward(ctx: Any, A: Tensor, B: Tensor | None, X: Tensor | None, options: dict[str, Any]) -> tuple[Tensor, Tensor]:
        D, U = _solve(A.contiguous(), None if B is None else B.contiguous(), X, options)
        ctx.save_for_backward(A, B, D, U)
        return D, U

    @staticmethod
    def backward(ctx: Any, grad_D: Tensor, grad_U: Tensor) -> tuple[Any, ...]:
        A, B, D, U = ctx.saved_tensors
        says = "lobpcg.backward does not support {} input yet. Note that lobpcg.forward does though."
        if A.layout is not undertow.strided or B is not None and B.layout is not undertow.strided and ctx.needs_input_grad[1]:
            raise ValueError(says.format("sparse"))
        if A.is_complex() or B is not None and B.is_complex():
            raise ValueError(says.format("complex"))
        if B is not None:
            raise ValueError("lobpcg.backward does not support backward with B != I yet.")
        return _gradient(A, D, U, grad_D, grad_U), None, None, None


def _gradient(A: Tensor, D: Tensor, U: Tensor, grad_D: Tensor, grad_U: Tensor) -> Tensor:
    """The gradient of A from those of some of its eigenpairs.

    With d_i = u_i^T A u_i and du_i = sum_{m != i} u_m (u_m^T dA u_i) / (d_i - d_m), eigenvectors m among U contribute
    U (diag(grad_D) + F * U^T grad_U) U^T with F_mi = 1 / (d_i - d_m). The others contribute x_i u_i^T, where x_i is orthogonal to U and
    solves (d_i - A) x_i = P grad_u_i, with the projection P = I - U U^T: all at once, by a matrix that is the identity on the span of U.
    """
    differences = D.unsqueeze(-2) - D.unsqueeze(-1)
    own = undertow.eye(D.shape[-1], dtype=undertow.bool, device=D.device)
    F = undertow.where(own, 0.0, 1 / undertow.where(own, 1.0, differences))
    Ut = U.mT
    found = U @ (undertow.diag_embed(grad_D) + (Ut @ grad_U) * F) @ Ut
    if U.shape[-1] == U.shape[-2]:
        return found
    span = U @ Ut
    outside = undertow.eye(A.shape[-1], dtype=A.dtype, device=A.device) - span
    rest = A - (U * D.unsqueeze(-2)) @ Ut  # A on the complement of U, zero on U
    systems = D[..., None, None] * outside.unsqueeze(-3) - (rest - span).unsqueeze(-3)
    x = undertow.linalg.solve(systems, (outside @ grad_U).mT.unsqueeze(-1)).squeeze(-1)
    return found + x.mT @ Ut


@overridable
def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Callable[[Any], Any] | None = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the k largest (or smallest) eigenvalues of A x = e B x and their eigenvectors, for symmetric A and positive definite B.

    A and B may be sparse or, if dense, batches. X holds the first guess, by default n random columns; iK is a preconditioner (method "basic").
    At most `niter` steps are made, until the relative residuals are below `tol`. The method "ortho" is robust, "basic" cheaper per step.
    `tracker` is called with the state after each step. Without B the result is differentiable in a dense A, any number of times.

    >>> import undertow as ut
    >>> round(ut.lobpcg(ut.diag(ut.arange(1.0, 7.0)), k=1)[0].item(), 3)
    6.0
    """
    options = {
        "k": k, "n": n, "iK": iK, "niter": niter, "tol": tol, "largest": largest, "method": method, "tracker": tracker,
        "ortho_iparams": ortho_iparams, "ortho_fparams": ortho_fparams, "ortho_bparams": ortho_bparams,
    }  # fmt: skip
    if A.requires_grad or B is not None and B.requires_grad:
        # A gradient of (A + A^T) / 2 is symmetric, so that a step along it keeps A symmetric.
        return LOBPCGAutogradFunction.apply((A + A.mT) / 2, None if B is None else (B + B.mT) / 2, X, options)
    return _solve(A, B, X, options)
