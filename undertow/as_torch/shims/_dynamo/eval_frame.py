"""`torch._dynamo.eval_frame`: the class of compiled modules."""

from __future__ import annotations

from undertow.nn import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["OptimizedModule", "is_dynamo_supported"]


def is_dynamo_supported() -> bool:
    """Return True: `compile` can be called."""
    return True


class OptimizedModule(Module):
    """What `torch.compile` returns for a module: its only child is the module, and everything else is asked of it.

    >>> from undertow import nn
    >>> model = OptimizedModule(nn.Linear(1, 1, bias=False))
    >>> list(model.state_dict()), model.in_features
    (['_orig_mod.weight'], 1)
    """

    _orig_mod: Module
    _own = frozenset(("_orig_mod", "dynamo_ctx", "forward", "_super_module_initialized"))  # attributes that are not set on the module

    def __init__(self, mod: Module, dynamo_ctx: Any = None) -> None:
        object.__setattr__(self, "_orig_mod", mod)  # Module.__init__ sets `training`, which asks the module
        self._super_module_initialized = False
        super().__init__()
        self._super_module_initialized = True
        del self.__dict__["_orig_mod"]
        self._orig_mod = mod
        self.dynamo_ctx = dynamo_ctx

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module, with its hooks."""
        return self._orig_mod(*args, **kwargs)

    def __len__(self) -> int:
        if hasattr(type(self._orig_mod), "__len__"):
            return len(self._orig_mod)
        raise TypeError(f"{type(self._orig_mod).__name__} does not support len()")

    def __bool__(self) -> bool:
        return True

    def __reduce__(self) -> Any:
        return type(self), (self._orig_mod, self.dynamo_ctx)

    @property
    def training(self) -> bool:
        """The mode of the module."""
        return self._orig_mod.training

    @training.setter
    def training(self, value: bool) -> None:
        if self._super_module_initialized:
            self._orig_mod.training = value

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(type(self), name) or name in self._own:
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if hasattr(type(self), name) or name in self._own:
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._orig_mod), *super().__dir__()})
