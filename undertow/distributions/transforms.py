"""Invertible transforms of random variables, with the log-Jacobian that densities need."""

from __future__ import annotations

import copy
import math

import undertow
from undertow.distributions import constraints
from undertow.distributions.utils import sum_last

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow import Tensor

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]


class Transform:
    """An invertible transform y = f(x): a call computes y, `inv` is the inverse. With cache_size=1 the last pair is cached.

    `domain` and `codomain` are the constraints of x and y; their `event_dim` is the number of dimensions of one event.
    """

    if TYPE_CHECKING:  # some subclasses compute them

        @property
        def bijective(self) -> bool: ...
        @property
        def domain(self) -> constraints.Constraint: ...
        @property
        def codomain(self) -> constraints.Constraint: ...
    else:
        bijective = False
        domain = codomain = constraints.real

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._cached_x_y: tuple[Any, Any] = (None, None)
        self._inv: Any = None  # the inverse, once it has been asked for; each keeps the other, so `t.inv.inv is t`
        super().__init__()  # a learnable transform has a second base, nn.Module

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> int:
        """The number of event dimensions, if x and y have the same."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def sign(self) -> Any:
        """1 if the function is increasing, -1 if it is decreasing."""
        raise NotImplementedError

    def __call__(self, x: Tensor) -> Tensor:
        """Return f(x)."""
        if self._cache_size and x is self._cached_x_y[0]:
            return self._cached_x_y[1]
        y = self._call(x)
        if self._cache_size:
            self._cached_x_y = (x, y)
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size and y is self._cached_x_y[1]:
            return self._cached_x_y[0]
        x = self._inverse(y)
        if self._cache_size:
            self._cached_x_y = (x, y)
        return x

    @property
    def inv(self) -> Transform:
        """The inverse, as a transform; the same object each time."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Transform:
        """Return the same transform with a cache of this size."""
        if self._cache_size == cache_size:
            return self
        new = copy.copy(self)
        Transform.__init__(new, cache_size)
        return new

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return log |dy/dx|."""
        raise NotImplementedError

    def forward_shape(self, shape: Any) -> Any:
        """Return the shape of y for an x of this shape."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """Return the shape of x for a y of this shape."""
        return shape

    def _parameters(self) -> tuple[Any, ...]:
        """Return the parameters, which must be equal for two transforms of a class to be equal."""
        return ()

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented if not isinstance(other, Transform) else False
        pairs = zip(self._parameters(), other._parameters(), strict=True)
        return all(bool((a == b).all()) if isinstance(a == b, undertow.Tensor) else a == b for a, b in pairs)

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    """The inverse of a transform."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(transform._cache_size)
        self._inv = transform

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()

    @property
    def domain(self) -> constraints.Constraint:
        return self._inv.codomain

    @property
    def codomain(self) -> constraints.Constraint:
        return self._inv.domain

    @property
    def bijective(self) -> bool:
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        return self._inv.sign

    @property
    def inv(self) -> Transform:
        self._inv._inv = self  # a copied or unpickled transform does not know its inverse
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._inv.with_cache(cache_size).inv

    def _parameters(self) -> tuple[Any, ...]:
        return (self._inv,)

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def _inv_call(self, y: Tensor) -> Tensor:
        return self._inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"


def _grown(constraint: Any, event_dim: int) -> Any:
    """Return the constraint with `event_dim` event dimensions."""
    return constraints.independent(constraint, event_dim - constraint.event_dim) if event_dim > constraint.event_dim else constraint


class ComposeTransform(Transform):
    """A composition of transforms, applied in order."""

    parts: list[Transform]

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else list(parts)

    @property
    def domain(self) -> Any:
        if not self.parts:
            return constraints.real
        event = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            event = max(event + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return _grown(self.parts[0].domain, event)

    @property
    def codomain(self) -> Any:
        if not self.parts:
            return constraints.real
        event = self.parts[0].domain.event_dim
        for part in self.parts:
            event = max(event + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return _grown(self.parts[-1].codomain, event)

    @property
    def bijective(self) -> bool:
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> Any:
        return math.prod(part.sign for part in self.parts)

    @property
    def inv(self) -> Transform:
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size=cache_size)

    def _parameters(self) -> tuple[Any, ...]:
        return (self.parts,)

    def _call(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y: Tensor) -> Tensor:
        for part in reversed(self.parts):
            y = part._inv_call(y)
        return y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return undertow.zeros_like(x)
        total: Any = 0
        event = self.domain.event_dim
        for i, part in enumerate(self.parts):
            after = y if i == len(self.parts) - 1 else part(x)
            total = total + sum_last(part.log_abs_det_jacobian(x, after), event - part.domain.event_dim)
            event += part.codomain.event_dim - part.domain.event_dim
            x = after
        return total

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}(\n    " + ",\n    ".join(repr(part) for part in self.parts) + "\n)"


identity_transform: ComposeTransform = ComposeTransform([])


from undertow.distributions._transforms_elementwise import (  # noqa: E402  (they are made of Transform)
    AbsTransform,
    AffineTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
)
from undertow.distributions._transforms_matrix import (  # noqa: E402
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SoftmaxTransform,
    StickBreakingTransform,
)
from undertow.distributions._transforms_shape import CatTransform, IndependentTransform, ReshapeTransform, StackTransform  # noqa: E402
