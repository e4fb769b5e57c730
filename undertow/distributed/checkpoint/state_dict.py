"""State dicts of models and optimizers by the names of parameters, whatever wraps the model and however many processes share it.

Parts of parameters that fully_shard has divided are marked as such; `full_state_dict` gathers them.
"""

from __future__ import annotations

from dataclasses import dataclass

import undertow
from undertow import Tensor, distributed, nn
from undertow.distributed.tensor import full_tensor, mark, sharding_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from undertow.optim import Optimizer

__all__ = [
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict", "set_model_state_dict", "set_optimizer_state_dict",
    "set_state_dict",
]  # fmt: skip


@dataclass
class StateDictOptions:
    """How state dicts are made and loaded."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"

    def __post_init__(self) -> None:
        if self.broadcast_from_rank0 and not self.full_state_dict:
            raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")


def _plain_name(model: nn.Module, name: str) -> str:
    """Return a name without the parts that DistributedDataParallel, compiled modules and checkpoint wrappers add."""
    kept: list[str] = []
    at: Any = model
    for part in name.replace("_checkpoint_wrapped_module.", "").split("."):
        wrapper = "module" if isinstance(at, nn.parallel.DistributedDataParallel) else "_orig_mod" if type(at).__name__ == "OptimizedModule" else None
        if part != wrapper:
            kept.append(part)
        at = getattr(at, part, None)
    return ".".join(kept)


def _divided(model: nn.Module) -> dict[str, Any]:
    """Return how each parameter is divided, by its plain name."""
    named = model.named_parameters(remove_duplicate=False)
    return {_plain_name(model, name): note for name, p in named if (note := sharding_of(p)) is not None}


def _marked(value: Any, sharding: Any, options: StateDictOptions | None) -> Any:
    """Mark a part of a divided tensor as such, or gather the whole if the options ask for it."""
    if sharding is None or not isinstance(value, Tensor) or value.dim() == 0:
        return value
    marked = mark(value.detach(), sharding)
    return full_tensor(marked) if options is not None and options.full_state_dict else marked


def _part(value: Any, sharding: Any) -> Any:
    """Return this process's part of a whole tensor; a part is returned as it is."""
    whole = sharding is not None and isinstance(value, Tensor) and tuple(value.shape) == sharding.shape and sharding_of(value) is None
    return sharding.part(value) if whole else value


def _from_rank_0(given: dict[str, Any], options: StateDictOptions | None) -> dict[str, Any]:
    if options is None or not options.broadcast_from_rank0 or not distributed.is_initialized():
        return given
    box = [given]
    distributed.broadcast_object_list(box, src=0)
    return box[0]


def _frozen(model: nn.Module) -> set[str]:
    return {_plain_name(model, name) for name, p in model.named_parameters(remove_duplicate=False) if not p.requires_grad}


def get_model_state_dict(model: nn.Module, *, submodules: set[nn.Module] | None = None, options: StateDictOptions | None = None) -> dict[str, Any]:
    """Return the state dict of a model, or of some of its submodules, under the names it has without wrappers."""
    options = options or StateDictOptions()
    divided = _divided(model)
    found = {_plain_name(model, name): value for name, value in model.state_dict().items()}
    found = {name: _marked(value, divided.get(name), options) for name, value in found.items()}
    if options.ignore_frozen_params:
        frozen = _frozen(model)
        found = {name: value for name, value in found.items() if name not in frozen}
    if submodules:
        prefixes = [_plain_name(model, name) + "." for name, m in model.named_modules() if m in submodules]
        kept = {}
        for prefix in prefixes:
            cut = 0 if options.keep_submodule_prefixes else len(prefix)
            kept.update({name[cut:]: value for name, value in found.items() if name.startswith(prefix)})
        found = kept
    if options.cpu_offload:
        found = {name: value.cpu() if isinstance(value, Tensor) else value for name, value in found.items()}
    return found


def _optimizers(optimizers: Optimizer | Iterable[Optimizer]) -> list[Optimizer]:
    return [optimizers] if hasattr(optimizers, "param_groups") else list(optimizers)  # type: ignore[list-item]


def _names(model: nn.Module) -> dict[int, str]:
    return {id(p): _plain_name(model, name) for name, p in model.named_parameters()}


