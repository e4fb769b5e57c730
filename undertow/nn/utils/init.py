"""Create modules without initializing their parameters."""

from __future__ import annotations

import inspect

import undertow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["skip_init"]


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Create a module with uninitialised parameters, without drawing random numbers.

    >>> import undertow as ut
    >>> ut.nn.utils.skip_init(ut.nn.Linear, 3, 2)
    Linear(in_features=3, out_features=2, bias=True)
    """
    if not issubclass(module_cls, undertow.nn.Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    final_device = kwargs.pop("device", "cpu")
    return module_cls(*args, **kwargs, device="meta").to_empty(device=final_device)
