"""Tools beside the tensors: hooks, checkpoints, data, weights, timers. Modules are loaded when they are first named."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MODULES = ("_pytree", "benchmark", "checkpoint", "cpp_extension", "data", "deterministic", "dlpack", "flop_counter", "hooks", "model_zoo")
_MODULES += ("module_tracker", "weak")


def __getattr__(name: str) -> "Any":
    if name in _MODULES:
        from importlib import import_module

        return import_module(f"undertow.utils.{name}")
    raise AttributeError(f"module 'undertow.utils' has no attribute {name!r}")