def _make_state(optimizer: Optimizer) -> None:
    """Let an optimizer that has made no step create its state, without a change of the parameters: a load has places to write to."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    if optimizer.state or any(p.grad is not None for p in parameters):
        return
    rates = [group.get("lr") for group in optimizer.param_groups]
    before = [p.detach().clone() for p in parameters]
    for p in parameters:
        if p.requires_grad:
            p.grad = undertow.zeros_like(p)
    for group in optimizer.param_groups:
        if "lr" in group:
            group["lr"] = undertow.tensor(0.0) if isinstance(group["lr"], Tensor) else 0.0
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    for group, rate in zip(optimizer.param_groups, rates):
        if rate is not None:
            group["lr"] = rate
    with undertow.no_grad():
        for p, value in zip(parameters, before):
            p.copy_(value)


def get_optimizer_state_dict(
    model: nn.Module, optimizers: Any, *, submodules: set[nn.Module] | None = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """Return the states of optimizers with the names of parameters in place of their numbers."""
    names, divided = _names(model), _divided(model)
    state: dict[str, Any] = {}
    groups: list[dict[str, Any]] = []
    for optimizer in _optimizers(optimizers):
        _make_state(optimizer)
        inside = optimizer.state_dict()
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        for i, values in inside["state"].items():
            name = names[id(parameters[i])]
            state[name] = {key: _marked(value, divided.get(name), options) for key, value in values.items()}
        groups += [{**group, "params": [names[id(parameters[i])] for i in group["params"]]} for group in inside["param_groups"]]
    if options is None or not options.flatten_optimizer_state_dict:
        return {"state": state, "param_groups": groups}
    flat = {f"state.{name}.{key}": value for name, values in state.items() for key, value in values.items()}
    for group in groups:
        flat.update({f"param_groups.{name}.{key}": value for name in group["params"] for key, value in group.items() if key != "params"})
    return flat


def get_state_dict(
    model: nn.Module, optimizers: Any, *, submodules: set[nn.Module] | None = None, options: StateDictOptions | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the state dict of a model and that of its optimizers."""
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options),
    )


def set_model_state_dict(model: nn.Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None) -> Any:
    """Load a state dict made by `get_model_state_dict` into a model that may be wrapped otherwise."""
    strict = options is None or options.strict
    model_state_dict = _from_rank_0(model_state_dict, options)
    divided = _divided(model)
    model_state_dict = {name: _part(value, divided.get(name)) for name, value in model_state_dict.items()}
    if not model_state_dict:
        return nn.modules.module._IncompatibleKeys([], [])
    own = {_plain_name(model, name): name for name in model.state_dict()}
    given = {own.get(name, name): value for name, value in model_state_dict.items()}
    if options is not None and options.ignore_frozen_params:
        frozen = {own[name] for name in _frozen(model) if name in own}
        given = {**{name: value for name, value in model.state_dict().items() if name in frozen}, **given}
    return model.load_state_dict(given, strict=strict)


def set_optimizer_state_dict(model: nn.Module, optimizers: Any, optim_state_dict: dict[str, Any], *, options: StateDictOptions | None = None) -> None:
    """Load a state dict made by `get_optimizer_state_dict` into optimizers of a model with the same names."""
    names, divided = _names(model), _divided(model)
    optim_state_dict = _from_rank_0(optim_state_dict, options)
    for optimizer in _optimizers(optimizers):
        inside = optimizer.state_dict()
        parameters = [names[id(p)] for group in optimizer.param_groups for p in group["params"]]
        states, groups = {}, []
        for i, name in enumerate(parameters):
            if (found := _state_of(optim_state_dict, name)) is not None:
                states[i] = {key: _part(value, divided.get(name)) for key, value in found.items()}
        for group in inside["param_groups"]:
            own = [parameters[i] for i in group["params"]]
            groups.append({**group, **_options_of(optim_state_dict, own, group), "params": group["params"]})
        optimizer.load_state_dict({"state": states, "param_groups": groups})


def _state_of(given: dict[str, Any], name: str) -> dict[str, Any] | None:
    if "state" in given:
        return given["state"].get(name)
    prefix = f"state.{name}."
    return {key.removeprefix(prefix): value for key, value in given.items() if key.startswith(prefix)} or None


def _options_of(given: dict[str, Any], names: list[str], group: dict[str, Any]) -> dict[str, Any]:
    if "param_groups" in given:
        for other in given["param_groups"]:
            if set(other["params"]) & set(names):
                return dict(other)
        raise RuntimeError(f"set_optimizer_state_dict: no group of the state dict has the parameters {names}")
    prefix = f"param_groups.{names[0]}." if names else ""
    return {key: given[prefix + key] for key in group if prefix + key in given}


def set_state_dict(
    model: nn.Module, optimizers: Any, *, model_state_dict: dict[str, Any], optim_state_dict: dict[str, Any], options: StateDictOptions | None = None
) -> Any:
    """Load the state dicts of a model and of its optimizers."""
    result = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return result
