"""Singular values and principal components of low-rank matrices by random projection: `svd_lowrank`, `pca_lowrank`."""

from __future__ import annotations

import undertow
from undertow._C import Tensor
from undertow._override import overridable

__all__ = ["pca_lowrank", "svd_lowrank"]


def _range(A: Tensor, q: int, niter: int, M: Tensor | None) -> Tensor:
    """Return an orthonormal basis of q columns that approximates the range of A - M, by power iteration from random columns."""

    def times(X: Tensor) -> Tensor:
        return A @ X if M is None else A @ X - M @ X

    def transposed_times(X: Tensor) -> Tensor:
        return A.mH @ X if M is None else A.mH @ X - M.mH @ X

    start = undertow.randn(A.shape[-1], q, dtype=A.dtype, device=A.device)
    Q = undertow.linalg.qr(times(start)).Q
    for _ in range(niter):
        Q = undertow.linalg.qr(transposed_times(Q)).Q
        Q = undertow.linalg.qr(times(Q)).Q
    return Q


@overridable
def svd_lowrank(A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Return U, S, V such that U diag(S) V^H has rank q and approximates A - M; exact up to rounding if A - M has rank at most q.

    >>> import undertow as ut
    >>> A = ut.ones(5, 1) @ ut.ones(1, 4)
    >>> U, S, V = ut.svd_lowrank(A, q=2)
    >>> ut.allclose(U @ ut.diag(S) @ V.T, A, atol=1e-5)
    True
    """
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    m, n = A.shape[-2:]
    if M is not None:
        M = M.broadcast_to(A.shape)
    wide = m < n
    if wide:
        A, M = A.mH, None if M is None else M.mH
    Q = _range(A, q, niter, M)
    B = Q.mH @ A if M is None else Q.mH @ A - Q.mH @ M
    U, S, Vh = undertow.linalg.svd(B, full_matrices=False)
    U, V = Q @ U, Vh.mH
    return (V, S, U) if wide else (U, S, V)


@overridable
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Return U, S, V of the rows of A, centered first if `center`; the columns of V are the principal directions."""
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if not niter >= 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if not (A.is_floating_point() or A.is_complex()):
        raise ValueError(f"input expected to be floating point tensor, but got {A.dtype}")
    if center and A.layout is not undertow.strided:
        return svd_lowrank(A, q, niter=niter, M=A.sum(0).to_dense()[None] / m)  # A - M would be dense
    return svd_lowrank(A - A.mean(dim=-2, keepdim=True) if center else A, q, niter=niter)
