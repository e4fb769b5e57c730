"""Linear algebra of the array API: Undertow's functions with the standard's names and arguments."""

from __future__ import annotations

from typing import NamedTuple

import undertow
from undertow._C import Tensor
from undertow.array_api._dtypes import promoted
from undertow.linalg import det, eigh, eigvalsh, inv, matrix_power, slogdet, svdvals  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

__all__ = [
    *("cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power", "matrix_rank"),
    *("matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm"),
]


class _QR(NamedTuple):
    Q: Tensor
    R: Tensor


class _SVD(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the matrix product."""
    return undertow.matmul(*promoted(x1, x2))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """Swap the last two dimensions."""
    if x.dim() < 2:
        raise ValueError(f"matrix_transpose: expected at least 2 dimensions, got {x.dim()}")
    return x.mT


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: Any = 2) -> Tensor:
    """Contract two arrays over some dimensions."""
    a, b = promoted(x1, x2)
    return undertow.tensordot(a, b, dims=axes)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the dot product of vectors along a dimension; the first is conjugated."""
    a, b = undertow.broadcast_tensors(*promoted(x1, x2))
    return (a.conj() * b).sum(axis, dtype=a.dtype)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the outer product of two vectors."""
    return undertow.outer(*promoted(x1, x2))


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the cross product."""
    return undertow.linalg.cross(*promoted(x1, x2), dim=axis)


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Solve a system of linear equations."""
    a, b = promoted(x1, x2)
    return undertow.linalg.solve(a, b.unsqueeze(-1)).squeeze(-1) if b.dim() == 1 else undertow.linalg.solve(a, b)


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """Return the Cholesky factor of a positive definite matrix."""
    return undertow.linalg.cholesky(x, upper=upper)


def qr(x: Tensor, /, *, mode: Literal["reduced", "complete"] = "reduced") -> _QR:
    """Return the QR factorization."""
    return _QR(*undertow.linalg.qr(x, mode))


def svd(x: Tensor, /, *, full_matrices: bool = True) -> _SVD:
    """Return the singular value decomposition."""
    return _SVD(*undertow.linalg.svd(x, full_matrices))


def pinv(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """Return the pseudoinverse."""
    return undertow.linalg.pinv(x) if rtol is None else undertow.linalg.pinv(x, rtol=rtol)


def matrix_rank(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """Return the number of singular values above the tolerance."""
    return undertow.linalg.matrix_rank(x) if rtol is None else undertow.linalg.matrix_rank(x, rtol=rtol)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """Return the norm of matrices."""
    return undertow.linalg.matrix_norm(x, ord, keepdim=keepdims)


def vector_norm(x: Tensor, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    """Return the norm of vectors."""
    return undertow.linalg.vector_norm(x, ord, axis, keepdim=keepdims)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """Return the diagonal of matrices."""
    return undertow.diagonal(x, offset, -2, -1)


def trace(x: Tensor, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """Return the sum of the diagonal."""
    return undertow.sum(diagonal(x, offset=offset), -1, dtype=dtype)
