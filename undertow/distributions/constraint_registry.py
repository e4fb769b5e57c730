"""`biject_to` and `transform_to`: transforms from the real numbers to the values that a constraint allows."""

from __future__ import annotations

import numbers

from undertow.distributions import constraints, transforms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

class ConstraintRegistry:
    """Maps the class of a constraint to a function that creates the transform."""

    def __init__(self) -> None:
        self._registry: dict[type, Any] = {}

    def register(self, constraint: Any, factory: Any = None) -> Any:
        """Register the function that creates the transform for a class of constraints; without `factory`, a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints") from None
        return factory(constraint)


biject_to: ConstraintRegistry = ConstraintRegistry()
transform_to: ConstraintRegistry = ConstraintRegistry()


def _to_both(*kinds: Any) -> Any:
    def register(factory: Any) -> Any:
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return register


@_to_both(constraints.real)
def _real(constraint: Any) -> Any:
    return transforms.identity_transform


@biject_to.register(constraints.independent)
def _biject_independent(constraint: Any) -> Any:
    return transforms.IndependentTransform(biject_to(constraint.base_constraint), constraint.reinterpreted_batch_ndims)


@transform_to.register(constraints.independent)
def _transform_independent(constraint: Any) -> Any:
    return transforms.IndependentTransform(transform_to(constraint.base_constraint), constraint.reinterpreted_batch_ndims)


@_to_both(constraints.positive, constraints.nonnegative)
def _positive(constraint: Any) -> Any:
    if isinstance(constraint.lower_bound, numbers.Number) and constraint.lower_bound == 0:
        return transforms.ExpTransform()
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)])


@_to_both(constraints.less_than)
def _less_than(constraint: Any) -> Any:
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)])


@_to_both(constraints.interval, constraints.half_open_interval)
def _interval(constraint: Any) -> Any:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, numbers.Number) and isinstance(high, numbers.Number) and low == 0 and high == 1:
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


@biject_to.register(constraints.simplex)
def _biject_simplex(constraint: Any) -> Any:
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _transform_simplex(constraint: Any) -> Any:
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _lower_cholesky(constraint: Any) -> Any:
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)
@transform_to.register(constraints.positive_semidefinite)
def _positive_definite(constraint: Any) -> Any:
    return transforms.PositiveDefiniteTransform()


@_to_both(constraints.corr_cholesky)
def _corr_cholesky(constraint: Any) -> Any:
    return transforms.CorrCholeskyTransform()


@biject_to.register(constraints.cat)
def _biject_cat(constraint: Any) -> Any:
    return transforms.CatTransform([biject_to(c) for c in constraint.cseq], constraint.dim, constraint.lengths)


@transform_to.register(constraints.cat)
def _transform_cat(constraint: Any) -> Any:
    return transforms.CatTransform([transform_to(c) for c in constraint.cseq], constraint.dim, constraint.lengths)


@biject_to.register(constraints.stack)
def _biject_stack(constraint: Any) -> Any:
    return transforms.StackTransform([biject_to(c) for c in constraint.cseq], constraint.dim)


@transform_to.register(constraints.stack)
def _transform_stack(constraint: Any) -> Any:
    return transforms.StackTransform([transform_to(c) for c in constraint.cseq], constraint.dim)
