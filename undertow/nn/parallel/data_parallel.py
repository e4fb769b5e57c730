"""DataParallel with one device: it calls its module, as torch does without a GPU."""

from __future__ import annotations

from undertow.nn.modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Calls `module`. The state-dict keys begin with "module.", so that torch's checkpoints can be loaded.

    >>> import undertow as ut
    >>> list(ut.nn.DataParallel(ut.nn.Linear(2, 2)).state_dict())
    ['module.weight', 'module.bias']
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[Any] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Return the module's output."""
        return self.module(*inputs, **kwargs)


def data_parallel(module: Module, inputs: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0, module_kwargs: Any = None) -> Any:
    """Call the module with a tuple of inputs, or one input."""
    return module(*(inputs if isinstance(inputs, tuple) else (inputs,)), **(module_kwargs or {}))
