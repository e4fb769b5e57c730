"""The public names of torch's modules, read from an installed PyTorch or from torch_public_names.json."""

from __future__ import annotations

import functools
import importlib
import json
import types
import warnings
from pathlib import Path

STORED = Path(__file__).with_suffix(".json")
NAMESPACES = (
    "torch", "torch.Tensor", "torch.amp", "torch.autograd", "torch.autograd.forward_ad", "torch.autograd.functional", "torch.autograd.graph",
    "torch.autograd.profiler", "torch.backends", "torch.compiler", "torch.cuda", "torch.distributions", "torch.fft", "torch.func", "torch.jit",
    "torch.linalg", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.utils", "torch.optim", "torch.optim.lr_scheduler",
    "torch.overrides", "torch.random", "torch.special", "torch.testing", "torch.utils", "torch.utils.checkpoint", "torch.utils.data",
    "torch.accelerator", "torch.amp.autocast_mode", "torch.autograd.function", "torch.autograd.gradcheck", "torch.autograd.profiler_util", "torch.cpu",
    "torch.cpu.amp", "torch.functional", "torch.hub", "torch.multiprocessing", "torch.nn.attention", "torch.nn.grad", "torch.nn.parameter",
    "torch.nn.utils.parametrizations", "torch.nn.utils.parametrize", "torch.nn.utils.prune", "torch.nn.utils.rnn", "torch.optim.swa_utils",
    "torch.profiler", "torch.quasirandom", "torch.return_types", "torch.serialization", "torch.signal.windows", "torch.types",
    "torch.utils.benchmark", "torch.utils.dlpack", "torch.utils.flop_counter", "torch.utils.hooks", "torch.utils.module_tracker", "torch.utils.weak",
)  # fmt: skip


def found(name: str) -> object:
    module, _, attribute = name.rpartition(".")
    try:
        return importlib.import_module(name)
    except ImportError:
        return getattr(importlib.import_module(module), attribute)


def public(name: str, space: object) -> list[str]:
    """The names that torch means to be public, without those that its modules happen to import."""
    names = [n for n in dir(space) if not n.startswith("_")]
    if isinstance(space, type):
        return names

    if hasattr(space, "__all__") and name != "torch":
        return [n for n in names if n in space.__all__]

    def torch_s_own(value: object) -> bool:
        home = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
        return home is None or home == "torch" or home.startswith((f"{name}.", "torch._C", "torch.functional"))

    return [n for n in names if n in getattr(space, "__all__", ()) or torch_s_own(getattr(space, n))]


@functools.cache
def stored() -> dict[str, list[str]]:
    """The names of each namespace in the PyTorch version that the file records."""
    return json.loads(STORED.read_text())["names"]


def installed() -> dict[str, list[str]]:
    """The same from an installed PyTorch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: public(name, found(name)) for name in NAMESPACES}


def write(version: str) -> None:
    lines = [f"  {json.dumps(name)}: {json.dumps(names)}" for name, names in installed().items()]
    STORED.write_text(f'{{"torch": {json.dumps(version)}, "names": {{\n' + ",\n".join(lines) + "\n}}\n")
