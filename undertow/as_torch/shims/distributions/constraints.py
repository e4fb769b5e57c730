"""The classes of simple constraints, by torch's names."""

import undertow
from undertow.distributions import constraints as _constraints

_Boolean = type(_constraints.boolean)
_CorrCholesky = type(_constraints.corr_cholesky)
_DependentProperty = _constraints.dependent_property
_LowerCholesky = type(_constraints.lower_cholesky)
_LowerTriangular = type(_constraints.lower_triangular)
_OneHot = type(_constraints.one_hot)
_PositiveDefinite = type(_constraints.positive_definite)
_PositiveSemidefinite = type(_constraints.positive_semidefinite)
_Real = type(_constraints.real)
_Simplex = type(_constraints.simplex)
_Square = type(_constraints.square)
_Symmetric = type(_constraints.symmetric)


class _IntegerLessThan(_constraints.Constraint):
    """Integers up to a bound."""

    is_discrete = True

    def __init__(self, upper_bound: float) -> None:
        self.upper_bound = upper_bound

    def check(self, value: undertow.Tensor) -> undertow.Tensor:
        return (value % 1 == 0) & (value <= self.upper_bound)

    def __repr__(self) -> str:
        return f"IntegerLessThan(upper_bound={self.upper_bound})"


__all__ = [
    "_Boolean",
    "_CorrCholesky",
    "_DependentProperty",
    "_IntegerLessThan",
    "_LowerCholesky",
    "_LowerTriangular",
    "_OneHot",
    "_PositiveDefinite",
    "_PositiveSemidefinite",
    "_Real",
    "_Simplex",
    "_Square",
    "_Symmetric",
]
