"""Predefined parametrizations: weights with given norms, with spectral norm one, and with orthonormal rows or columns."""

from __future__ import annotations

from enum import Enum, auto

import undertow
from undertow._C import Tensor
from undertow.nn import functional as F
from undertow.nn.modules.module import Module
from undertow.nn.utils import parametrize
from undertow.nn.utils._norms import as_matrix, is_transposed_convolution, norm_except_dim, weight_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _is_orthogonal(Q: Tensor) -> bool:
    eye = undertow.eye(Q.size(-1), dtype=Q.dtype, device=Q.device)
    return bool(undertow.allclose(Q.mH @ Q, eye, atol=10.0 * Q.size(-2) * undertow.finfo(Q.dtype).eps))


def _make_orthogonal(A: Tensor) -> Tensor:
    """Return the orthogonal factor of A's QR decomposition, with signs such that R's diagonal is positive."""
    reflectors, tau = undertow.geqrf(A)
    return undertow.linalg.householder_product(reflectors, tau) * reflectors.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _OrthMaps(Enum):
    """Maps from an unconstrained matrix to an orthogonal one."""

    matrix_exp = auto()
    cayley = auto()
    householder = auto()


class _Orthogonal(Module):
    """Maps any matrix to one with orthonormal columns, or orthonormal rows if it is wide.

    With a `base`, the result of the map is multiplied by the base, which is the initial weight.
    """

    def __init__(self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        """Return the orthogonal matrix."""
        is_wide = X.size(-2) < X.size(-1)
        tall = X.mT if is_wide else X
        Q = self._reflected(tall) if self.orthogonal_map is _OrthMaps.householder else self._rotated(tall)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if is_wide else Q

    def _rotated(self, X: Tensor) -> Tensor:
        """Return the first columns of exp(A) or of (I + A/2) / (I - A/2), where A = L - L^H is skew-symmetric and L is X's lower part."""
        n, k = X.shape[-2:]
        lower = X.tril()
        if n != k:
            lower = undertow.cat((lower, X.new_zeros((*X.shape[:-1], n - k))), -1)
        A = lower - lower.mH
        if self.orthogonal_map is _OrthMaps.matrix_exp:
            Q = undertow.matrix_exp(A)
        else:
            eye = undertow.eye(n, dtype=X.dtype, device=X.device)
            Q = undertow.linalg.solve(eye - A / 2, eye + A / 2)
        return Q if n == k else Q[..., :k]

    @staticmethod
    def _reflected(X: Tensor) -> Tensor:
        """Return the product of the Householder reflections in the columns below the diagonal; the diagonal has signs, without gradient."""
        below = X.tril(diagonal=-1)
        tau = 2.0 / (1.0 + (below * below).sum(-2))
        return undertow.linalg.householder_product(below, tau) * X.detach().diagonal(dim1=-2, dim2=-1).trunc().unsqueeze(-2)

    def right_inverse(self, Q: Tensor) -> Tensor:
        """Return the original for which the result is Q, or the orthogonal factor of Q's QR decomposition."""
        if Q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}.")
        is_wide = Q.size(-2) < Q.size(-1)
        tall = Q.mT if is_wide else Q
        with undertow.no_grad():
            if not hasattr(self, "base"):
                if self.orthogonal_map is not _OrthMaps.householder:
                    raise NotImplementedError(
                        "It is not possible to assign to the matrix exponential or the Cayley parametrizations when use_trivialization=False."
                    )
                X = self._reflectors(tall)
                return X.mT if is_wide else X
            self.base = self._completed(tall)
            # Minus the identity: its diagonal has the signs for which the reflections give the identity's columns.
            start = undertow.zeros_like(Q)
            start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return start

    @staticmethod
    def _reflectors(Q: Tensor) -> Tensor:
        """Return the reflections of a QR decomposition, with the signs of R's diagonal on the diagonal; LAPACK marks a missing reflection
        with tau = 0."""
        X, tau = undertow.geqrf(Q)
        signs = X.diagonal(dim1=-2, dim2=-1)
        signs.copy_(undertow.where(tau == 0, -signs.sign(), signs.sign()))
        return X

    @staticmethod
    def _completed(Q: Tensor) -> Tensor:
        """Extend Q to a square orthogonal matrix."""
        n, k = Q.shape[-2:]
        if n == k:
            return Q.clone() if _is_orthogonal(Q) else _make_orthogonal(Q)
        more = undertow.randn(*Q.shape[:-2], n, n - k, dtype=Q.dtype, device=Q.device)
        return _make_orthogonal(undertow.cat((Q, more), -1))


