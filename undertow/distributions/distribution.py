"""The base class of all distributions: shapes, argument checks, and methods derived from others."""

from __future__ import annotations

import undertow
from undertow.distributions import constraints
from undertow.distributions.utils import _all_true, _shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Size, Tensor

__all__ = ["Distribution"]


class Distribution:
    """A batch of independent random variables.

    `batch_shape` is the shape of the parameters, `event_shape` that of one sample. Subclasses set `arg_constraints`,
    `support` and `has_rsample`, and define `rsample` or `sample`, `log_prob`, `entropy`, `mean`, `variance`.
    """

    has_rsample: bool = False
    has_enumerate_support: bool = False
    arg_constraints: dict[str, constraints.Constraint] = {}
    if TYPE_CHECKING:
        support: Any
    else:
        support = None  # a Constraint, set by subclasses
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether distributions check arguments by default."""
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args: expected True or False, got {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = undertow.Size(batch_shape), undertow.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()  # a subclass may have a second base

    def _check_parameters(self) -> None:
        for name, constraint in self.arg_constraints.items():
            if constraints.is_dependent(constraint) or (name not in self.__dict__ and type(getattr(type(self), name, None)) is not property):
                continue  # the constraint depends on other parameters, or the value is computed lazily
            value = getattr(self, name)
            if not _all_true(constraint.check(value.detach())):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution {self!r} "
                    f"to satisfy the constraint {constraint!r}, but found invalid values:\n{_shown(value)}"
                )

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample."""
        return self._event_shape

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        return undertow.Size(sample_shape) + self._batch_shape + self._event_shape

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draw samples, without gradients."""
        with undertow.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draw samples that are differentiable with respect to the parameters."""
        raise NotImplementedError(f"{type(self).__name__}.rsample: its samples are not differentiable with respect to its parameters")

    def sample_n(self, n: int) -> Tensor:
        """Draw n samples."""
        return self.sample(undertow.Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density or probability at `value`."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """Return the cumulative distribution function at `value`."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """Return the inverse of `cdf` at `value`."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """Return the entropy of each variable of the batch."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all values of a discrete variable."""
        raise NotImplementedError

    def expand(self, batch_shape: Any, _instance: Any = None) -> Distribution:
        """Return the same distribution for a larger batch."""
        raise NotImplementedError(f"{type(self).__name__}.expand")

    @property
    def mean(self) -> Tensor:
        """The expected value."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most likely value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The expected squared distance from the mean."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def perplexity(self) -> Tensor:
        """Return exp(entropy)."""
        return undertow.exp(self.entropy())

    def _validate_sample(self, value: Any) -> None:
        """Raise if `value` has the wrong shape or is outside the support."""
        if not isinstance(value, undertow.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        event = len(self._event_shape)
        if tuple(value.shape[value.dim() - event :]) != tuple(self._event_shape):
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}."
            )
        expected = self._batch_shape + self._event_shape
        for given, wanted in zip(reversed(value.shape), reversed(expected)):
            if given != 1 and wanted != 1 and given != wanted:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {expected}.")
        if self.support is not None and not _all_true(self.support.check(value.detach())):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support ({self.support!r}) "
                f"of the distribution {self!r}, but found invalid values:\n{_shown(value)}"
            )

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """Return the instance for `expand` of a user-defined class to fill: the given one, or a new one if `__init__` is that of `cls`."""
        if _instance is None and type(self).__init__ != cls.__init__:  # type: ignore[misc]  # only compared
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also define a custom .expand() method."
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    def _like(self, instance: Any, batch_shape: Any, event_shape: Any = (), **parameters: object) -> Any:
        """Create the result of `expand`: an instance of the same class, or the given one, with other parameters, unchecked."""
        new = type(self).__new__(type(self)) if instance is None else instance
        new.__dict__.update(parameters)
        Distribution.__init__(new, batch_shape, event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def __repr__(self) -> str:
        shown = [
            f"{name}: {value if value.numel() == 1 and undertow._C._batched_level(value) < 0 else value.size()}"
            for name in self.arg_constraints
            if isinstance(value := self.__dict__.get(name), undertow.Tensor)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"
