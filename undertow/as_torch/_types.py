"""Types of torch's that no object here is of: programs import them for annotations and `isinstance`, which is False.

Making one raises, with what _missing.py says of it. Only where programs import a type without asking first whether its part of torch is there.
"""

from __future__ import annotations

import functools
import importlib
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from undertow.as_torch import _missing

TYPES = (
    "torch._C.Graph",
    "torch._C.Node",
    "torch._C.Value",
    "torch._dynamo.eval_frame.OptimizedModule",
    "torch.distributed.tensor.DTensor",
    "torch.distributed.tensor.Partial",
    "torch.distributed.tensor.Placement",
    "torch.distributed.tensor.Replicate",
    "torch.distributed.tensor.Shard",
    "torch.export.ExportedProgram",
    "torch.nn.parallel.DistributedDataParallel",
    "torch.nn.parallel.distributed.DistributedDataParallel",
)
MODULES = {"torch._dynamo.eval_frame", "torch.distributed.tensor", "torch.export", "torch.nn.parallel.distributed"}  # which have nothing else


@functools.cache
def absent(name: str) -> type:
    """The type of that dotted name."""
    module, _, own = name.rpartition(".")

    def __new__(cls: type, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(_missing.sentence(name))

    return type(own, (), {"__new__": __new__, "__module__": module, "__doc__": _missing.sentence(name)})


class _Loader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return ModuleType(spec.name, _missing.sentence(spec.name))

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__

        def __getattr__(own: str) -> Any:
            if f"{name}.{own}" in TYPES:
                return absent(f"{name}.{own}")
            raise AttributeError(_missing.sentence(f"{name}.{own}"), name=own, obj=module)

        module.__getattr__ = __getattr__  # type: ignore[method-assign]


def found(name: str) -> Any:
    """The type or the module of that dotted name; None if it is neither."""
    return absent(name) if name in TYPES else importlib.import_module(name) if name in MODULES else None


def spec(name: str) -> ModuleSpec | None:
    """The import system's answer for a module that has such types and nothing else."""
    return ModuleSpec(name, _Loader(), is_package=True) if name in MODULES else None
