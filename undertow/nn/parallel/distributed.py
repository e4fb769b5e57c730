"""DistributedDataParallel: the same module on several processes, whose gradients are averaged during the backward pass.

The reduction of gradients is in distributed/_data_parallel/reducer.py.
"""

from __future__ import annotations

import contextlib

import undertow
from undertow import distributed
from undertow.distributed._collectives import objects as _objects
from undertow.distributed._data_parallel.reducer import GradBucket, Reducer
from undertow.distributed._groups import groups as _groups
from undertow.distributed.algorithms.join import Join, Joinable, JoinHook
from undertow.nn.modules.module import Module
from undertow.utils import _pytree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from undertow import Tensor
    from undertow import device as _device

__all__ = ["DistributedDataParallel"]
_DEFAULT_BUCKET_MB = 25


class DistributedDataParallel(Module, Joinable):
    """Averages the gradients of a module over the processes of a group, while the backward pass runs. `module` is the wrapped module.

    Parameters and buffers of rank 0 are copied to all ranks at the start, and buffers before each forward pass. A gradient that is missing
    on some rank raises an error on all ranks that names it.
    """

    process_group: Any
    dim: int
    broadcast_buffers: bool
    device_ids: Any
    output_device: Any
    device: _device
    find_unused_parameters: bool
    static_graph: bool
    gradient_as_bucket_view: bool
    require_backward_grad_sync: bool
    require_forward_param_sync: bool

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        **options: Any,
    ) -> None:
        super().__init__()
        mesh = options.get("device_mesh")
        group = mesh.get_group() if mesh is not None else _groups.chosen(process_group)
        if not any(p.requires_grad for p in module.parameters()):
            raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient.")
        devices = {p.device for p in module.parameters()}
        on_one_gpu = len(devices) == 1 and next(iter(devices)).type == "cuda"
        if (device_ids or output_device is not None) and not (on_one_gpu and len(device_ids or [0]) == 1):
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with single-device/multiple-device GPU modules or CPU "
                f"modules, but got device_ids {device_ids}, output_device {output_device}, and module parameters "
                f"{devices}."
            )
        self.module = module
        self.process_group, self.dim, self.broadcast_buffers = group, dim, broadcast_buffers
        self.device_ids, self.output_device = device_ids, output_device
        self.device = next(module.parameters()).device
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self._named = [(name, p) for name, p in module.named_parameters() if p.requires_grad and name not in ignored]
        self._buffers_to_copy = [buffer for name, buffer in module.named_buffers() if name not in ignored]
        self._divides_by_all = True  # inside Join: gradients are divided by the number of all ranks, not of those with inputs
        if group.size() > 1 and init_sync:
            _check_same_parameters(self._named, group)
            every = [p for name, p in module.named_parameters() if name not in ignored]
            copy_from_rank(every + self._buffers_to_copy, group, 0)
        size = _DEFAULT_BUCKET_MB if bucket_cap_mb is None else bucket_cap_mb
        self.reducer = Reducer(
            self._named,
            group,
            bucket_bytes=int(size * (1 << 20)),
            views=gradient_as_bucket_view,
            find_unused=find_unused_parameters,
            static_graph=static_graph,
        )

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Return the module's output; gradients of the next backward pass will be averaged."""
        if self.reducer.buckets:
            syncs = self.require_backward_grad_sync and undertow.is_grad_enabled()
            if self._join_config.enable and undertow.is_grad_enabled():
                if (notified := Join.notify_join_context(self)) is not None:
                    notified.wait()
                self._begin_joined_pass(1, syncs)
            else:
                self.reducer.divisor = float(self.process_group.size())
            if self.require_forward_param_sync and self.broadcast_buffers and self._buffers_to_copy:
                copy_from_rank(self._buffers_to_copy, self.process_group, self._source_of_buffers())
            if syncs:
                self.reducer.prepare()
            elif undertow.is_grad_enabled():
                self.reducer.expecting = False
        if self.device_ids:  # torch's way to say that the module moves its inputs to its GPU
            inputs, kwargs = _pytree.tree_map(lambda v: v.to(self.device) if isinstance(v, undertow.Tensor) else v, (inputs, kwargs))
        return self.module(*inputs, **kwargs)

    def _source_of_buffers(self) -> int:
        """Return the rank whose buffers all get: 0, or inside Join the first that still has inputs."""
        return _first_active(self.process_group, active=True) if self._join_config.enable else 0

    def set_static_graph(self) -> None:
        """Say that every pass uses the same parameters, as often, in the same order: as `static_graph=True` at the start."""
        self.static_graph = self.reducer.static_graph = True

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """Return facts about the module and its buckets, under torch's names; trainers read them."""
        return {
            "world_size": self.process_group.size(),
            "rank": self.process_group.rank(),
            "backend_name": self.process_group.name(),
            "module_name": type(self.module).__name__,
            "num_parameter_tensors": len(self._named),
            "bucket_sizes": ", ".join(str(bucket.gradients.nbytes) for bucket in self.reducer.buckets),
            "find_unused_parameters": self.find_unused_parameters,
            "gradient_as_bucket_view": self.gradient_as_bucket_view,
            "static_graph": self.static_graph,
            "can_set_static_graph": False,
        }

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Context manager: gradients are accumulated without synchronization."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def join(self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False) -> Join:
        """Context manager for processes with different numbers of batches: those that are finished take part with zeros.

        Gradients are divided by the number of ranks, or by the number of those that still have inputs. At the end the parameters and
        buffers of the rank that finished last are copied to all. `distributed.algorithms.Join` does it for several objects.
        """
        several = self.process_group.size() > 1
        return Join([self], enable and several, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size)

    def join_hook(self, *, divide_by_initial_world_size: bool = True, **kwargs: Any) -> JoinHook:
        """Return how a rank without inputs answers the collectives of forward and backward passes."""
        self._divides_by_all = divide_by_initial_world_size
        return _JoinHook(self)

    @property
    def join_device(self) -> _device:
        """The device of the parameters."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """The group that averages the gradients."""
        return self.process_group

    def _begin_joined_pass(self, active: int, syncs: bool) -> bool:
        """Exchange who takes part in a pass, and set the divisor of its gradients; return whether it is synchronized."""
        active, synced = _totals(self.process_group, active, syncs)
        self.reducer.divisor = float(self.process_group.size() if self._divides_by_all else active)
        return synced

    def register_comm_hook(self, state: object, hook: Callable[[Any, GradBucket], Any]) -> None:
        """Replace the reduction: `hook(state, bucket)` returns a future of the reduced gradients of a bucket."""
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self.reducer.hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self.reducer.set_hook(state, hook)


def copy_from_rank(tensors: Sequence[Tensor], group: Any, source: int) -> None:
    """Copy tensors from one rank of the group to all, as one message for each dtype."""
    by_dtype: dict[Any, list[Tensor]] = {}
    for tensor in tensors:
        by_dtype.setdefault(tensor.dtype, []).append(tensor.detach())
    with undertow.no_grad():
        for same in by_dtype.values():
            flat = undertow.cat([tensor.reshape(-1) for tensor in same])
            distributed.broadcast(flat, group=group, group_src=source)
            if group.rank() != source:
                for tensor, part in zip(same, flat.split([tensor.numel() for tensor in same])):
                    tensor.copy_(part.view(tensor.shape))


def _check_same_parameters(named: Sequence[tuple[str, Tensor]], group: Any) -> None:
    mine = [(name, tuple(p.shape), str(p.dtype)) for name, p in named]
    found: list[Any] = [None] * group.size()
    _objects.all_gather_object(found, mine, group)
    for rank, theirs in enumerate(found):
        if theirs == found[0]:
            continue
        one, other = next(((a, b) for a, b in zip(found[0], theirs) if a != b), (len(found[0]), len(theirs)))
        raise RuntimeError(f"DDP expects same model across all ranks, but rank {group.ranks[0]} has {one} and rank {group.ranks[rank]} has {other}")


class _JoinHook(JoinHook):
    """Answers the passes of other ranks: with zeros for gradients, and with buffers and parameters that are copied."""

    def __init__(self, model: DistributedDataParallel) -> None:
        self._model = model

    def main_hook(self) -> None:
        model, group = self._model, self._model.process_group
        syncs = model._begin_joined_pass(0, False)
        if model.require_forward_param_sync and model.broadcast_buffers and model._buffers_to_copy:
            copy_from_rank(model._buffers_to_copy, group, _first_active(group, active=False))
        if syncs:
            model.reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        model, group = self._model, self._model.process_group
        model.reducer.divisor = float(group.size())
        if group.size() > 1:
            copy_from_rank([*model.module.parameters(), *model._buffers_to_copy], group, _first_active(group, active=is_last_joiner))


def _totals(group: Any, active: int, syncs: bool) -> tuple[int, bool]:
    counts = undertow.tensor([active, int(syncs)])
    distributed.all_reduce(counts, group=group)
    return int(counts[0]), bool(counts[1])


def _first_active(group: Any, *, active: bool) -> int:
    """Return the first rank that says it is active; if none does, the first of all."""
    rank = undertow.tensor([group.rank() if active else group.size()])
    distributed.all_reduce(rank, distributed.ReduceOp.MIN, group)
    return int(rank) % group.size()
