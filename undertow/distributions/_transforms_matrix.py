"""Transforms of vectors and matrices: to the simplex, and to triangular, positive definite and correlation matrices."""

from __future__ import annotations

import math

import undertow
from undertow.distributions import constraints
from undertow.distributions.transforms import Transform
from undertow.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor


class SoftmaxTransform(Transform):
    """The softmax: exp(x) divided by its sum. The inverse is one of many."""

    domain: constraints.Constraint = constraints.real_vector
    codomain: constraints.Constraint = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        probs = (x - x.max(-1, True)[0]).exp()
        return probs / probs.sum(-1, True)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def _longer(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape

    def forward_shape(self, shape: Any) -> Any:
        return self._longer(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._longer(shape)


class StickBreakingTransform(Transform):
    """Maps K numbers to a point of the simplex with K + 1 parts, by stick breaking: each part takes a fraction of the rest."""

    domain: constraints.Constraint = constraints.real_vector
    codomain: constraints.Constraint = constraints.simplex
    bijective = True

    @staticmethod
    def _offset(x: Tensor) -> Tensor:
        k = x.shape[-1]
        return k + 1 - x.new_ones(k).cumsum(-1)

    def _call(self, x: Tensor) -> Tensor:
        z = undertow.sigmoid(x - self._offset(x).log())
        pad = undertow.nn.functional.pad
        finfo = undertow.finfo(z.dtype)
        z = z.clamp(min=finfo.tiny, max=1.0 - finfo.eps)
        return pad(z, [0, 1], value=1) * pad((1 - z).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        crop = y[..., :-1]
        rest = (1 - crop.cumsum(-1)).clamp(min=undertow.finfo(y.dtype).tiny)
        return crop.log() - rest.log() + self._offset(crop).log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._offset(x).log()
        return (-x + undertow.nn.functional.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return (*shape[:-1], shape[-1] - 1)


class LowerCholeskyTransform(Transform):
    """Maps a matrix to a lower triangular matrix with a positive diagonal, using exp."""

    domain: constraints.Constraint = constraints.independent(constraints.real, 2)
    codomain: constraints.Constraint = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Maps a matrix to a positive definite matrix: L L^T, where L is its `LowerCholeskyTransform`."""

    domain: constraints.Constraint = constraints.independent(constraints.real, 2)
    codomain: constraints.Constraint = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        lower = LowerCholeskyTransform()(x)
        return lower @ lower.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform()._inverse(undertow.linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    """Maps D (D - 1) / 2 numbers to the Cholesky factor of a D x D correlation matrix.

    Each row is a point on the unit sphere: an entry is tanh(x) times the length that the previous entries leave.
    """

    domain: constraints.Constraint = constraints.real_vector
    codomain: constraints.Constraint = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        x = undertow.tanh(x)
        eps = undertow.finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r**2).sqrt().cumprod(-1)
        r = r + undertow.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return r * undertow.nn.functional.pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = undertow.nn.functional.pad((1 - undertow.cumsum(y * y, dim=-1))[..., :-1], [1, 0], value=1)
        t = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (t.log1p() - t.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        left = tril_matrix_to_vec(1 - (y * y).cumsum(dim=-1), diag=-2)
        soft = undertow.nn.functional.softplus
        return 0.5 * left.log().sum(-1) - 2 * (x + soft(-2 * x) - math.log(2.0)).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        n = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return (*shape[:-1], n, n)

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)
