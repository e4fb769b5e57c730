"""`jit`: decorators that return the function unchanged, so that scripts run. Functions that need a compiled program raise."""

from __future__ import annotations

import contextlib
import typing
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NoReturn

__all__ = [
    "Attribute",
    "Error",
    "Final",
    "ScriptFunction",
    "ScriptModule",  # noqa: F822  (made on first use)
    "ScriptWarning",
    "TracerWarning",
    "annotate",
    "export",
    "freeze",
    "fork",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "optimize_for_inference",
    "optimized_execution",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

Final = typing.Final
_builtin_isinstance = isinstance


class Error(RuntimeError):
    """The exception of scripted programs in torch; never raised by Undertow."""


class TracerWarning(Warning):
    """The warning of torch's tracer, for use in filters; never issued by Undertow."""


class ScriptWarning(Warning):
    """The warning of torch's script compiler, for use in filters; never issued by Undertow."""


class ScriptFunction:
    """The type of scripted functions in torch; it has no instances."""


class Attribute:
    """A value with its type annotation."""

    value: Any
    type: Any

    def __init__(self, value: Any, type: Any) -> None:
        self.value, self.type = value, type


def __getattr__(name: str) -> Any:
    if name not in ("RecursiveScriptModule", "ScriptModule", "TopLevelTracedModule", "TracedModule"):
        raise AttributeError(f"module 'undertow.as_torch.shims.jit' has no attribute {name!r}")
    from undertow.nn import Module

    class ScriptModule(Module):
        """A module that runs eagerly; the results of `script` are not instances."""

    ScriptModule.__module__, ScriptModule.__qualname__ = "torch.jit", "ScriptModule"
    globals().update(dict.fromkeys(("RecursiveScriptModule", "ScriptModule", "TopLevelTracedModule", "TracedModule"), ScriptModule))
    return ScriptModule


_said: set[str] = set()


def _say_once(name: str) -> None:
    """Warn once for each of script and trace that nothing is compiled."""
    if name in _said:
        return
    _said.add(name)
    warnings.warn(f"jit.{name} returns its argument unchanged: Undertow runs it eagerly, and it cannot be saved as TorchScript", stacklevel=3)


def script(obj: Any = None, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> Any:
    """Return `obj` unchanged, which runs eagerly; warn once."""
    _say_once("script")
    return obj


def trace(func: Any, example_inputs: Any = None, *args: Any, **options: Any) -> Any:
    """Return `func` unchanged, which runs eagerly; warn once."""
    _say_once("trace")
    return func


def trace_module(mod: Any, inputs: Any, *args: Any, **options: Any) -> Any:
    """Return `mod` unchanged; see `trace`."""
    _say_once("trace")
    return mod


def _itself(fn: Any = None, *args: Any, **options: Any) -> Any:
    """Return the argument; also works as a decorator with arguments."""
    return fn if callable(fn) else lambda f: f


ignore = _itself
unused = _itself
export = _itself
interface = _itself
_overload = _itself
_overload_method = _itself
script_if_tracing = _itself
_script_if_tracing = _itself
script_method = _itself


def freeze(mod: Any, *args: Any, **options: Any) -> Any:
    """Return `mod` unchanged."""
    return mod


optimize_for_inference = freeze


def annotate(the_type: Any, the_value: Any) -> Any:
    """Return `the_value`."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Python's `isinstance`; it does not check the elements of containers."""
    return _builtin_isinstance(obj, target_type)


def is_scripting() -> bool:
    """Return False: nothing is scripted."""
    return False


is_tracing = is_scripting


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Context manager without effect."""
    yield


class strict_fusion:
    """Context manager without effect."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None: ...


def fork(func: Any, *args: Any, **kwargs: Any) -> Any:
    """Call the function immediately and return its result, for `wait`."""
    return func(*args, **kwargs)


def wait(future: Any) -> Any:
    """Return the result of `fork`."""
    return future


def _unsupported(*args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError("jit.save and jit.load: TorchScript files are not supported, because nothing is compiled; save a state_dict instead")


save = _unsupported
load = _unsupported
