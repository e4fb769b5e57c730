"""Constraints of parameters and values: each checks a tensor, elementwise or over its last dimensions."""

from __future__ import annotations

import undertow
from undertow.distributions.utils import _all_true

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from undertow import Tensor

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property", "greater_than",
    "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval", "is_dependent", "less_than", "lower_cholesky",
    "lower_triangular", "multinomial", "nonnegative", "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer",
    "positive_semidefinite", "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip


class Constraint:
    """A constraint. `check(value)` returns a boolean tensor without the last `event_dim` dimensions."""

    is_discrete: bool = False
    event_dim: int = 0

    def check(self, value: Tensor) -> Tensor:
        """Return whether each event of the value satisfies the constraint."""
        raise NotImplementedError

    def __repr__(self) -> str:
        inside = ", ".join(f"{k}={v}" for k, v in vars(self).items() if k.endswith("_bound"))
        return f"{type(self).__name__.lstrip('_')}({inside})"


class _Dependent(Constraint):
    """Placeholder on a class for a support that depends on the parameters of an instance."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]  # raises if it depends on the parameters
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]  # as above
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")


class dependent_property(property, _Dependent):
    """A property that is a constraint on instances, and a placeholder on the class."""

    def __init__(self, fn: Any = None, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        super().__init__(fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn: Any) -> Any:  # type: ignore[override]  # as a decorator
        return dependent_property(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def is_dependent(constraint: Any) -> bool:
    """Return True if the constraint is a placeholder."""
    return isinstance(constraint, _Dependent)


class _IndependentConstraint(Constraint):
    """Requires a constraint for all elements of the last dimensions."""

    base_constraint: Constraint
    is_discrete: bool
    event_dim: int
    reinterpreted_batch_ndims: int

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims
        self.is_discrete, self.event_dim = base_constraint.is_discrete, base_constraint.event_dim + reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            expected = self.base_constraint.event_dim + self.reinterpreted_batch_ndims
            raise ValueError(f"Expected value.dim() >= {expected} but got {value.dim()}")
        return result.reshape(result.shape[: result.dim() - self.reinterpreted_batch_ndims] + (-1,)).all(-1)

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


def _simple(name: str, check: Callable[[Tensor], Tensor], event: int = 0, discrete: bool = False, base: Any = Constraint) -> type[Constraint]:
    """Create the class of a constraint without parameters."""
    body = {"check": lambda self, value: check(value), "event_dim": event, "is_discrete": discrete, "__module__": __name__}
    return type(name, (base,), body)


class _Bounded(Constraint):
    """A constraint with bounds, which may be tensors."""

    def __init__(self, lower_bound: Any = None, upper_bound: Any = None) -> None:
        if lower_bound is not None:
            self.lower_bound = lower_bound
        if upper_bound is not None:
            self.upper_bound = upper_bound


class _GreaterThan(_Bounded):
    def __init__(self, lower_bound: Any) -> None:
        super().__init__(lower_bound)

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound < value


class _GreaterThanEq(_GreaterThan):
    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound <= value


class _LessThan(_Bounded):
    def __init__(self, upper_bound: Any) -> None:
        super().__init__(None, upper_bound)

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class _Interval(_Bounded):
    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        super().__init__(lower_bound, upper_bound)

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Interval):
    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _IntegerInterval(_Interval):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerGreaterThan(_GreaterThan):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Multinomial(Constraint):
    """Non-negative counts that sum to the bound."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & (value.sum(dim=-1) <= self.upper_bound)


def _corr_cholesky(value: Tensor) -> Tensor:
    tolerance = undertow.finfo(value.dtype).eps * value.size(-1) * 10
    return lower_cholesky.check(value) & ((value.norm(dim=-1) - 1).abs() < tolerance).all(-1)


def _symmetric(value: Tensor) -> Tensor:
    square_ = value.new_full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=undertow.bool)
    return undertow.isclose(value, value.mT, atol=1e-6).all(-2).all(-1) if _all_true(square_) else square_


def _positive_definite(value: Tensor) -> Tensor:
    symmetric_ = _symmetric(value)
    return symmetric_ & undertow.linalg.cholesky_ex(value).info.eq(0) if _all_true(symmetric_) else symmetric_


