"""What parameters and values must satisfy: each constraint checks a tensor, elementwise or by its last dimensions."""

from __future__ import annotations

import undertow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from undertow import Tensor


class Constraint:
    """`check(value)` is a tensor of booleans, without the last `event_dim` dimensions."""

    def __init__(self, name: str, check: Callable[[Tensor], Tensor], event_dim: int = 0, is_discrete: bool = False) -> None:
        self._name, self.check = name, check
        self.event_dim, self.is_discrete = event_dim, is_discrete

    def __repr__(self) -> str:
        return self._name


def _positive_definite(value: Tensor) -> Tensor:
    symmetric = undertow.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)
    return symmetric & undertow.linalg.cholesky_ex(value).info.eq(0) if bool(symmetric.all()) else symmetric


real = Constraint("Real()", lambda v: v == v)
positive = Constraint("GreaterThan(lower_bound=0.0)", lambda v: v > 0)
nonnegative = Constraint("GreaterThanEq(lower_bound=0.0)", lambda v: v >= 0)
unit_interval = Constraint("Interval(lower_bound=0.0, upper_bound=1.0)", lambda v: (v >= 0) & (v <= 1))
boolean = Constraint("Boolean()", lambda v: (v == 0) | (v == 1), is_discrete=True)
nonnegative_integer = Constraint("IntegerGreaterThan(lower_bound=0)", lambda v: (v % 1 == 0) & (v >= 0), is_discrete=True)
simplex = Constraint("Simplex()", lambda v: (v >= 0).all(-1) & ((v.sum(-1) - 1).abs() < 1e-6), 1)
one_hot = Constraint("OneHot()", lambda v: ((v == 0) | (v == 1)).all(-1) & v.sum(-1).eq(1), 1, is_discrete=True)
real_vector = Constraint("IndependentConstraint(Real(), 1)", lambda v: (v == v).all(-1), 1)
positive_vector = Constraint("IndependentConstraint(GreaterThan(lower_bound=0.0), 1)", lambda v: (v > 0).all(-1), 1)
lower_cholesky = Constraint("LowerCholesky()", lambda v: (v.tril() == v).all(-1).all(-1) & (v.diagonal(dim1=-2, dim2=-1) > 0).all(-1), 2)
positive_definite = Constraint("PositiveDefinite()", _positive_definite, 2)


def interval(lower: object, upper: object) -> Constraint:
    """Between two bounds, which may be tensors."""
    return Constraint(f"Interval(lower_bound={lower}, upper_bound={upper})", lambda v: (v >= lower) & (v <= upper))


def integer_interval(lower: object, upper: object) -> Constraint:
    """Whole numbers between two bounds."""
    return Constraint(
        f"IntegerInterval(lower_bound={lower}, upper_bound={upper})", lambda v: (v % 1 == 0) & (v >= lower) & (v <= upper), is_discrete=True
    )
