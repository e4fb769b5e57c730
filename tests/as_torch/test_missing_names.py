"""Every public name of torch's is here, or the table of missing names says whether it is planned."""

from __future__ import annotations

import importlib
import types
import warnings

import pytest
from torch_names import Names

from undertow import _missing_names

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
    """The names torch means to be used: without what its modules happen to import."""
    names = [n for n in dir(space) if not n.startswith("_")]
    if isinstance(space, type):
        return names

    if hasattr(space, "__all__") and name != "torch":
        return [n for n in names if n in space.__all__]

    def torch_s_own(value: object) -> bool:
        home = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
        return home is None or home == "torch" or home.startswith((f"{name}.", "torch._C", "torch.functional"))

    return [n for n in names if n in getattr(space, "__all__", ()) or torch_s_own(getattr(space, n))]


def has(space: object, name: str) -> bool:
    try:
        getattr(space, name)
    except AttributeError:
        return False
    return True


def here(name: str) -> object:
    """What programs see of the name under as_torch."""
    module = Names(name[len("torch") :])
    return module if module.homes else getattr(Names(name.rpartition(".")[0][len("torch") :]), name.rpartition(".")[2])


def missing(name: str) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = found(name)
        try:
            ours = here(name)
        except (ImportError, AttributeError):
            return [name]
        names = [n for n in public(name, theirs) if not has(ours, n)]
        return [f"{name}.{n}" for n in names if not _is_our_module(f"{name}.{n}")]


def _is_our_module(name: str) -> bool:
    """Under as_torch a submodule is found as an attribute, as torch imports most of its own early."""
    try:
        return any(importlib.util.find_spec(root + name[len("torch") :]) is not None for root in ("undertow", "undertow.as_torch.shims"))
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_a_missing_name_is_explained(namespace):
    pytest.importorskip("torch")
    silent = [name for name in missing(namespace) if "no public name" in _missing_names.reason(name)]
    assert not silent


def test_a_reason_says_planned_or_not_planned():
    for _, reason in _missing_names.REASONS:
        assert reason.startswith(("planned: ", "not planned: "))
