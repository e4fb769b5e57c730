"""Adds to an error that a layer raised which layer it was, where in the model it stands, and what shapes it was given.

Runs only when something has failed: Module.__call__ has a handler, which costs nothing until then.
"""

from __future__ import annotations

from undertow._C import Tensor
from undertow.nn.parameter import is_lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Place:
    """Where an error came from: kept on the error while it passes through the modules around."""

    def __init__(self, module: Any, message: str, given: str) -> None:
        self.module, self.message, self.given = module, message, given
        self.path = ""
        self.passed = module  # the outermost module so far

    def text(self) -> str:
        """The error's message with the place."""
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
    return type(module).__module__.startswith("undertow.nn.")


def _raised_here(error: Exception) -> bool:
    """Whether our code raised it, and not a hook or a function that a user gave the layer."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is None or trace.tb_frame.f_globals.get("__name__", "").startswith("undertow.")


def name_layer(error: Exception, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Writes the layer into the error's message, or, where a layer inside has done so, this module's name for it.

    The innermost module decides: a layer of ours that was given tensors is named. What a user's module or hook raises stays as it is.
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
    error._layer = None
    wanted = isinstance(error, (RuntimeError, ValueError, IndexError)) and not isinstance(error, (NotImplementedError, RecursionError))
    has_tensors = any(isinstance(t, Tensor) for t in (*args, *kwargs.values()))
    if not wanted or not has_tensors or not _is_ours(module) or not _raised_here(error) or len(error.args) != 1 or not isinstance(error.args[0], str):
        return
    place = error._layer = _Place(module, error.args[0], _described(module, args, kwargs))
    error.args = (place.text(),)
