"""Add to an error raised by a layer: which layer it was, its position in the model, and the shapes of its inputs.

Runs only after a failure: the handler in Module.__call__ costs nothing otherwise.
"""

from __future__ import annotations

from undertow._C import Tensor
from undertow.nn.parameter import is_lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Place:
    """Where an error came from; stored on the error while it propagates through the enclosing modules."""

    def __init__(self, module: Any, message: str, given: str) -> None:
        self.module, self.message, self.given = module, message, given
        self.path = ""
        self.passed = module  # the outermost module so far

    def text(self) -> str:
        """Return the error's message with the layer and its position."""
        name = f"{self.path}: " if self.path else ""
        return f"{self.message}; in {name}{_one_line(repr(self.module))}, {self.given}"


def _one_line(text: str) -> str:
    return text if "\n" not in text else text.split("(", 1)[0]


def _shape(t: Tensor) -> str:
    return "of no shape yet" if is_lazy(t) else f"{tuple(t.shape)}"


def _described(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    given = [_shape(t) for t in args if isinstance(t, Tensor)] + [f"{name}={_shape(t)}" for name, t in kwargs.items() if isinstance(t, Tensor)]
    own = [f"{name} {_shape(p)}" for name, p in module._parameters.items() if p is not None]
    return f"given {' and '.join(given)}" + (f"; its {', '.join(own)}" if own else "")


def _is_ours(module: Any) -> bool:
    return type(module).__module__.startswith(("undertow.nn.", "torch.nn."))  # the second under as_torch


def _raised_here(error: Exception) -> bool:
    """Return True if Undertow's code raised it, and not a user's hook or function."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is None or trace.tb_frame.f_globals.get("__name__", "").startswith("undertow.")


def name_layer(error: Exception, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Add the layer to the error's message, or, if an inner layer has done so, this module's name for it.

    Only the innermost module adds itself, and only if it is one of Undertow's layers with tensor inputs. Errors of user-defined modules and hooks
    are not changed.
    """
    if hasattr(error, "_layer"):
        place = error._layer
        if place is None:
            return
        name = next((n for n, child in module._modules.items() if child is place.passed), None)
        place.passed = module
        if name is not None:
            place.path = f"{name}.{place.path}" if place.path else name
            error.args = (place.text(),)
        return
    error._layer = None  # type: ignore[attr-defined]  # outer modules look for it
    wanted = isinstance(error, (RuntimeError, ValueError, IndexError)) and not isinstance(error, (NotImplementedError, RecursionError))
    has_tensors = any(isinstance(t, Tensor) for t in (*args, *kwargs.values()))
    if not wanted or not has_tensors or not _is_ours(module) or not _raised_here(error) or len(error.args) != 1 or not isinstance(error.args[0], str):
        return
    place = _Place(module, error.args[0], _described(module, args, kwargs))
    error._layer = place  # type: ignore[attr-defined]  # outer modules look for it
    error.args = (place.text(),)
