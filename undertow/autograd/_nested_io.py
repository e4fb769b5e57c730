"""`NestedIOFunction`: functions of nested lists of tensors, for old programs."""

from __future__ import annotations

from undertow import _C
from undertow.autograd.function import Function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from undertow import Tensor


def _unsupported(value: object, accepted: str) -> ValueError:
    return ValueError(
        "Auto nesting doesn't know how to process an input object of type "
        f"{type(value).__name__}. Accepted types: {accepted}, or lists/tuples of them"
    )


def _is_tensor(value: object) -> bool:
    return isinstance(value, _C.Tensor)


def _leaves(value: Any, *, with_none: bool = False) -> Iterator[Any]:
    """Iterate over the tensors of a nested structure, depth first; `with_none` also yields None."""
    if _is_tensor(value) or (value is None and with_none):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _leaves(each, with_none=with_none)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _leaves(each, with_none=with_none)
    elif value is not None:
        raise _unsupported(value, "Tensors or None" if with_none else "Tensors")


def _map(value: Any, function: Callable[[Any], Any]) -> Any:
    """Apply `function` to the tensors of a nested structure."""
    if _is_tensor(value):
        return function(value)
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        mapped = [_map(each, function) for each in value]
        return type(value)(*mapped) if hasattr(value, "_fields") else type(value)(mapped)
    if isinstance(value, dict):
        return {key: _map(each, function) for key, each in value.items()}
    raise _unsupported(value, "Tensors")


def _unflatten(flat: Sequence[Any], like: Any) -> Any:
    """Arrange `flat` in the structure of `like`; None in `like` takes no element."""
    rest = iter(flat)

    def build(proto: Any) -> Any:
        if not isinstance(proto, (list, tuple)):
            return next(rest)
        return type(proto)([None if each is None else build(each) for each in proto])

    return build(like)


class NestedIOFunction(Function):
    """For old programs only: use `Function` instead."""

    if TYPE_CHECKING:
        to_save: tuple[Tensor | None, ...] | None
        dirty_tensors: tuple[Tensor, ...] | None
        non_differentiable: tuple[Tensor, ...] | None

    if TYPE_CHECKING:
        _nested_input: Any
        _nested_output: Any
        _to_save_nested: Any
    retain_variables: bool

    def _do_forward(self, *input: Any) -> Any:
        self._nested_input = input
        flat = self.forward(*_leaves(input))
        return _unflatten(flat, self._nested_output)

    def _do_backward(self, gradients: Sequence[Any], retain_variables: bool) -> Any:
        self.retain_variables = retain_variables
        result = self.backward(*gradients)
        if not retain_variables:
            del self._nested_output
            del self._to_save_nested
        return result

    __call__ = _do_forward

    def backward(self, *gradients: Any) -> Any:  # type: ignore[override]  # of an instance, as old programs have it
        """Call `backward_extended` with gradients in the structure of the outputs."""
        result: Any = self.backward_extended(*_unflatten(gradients, self._nested_output))
        return tuple(_leaves(result, with_none=True))

    def forward(self, *args: Any) -> Any:  # type: ignore[override]  # of an instance, as old programs have it
        """Call `forward_extended` with the nested inputs, without history."""
        result: Any = self.forward_extended(*_map(self._nested_input, lambda t: t.data))
        del self._nested_input
        self._nested_output = result
        return tuple(_leaves(result))

    def save_for_backward(self, *args: Any) -> None:
        """Save a nested structure of tensors."""
        self.to_save = tuple(_leaves(args))
        self._to_save_nested = args

    @property
    def saved_tensors(self) -> Any:
        """The saved tensors, in their original structure."""
        return _unflatten(super().saved_tensors, self._to_save_nested)

    def mark_dirty(self, *args: Any, **kwargs: Any) -> None:
        """Mark inputs, nested or not, that forward modified in place."""
        self.dirty_tensors = tuple(_leaves((args, kwargs)))

    def mark_non_differentiable(self, *args: Any, **kwargs: Any) -> None:
        """Mark outputs, nested or not, that have no derivative."""
        self.non_differentiable = tuple(_leaves((args, kwargs)))

    def forward_extended(self, *input: Any) -> Any:
        """Compute the outputs; implemented by the user."""
        raise NotImplementedError

    def backward_extended(self, *grad_output: Any) -> Any:
        """Compute the gradients; implemented by the user."""
        raise NotImplementedError
