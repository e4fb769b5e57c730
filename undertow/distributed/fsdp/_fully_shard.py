"""fully_shard: a module whose parameters are divided among processes; the module is changed in place."""

from __future__ import annotations

from dataclasses import dataclass

import undertow
from undertow import distributed
from undertow.distributed.fsdp._prefetch import forward_pass
from undertow.distributed.fsdp._unshard import ParameterGroup
from undertow.nn import Module
from undertow.utils import _pytree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow.distributed.device_mesh import DeviceMesh

__all__ = ["FSDPModule", "MixedPrecisionPolicy", "fully_shard"]
_GROUP = "_fully_sharded"


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """Dtypes of the gathered parameters, of the reduction of gradients and of the module's output; None keeps that of the parameters."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


class _Gather:
    """The handle of `unshard(async_op=True)`."""

    def __init__(self, held: ParameterGroup) -> None:
        self._held = held

    def wait(self) -> None:
        """Wait until the parameters are there."""
        self._held.gathered()


class FSDPModule:
    """The methods that fully_shard adds to a module."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the module with its whole parameters."""
        held: ParameterGroup | None = getattr(self, _GROUP, None)
        if held is None:
            with forward_pass(None):
                return super().forward(*args, **kwargs)  # type: ignore[misc]
        policy = held.policy
        if policy is not None and policy.cast_forward_inputs and policy.param_dtype is not None:
            args, kwargs = _cast((args, kwargs), policy.param_dtype)
        with held.used():
            output = super().forward(*args, **kwargs)  # type: ignore[misc]
        for value in _pytree.tree_leaves(output):
            if isinstance(value, undertow.Tensor) and value.requires_grad:
                value.register_hook(lambda grad: held.before_backward())
        return _cast(output, policy.output_dtype) if policy is not None and policy.output_dtype is not None else output

    def unshard(self, async_op: bool = False) -> _Gather | None:
        """Gather the parameters now, until `reshard`; with `async_op=True` return a handle to wait for them."""
        held: ParameterGroup = getattr(self, _GROUP)
        if async_op:
            held.start_gather()
            return _Gather(held)
        held.gathered()
        return None

    def reshard(self) -> None:
        """Free the gathered parameters."""
        getattr(self, _GROUP).free()

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Say whether the next backward passes reduce gradients; otherwise each process keeps and adds its own."""
        for module in self._sharded(recurse):
            getattr(module, _GROUP).syncs = requires_gradient_sync

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Do nothing: here every backward pass is complete."""

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Say whether parameters are freed after the forward pass."""
        for module in self._sharded(recurse):
            getattr(module, _GROUP).reshard = reshard_after_forward

    def set_modules_to_forward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Choose whose parameters are gathered while this module computes forward; by default those of the module used next."""
        getattr(self, _GROUP).prefetch.forward = [getattr(module, _GROUP) for module in modules]

    def set_modules_to_backward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Choose whose parameters are gathered while this module computes backward; by default those of the module used before."""
        getattr(self, _GROUP).prefetch.backward = [getattr(module, _GROUP) for module in modules]

    def _sharded(self, recurse: bool) -> list[Module]:
        assert isinstance(self, Module)
        return [module for module in (self.modules() if recurse else [self]) if isinstance(module, FSDPModule)]


def _cast(values: Any, dtype: Any) -> Any:
    return _pytree.tree_map(lambda v: v.to(dtype) if isinstance(v, undertow.Tensor) and v.is_floating_point() else v, values)


def fully_shard(
    module: Module,
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool = True,
    shard_placement_fn: Any = None,
    mp_policy: MixedPrecisionPolicy | None = None,
    offload_policy: Any = None,
    ignored_params: set[Any] | None = None,
) -> Module:
    """Divide the parameters of a module among the processes of a mesh, and return the module.

    Call it on the layers first and on the whole model last: each call takes the parameters that no earlier one has, gathers them before
    the module's forward pass and frees them after it, and reduces their gradients in the backward pass. `parameters()` are then the
    parts of this process (all ranks start from rank 0's values), so make the optimizer after it. On a mesh of two dimensions the second one
    divides, and the first one has replicas. Layers that `parallelize_module` has divided among another dimension are divided again.
    """
    if shard_placement_fn is not None:
        raise NotImplementedError("fully_shard: parameters are divided along their first dimension; shard_placement_fn is not supported")
    if isinstance(module, FSDPModule):
        raise ValueError(f"fully_shard has already been applied to this {type(module).__name__}")
    if mesh is None:
        mesh = distributed.init_device_mesh("cpu", (distributed.get_world_size(),))
    if mesh.ndim > 2:
        raise ValueError(f"fully_shard: the mesh must have one or two dimensions, but it has {mesh.ndim}; take some, such as mesh['dp']")
    ignored = {id(p) for p in ignored_params or ()}
    taken = {id(p) for child in module.modules() if isinstance(child, FSDPModule) for p in child.parameters()}
    mine = []
    for child in module.modules():
        for name, parameter in child._parameters.items():
            if parameter is not None and id(parameter) not in taken | ignored:
                taken.add(id(parameter))
                mine.append((child, name, parameter))
    cls = type(module)
    module.__class__ = type(f"FSDP{cls.__name__}", (FSDPModule, cls), {"__module__": cls.__module__})
    object.__setattr__(module, _GROUP, ParameterGroup(mine, mesh, mp_policy, reshard_after_forward) if mine else None)
    return module
