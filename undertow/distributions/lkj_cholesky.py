"""The LKJ distribution of correlation matrices, represented by their Cholesky factors."""

from __future__ import annotations

import math

import undertow
from undertow.distributions import constraints
from undertow.distributions.beta import Beta
from undertow.distributions.distribution import Distribution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["LKJCholesky"]

class LKJCholesky(Distribution):
    """Cholesky factors L of correlation matrices with density proportional to det(L L^T)^(concentration - 1); uniform for 1.

    >>> LKJCholesky(3, 0.5).event_shape
    undertow.Size([3, 3])
    """

    dim: int
    if TYPE_CHECKING:
        concentration: Tensor
    arg_constraints: dict[str, constraints.Constraint] = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim, self.concentration = dim, undertow.as_tensor(concentration)
        if not self.concentration.is_floating_point():
            self.concentration = self.concentration.to(undertow.get_default_dtype())
        # The squared length of each row left of the diagonal is a beta variable (the onion method).
        offset = (undertow.arange(dim, dtype=self.concentration.dtype, device=self.concentration.device) - 1).clamp(min=0)
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.size(), undertow.Size((dim, dim)), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        beta = self._beta.expand((*batch_shape, self.dim))
        return self._like(_instance, batch_shape, self._event_shape, dim=self.dim, concentration=self.concentration.expand(batch_shape), _beta=beta)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        y = self._beta.sample(sample_shape).unsqueeze(-1)
        normal = undertow.randn(self._extended_shape(sample_shape), dtype=y.dtype, device=y.device).tril(-1)
        direction = normal / normal.norm(dim=-1, keepdim=True)
        direction[..., 0, :].fill_(0.0)
        w = undertow.sqrt(y) * direction
        diagonal = (1 - (w**2).sum(dim=-1)).clamp(min=undertow.finfo(w.dtype).tiny).sqrt()
        return w + undertow.diag_embed(diagonal)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = undertow.arange(2, self.dim + 1, dtype=self.concentration.dtype, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        plain = (order * diagonal.log()).sum(dim=-1)
        m = self.dim - 1
        alpha = self.concentration + 0.5 * m
        whole = 0.5 * m * math.log(math.pi) + undertow.mvlgamma(alpha - 0.5, m) - undertow.lgamma(alpha) * m
        return plain - whole