def _tensor_of(module: Module, name: str) -> Tensor:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


def orthogonal(module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True) -> Module:
    """Parametrize a matrix to be orthogonal, or to have orthonormal rows or columns if it is not square.

    >>> import undertow as ut
    >>> layer = ut.nn.utils.parametrizations.orthogonal(ut.nn.Linear(20, 40))
    >>> Q = layer.weight
    >>> bool(ut.dist(Q.T @ Q, ut.eye(20)) < 1e-4)
    True
    """
    weight = _tensor_of(module, name)
    if weight.dim() < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.size(-2) == weight.size(-1) or weight.is_complex() else "householder"
    chosen = getattr(_OrthMaps, orthogonal_map, None)
    if chosen is None:
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}')
    parametrize.register_parametrization(module, name, _Orthogonal(weight, chosen, use_trivialization=use_trivialization), unsafe=True)
    return module


class _WeightNorm(Module):
    """A weight as the product of a direction and a length."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        """Return the weight."""
        return weight_from(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Return the lengths and directions of a weight."""
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Parametrize a weight by its norms over all dimensions but `dim` (original0) and its directions (original1).

    >>> import undertow as ut
    >>> layer = ut.nn.utils.parametrizations.weight_norm(ut.nn.Linear(20, 40))
    >>> layer.parametrizations.weight.original0.shape
    undertow.Size([40, 1])
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def read_old_names(state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
        old = [f"{prefix}{name}_{part}" for part in "gv"]
        if all(key in state_dict for key in old):
            for k, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{k}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(read_old_names)
    return module


class _SpectralNorm(Module):
    """Divides a weight by an estimate of its largest singular value."""

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.dim()
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.dim, self.eps = dim % ndim, eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight, self.dim)
            for buffer, size in zip(("_u", "_v"), matrix.shape):
                self.register_buffer(buffer, matrix.detach().new_empty(size).normal_(0, 1))
            for buffer in ("_u", "_v"):
                self._buffers[buffer] = F.normalize(self._buffers[buffer], dim=0, eps=eps)
            self._power_method(matrix, 15)

    def _power_method(self, matrix: Tensor, steps: int) -> None:
        with undertow.no_grad():
            for _ in range(steps):
                self._u.copy_(F.normalize(undertow.mv(matrix, self._v), dim=0, eps=self.eps))
                self._v.copy_(F.normalize(undertow.mv(matrix.mH, self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        """Return the weight divided by its norm; in training mode, the estimate is improved first."""
        if weight.dim() == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # Copies, because the next forward pass modifies the vectors that this backward pass reads.
        u, v = self._u.clone(), self._v.clone()
        return weight / undertow.vdot(u, undertow.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """Return the value, which is assumed to be normalised."""
        return value


def spectral_norm(module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None) -> Module:
    """Parametrize a weight to have a largest singular value of one, estimated by power iteration.

    >>> import undertow as ut
    >>> layer = ut.nn.utils.parametrizations.spectral_norm(ut.nn.Linear(20, 40))
    >>> 0.9 < float(ut.linalg.matrix_norm(layer.weight, 2)) < 1.5
    True
    """
    weight = _tensor_of(module, name)
    if dim is None:
        dim = 1 if is_transposed_convolution(module) else 0
    parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    return module