def _positive_semidefinite(value: Tensor) -> Tensor:
    symmetric_ = _symmetric(value)
    return symmetric_ & undertow.linalg.eigvalsh(value).ge(0).all(-1) if _all_true(symmetric_) else symmetric_


def _whole(value: Tensor) -> Tensor:
    return value.new_full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=undertow.bool)


class _Cat(Constraint):
    """Constraints of consecutive parts along a dimension."""

    cseq: list[Constraint]
    dim: int
    is_discrete: bool
    event_dim: int
    lengths: list[int]

    def __init__(self, cseq: Iterable[Constraint], dim: int = 0, lengths: Iterable[int] | None = None) -> None:
        self.cseq, self.dim = list(cseq), dim
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        self.is_discrete, self.event_dim = any(c.is_discrete for c in self.cseq), max(c.event_dim for c in self.cseq)

    def check(self, value: Tensor) -> Tensor:
        at, checks = 0, []
        for constraint, length in zip(self.cseq, self.lengths, strict=True):
            checks.append(constraint.check(value.narrow(self.dim, at, length)))
            at += length
        return undertow.cat(checks, self.dim)


class _Stack(Constraint):
    """Constraints of the slices along a dimension."""

    cseq: list[Constraint]
    dim: int
    is_discrete: bool
    event_dim: int

    def __init__(self, cseq: Iterable[Constraint], dim: int = 0) -> None:
        self.cseq, self.dim = list(cseq), dim
        self.is_discrete = any(c.is_discrete for c in self.cseq)
        self.event_dim = max(c.event_dim for c in self.cseq) + (1 if dim + max(c.event_dim for c in self.cseq) < 0 else 0)

    def check(self, value: Tensor) -> Tensor:
        return undertow.stack([c.check(value.select(self.dim, i)) for i, c in enumerate(self.cseq)], self.dim)


class MixtureSameFamilyConstraint(Constraint):
    """The constraint of a mixture's components, applied to a value without the component dimension."""

    base_constraint: Constraint
    is_discrete: bool
    event_dim: int

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint, self.is_discrete, self.event_dim = base_constraint, base_constraint.is_discrete, base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        lead = value.dim() - self.event_dim
        return result.reshape(value.shape[:lead] + (-1,)).all(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


dependent: _Dependent = _Dependent()
independent = _IndependentConstraint
boolean: Constraint = _simple("_Boolean", lambda v: (v == 0) | (v == 1), discrete=True)()
one_hot: Constraint = _simple("_OneHot", lambda v: ((v == 0) | (v == 1)).all(-1) & v.sum(-1).eq(1), 1, True)()
nonnegative_integer: _IntegerGreaterThan = _IntegerGreaterThan(0)
positive_integer: _IntegerGreaterThan = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real: Constraint = _simple("_Real", lambda v: v == v)()
real_vector: _IndependentConstraint = independent(real, 1)
positive: _GreaterThan = _GreaterThan(0.0)
positive_vector: _IndependentConstraint = independent(positive, 1)
nonnegative: _GreaterThanEq = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval: _Interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex: Constraint = _simple("_Simplex", lambda v: (v >= 0).all(-1) & ((v.sum(-1) - 1).abs() < 1e-6), 1)()
lower_triangular: Constraint = _simple("_LowerTriangular", lambda v: (v.tril() == v).all(-1).all(-1), 2)()
lower_cholesky: Constraint = _simple("_LowerCholesky", lambda v: (v.tril() == v).all(-1).all(-1) & (v.diagonal(dim1=-2, dim2=-1) > 0).all(-1), 2)()
corr_cholesky: Constraint = _simple("_CorrCholesky", _corr_cholesky, 2)()
square: Constraint = _simple("_Square", _whole, 2)()
symmetric: Constraint = _simple("_Symmetric", _symmetric, 2, base=type(square))()
positive_semidefinite: Constraint = _simple("_PositiveSemidefinite", _positive_semidefinite, 2, base=type(symmetric))()
positive_definite: Constraint = _simple("_PositiveDefinite", _positive_definite, 2, base=type(symmetric))()
cat = _Cat
stack = _Stack
