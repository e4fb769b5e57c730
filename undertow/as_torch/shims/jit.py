"""`jit`: decorators that give the function back, so that scripts run; what needs a compiled program is refused."""

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
    """What a scripted program raises in torch; never raised here."""


class TracerWarning(Warning):
    """What tracing warns with in torch, for filters; never given here."""


class ScriptWarning(Warning):
    """What scripting warns with in torch, for filters; never given here."""


class ScriptFunction:
    """The type of scripted functions in torch: nothing here is an instance."""


class Attribute:
    """A value with the type it has in a script."""

    def __init__(self, value: Any, type: Any) -> None:
        self.value, self.type = value, type


def __getattr__(name: str) -> Any:
    if name not in ("RecursiveScriptModule", "ScriptModule", "TopLevelTracedModule", "TracedModule"):
        raise AttributeError(f"module 'undertow.as_torch.shims.jit' has no attribute {name!r}")
    from undertow.nn import Module

    class ScriptModule(Module):  # type: ignore[valid-type]
        """A module as any other, which runs eagerly: what torch scripts is not an instance here."""

    globals().update(dict.fromkeys(("RecursiveScriptModule", "ScriptModule", "TopLevelTracedModule", "TracedModule"), ScriptModule))
    return ScriptModule


_said: set[str] = set()


def _say_once(name: str) -> None:
    """There is no compiler to be silent about; one warning for each of script and trace."""
    if name in _said:
        return
    _said.add(name)
    warnings.warn(f"jit.{name} gives back what it was given: Undertow runs it eagerly, and saving it as TorchScript is refused", stacklevel=3)


def script(obj: Any = None, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> Any:
    """`obj` itself, which runs eagerly; warns once."""
    _say_once("script")
    return obj


def trace(func: Any, example_inputs: Any = None, *args: Any, **options: Any) -> Any:
    """`func` itself, which runs eagerly; warns once."""
    _say_once("trace")
    return func


def trace_module(mod: Any, inputs: Any, *args: Any, **options: Any) -> Any:
    """`mod` itself; see `trace`."""
    _say_once("trace")
    return mod


def _itself(fn: Any = None, *args: Any, **options: Any) -> Any:
    """What it is given, also as a decorator with arguments."""
    return fn if callable(fn) else lambda f: f


ignore = unused = export = interface = _overload = _overload_method = script_if_tracing = _script_if_tracing = script_method = _itself


def freeze(mod: Any, *args: Any, **options: Any) -> Any:
    """`mod` itself."""
    return mod


optimize_for_inference = freeze


def annotate(the_type: Any, the_value: Any) -> Any:
    """`the_value`."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Python's own, which does not look into containers."""
    return _builtin_isinstance(obj, target_type)


def is_scripting() -> bool:
    """False: nothing is scripted."""
    return False


is_tracing = is_scripting


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Changes nothing."""
    yield


class strict_fusion:
    """Changes nothing."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None: ...


def fork(func: Any, *args: Any, **kwargs: Any) -> Any:
    """The result at once, for `wait`."""
    return func(*args, **kwargs)


def wait(future: Any) -> Any:
    """What `fork` gave."""
    return future


def _refused(*args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError("jit.save and jit.load: TorchScript files are not in Undertow: there is no compiled program; save a state_dict instead")


save = load = _refused
