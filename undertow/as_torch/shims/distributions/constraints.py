"""The classes of simple constraints, by torch's names."""

from undertow.distributions import constraints as _constraints

_Boolean = type(_constraints.boolean)
_LowerCholesky = type(_constraints.lower_cholesky)
_LowerTriangular = type(_constraints.lower_triangular)
_PositiveDefinite = type(_constraints.positive_definite)
_Real = type(_constraints.real)
_Simplex = type(_constraints.simplex)

__all__ = ["_Boolean", "_LowerCholesky", "_LowerTriangular", "_PositiveDefinite", "_Real", "_Simplex"]
