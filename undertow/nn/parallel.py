"""`DataParallel` where there is one device: the wrapped module, under the name its weights then have."""

from __future__ import annotations

from undertow.nn.modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Calls `module`; without GPUs there is nothing to split. State-dict keys begin with "module.", as torch's do.

    >>> import undertow as ut
    >>> list(ut.nn.DataParallel(ut.nn.Linear(2, 1)).state_dict())
    ['module.weight', 'module.bias']
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module, self.device_ids, self.dim = module, [], dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """`module` of the arguments."""
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module, inputs: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0, module_kwargs: dict[str, Any] | None = None
) -> Any:
    """`module` of the inputs, which may be a tuple."""
    return module(*(inputs if isinstance(inputs, tuple) else (inputs,)), **(module_kwargs or {}))
