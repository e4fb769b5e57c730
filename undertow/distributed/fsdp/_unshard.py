"""The parameters of one fully_shard call: gathered before use, freed after, their gradients reduced and divided again.

A gather is one node of the graph: its backward is the reduce-scatter, so gradients arrive in the parts by ordinary accumulation. Tensors
that the forward pass saves and that are gathered parameters are saved as a place in the gathered memory, and gathered again when the
backward pass asks for them; see Note [Gathered Parameters Are Not Saved].
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import undertow
from undertow import distributed
from undertow.autograd import Function
from undertow.autograd.graph import saved_tensors_hooks
from undertow.distributed.fsdp._prefetch import Prefetch, forward_pass
from undertow.distributed.tensor._sharded import divide_parameter, rows_of_rank

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from undertow import Tensor
    from undertow.distributed._transports.work import Work
    from undertow.nn import Module, Parameter


@dataclass
class _Held:
    """One parameter: where it is in the module, its part here, and the rows (padded to equal numbers) of the gathered memory."""

    module: Module
    name: str
    part: Parameter
    shape: Any
    rows: int


class ParameterGroup:
    """Parameters that are gathered and reduced together, in one message each."""

    def __init__(self, parameters: list[tuple[Module, str, Parameter]], mesh: Any, policy: Any, reshard: bool) -> None:
        self.mesh, self.policy, self.reshard = mesh, policy, reshard
        self.group = mesh.get_group(mesh.ndim - 1)  # that divides the parameters
        self.replicas = mesh.get_group(0) if mesh.ndim == 2 else None  # that has the same parts
        self.syncs = True
        self._lent = False  # the modules have the whole parameters because a backward pass runs
        self.held = [self._divided(module, name, parameter) for module, name, parameter in parameters]
        self._gathered: list[Tensor] | None = None
        self._arriving: tuple[Tensor, Work] | None = None  # a gather that was started ahead: its memory and its handle
        self.prefetch = Prefetch(self)
        self._postponed: list[Tensor | None] = [None] * len(self.held)  # gradients that wait for a pass that is synchronized
        self._places: dict[int, int] = {}  # address of a gathered parameter: its number

    def _divided(self, module: Module, name: str, parameter: Parameter) -> _Held:
        if parameter.dim() == 0:
            raise ValueError(f"fully_shard: the parameter {name} has no dimension to divide; make it a tensor of one element")
        part = divide_parameter(module, name, 0, self.group, self.mesh, self.replicas)
        return _Held(module, name, part, parameter.shape, rows_of_rank(parameter.size(0), self.group.size(), 0)[1])

    # Gathering

    def start_gather(self) -> None:
        """Begin to gather the whole parameters, in one message."""
        if self._gathered is not None or self._arriving is not None:
            return
        dtype = self.policy.param_dtype if self.policy is not None and self.policy.param_dtype is not None else None
        counts = self._counts()
        with undertow.no_grad():
            mine = self.held[0].part.new_zeros(sum(counts), dtype=dtype)
            for target, held in zip(mine.split(counts), self.held):
                target[: held.part.numel()] = held.part.detach().reshape(-1)
            every = mine.new_empty(self.group.size(), sum(counts))
            work = distributed.all_gather_into_tensor(every, mine, self.group, async_op=True)
        assert work is not None
        self._arriving = every, work

    def start_gather_for_backward(self) -> None:
        """As start_gather; if the backward pass does not come to this group, its end forgets what was gathered."""
        if self._gathered is None and self._arriving is None:
            undertow.autograd.Variable._execution_engine.queue_callback(self.drop_unused)
            self.start_gather()

    def gathered(self) -> list[Tensor]:
        """Return the whole parameters, gathered if they are not there."""
        if self._gathered is None:
            self.start_gather()
            assert self._arriving is not None
            every, work = self._arriving
            self._arriving = None
            work.wait()
            self._gathered = []
            with undertow.no_grad():
                for held, columns in zip(self.held, every.split(self._counts(), dim=1)):
                    self._gathered.append(columns.reshape(self.group.size() * held.rows, *held.shape[1:])[: held.shape[0]])
        return self._gathered

    def _counts(self) -> list[int]:
        """Return how many elements of each parameter one rank sends."""
        return [held.rows * _row(held.shape) for held in self.held]

    def drop_unused(self) -> None:
        """Forget parameters that were gathered ahead, and not used."""
        if self._arriving is not None:
            self._arriving[1].wait()
            self._arriving = None

    def free(self) -> None:
        """Forget the whole parameters."""
        self._gathered = None
        self._places.clear()

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """Context manager of a forward pass: the modules have the whole parameters."""
        fresh = self._gathered is None
        wholes = list(_Unshard.apply(self, *[held.part for held in self.held])) if undertow.is_grad_enabled() else self.gathered()
        self._places = {whole.data_ptr(): number for number, whole in enumerate(self.gathered())}
        for held, whole in zip(self.held, wholes):
            held.module._parameters[held.name] = whole  # for this pass
        try:
            hooks = saved_tensors_hooks(self._pack, self._unpack) if undertow.is_grad_enabled() else contextlib.nullcontext()
            with forward_pass(self), hooks:
                self.prefetch.after_forward_gather()
                yield
        finally:
            for held in self.held:
                held.module._parameters[held.name] = held.part
            if self.reshard and fresh:
                self.free()

    def before_backward(self) -> None:
        """Give the modules the whole parameters while their backward pass runs: a checkpoint inside recomputes with them."""
        if self._lent:
            return
        self._lent = True
        undertow.autograd.Variable._execution_engine.queue_callback(self._take_back)
        for held, whole in zip(self.held, self.gathered()):
            held.module._parameters[held.name] = whole.detach().requires_grad_(held.part.requires_grad)
        self.prefetch.after_backward_gather()

    def _take_back(self) -> None:
        self._lent = False
        for held in self.held:
            held.module._parameters[held.name] = held.part
        self.free()

    # Note [Gathered Parameters Are Not Saved]
    # A linear layer saves its weight for the backward pass. If that were the gathered weight, every gathered parameter would live until
    # the backward pass and nothing would be won. So while a module runs, a saved tensor whose memory belongs to a gathered parameter is
    # replaced by (number of the parameter, offset, sizes, strides). The first one that the backward pass unpacks gathers the group again;
    # the group's own node, which runs after all users of the parameters, frees it.
    def _pack(self, tensor: Tensor) -> Any:
        if tensor.numel() == 0 or not self._places:
            return tensor
        base = tensor._base if tensor._base is not None else tensor
        start = tensor.untyped_storage().data_ptr()
        for address, number in self._places.items():
            whole = self.gathered()[number]
            if whole.untyped_storage().data_ptr() == start and base.dtype == whole.dtype:
                return _Place(number, (tensor.data_ptr() - address) // tensor.element_size(), tensor.size(), tensor.stride())
        return tensor

    def _unpack(self, saved: Any) -> Tensor:
        if not isinstance(saved, _Place):
            return saved
        whole = self.gathered()[saved.number]
        return whole.as_strided(saved.size, saved.stride, whole.storage_offset() + saved.offset)

    # Gradients

    def reduce(self, grads: list[Tensor | None]) -> list[Tensor | None]:
        """Return the gradients of the parts: the means over the group; None while gradients are not synchronized."""
        self._take_back()
        for number, grad in enumerate(grads):
            before = self._postponed[number]
            if before is not None:
                grads[number] = before if grad is None else before + grad
        if not self.syncs:
            self._postponed = grads
            return [None] * len(grads)
        self._postponed = [None] * len(grads)
        return self._reduced(grads)

    def _reduced(self, grads: list[Tensor | None]) -> list[Tensor | None]:
        size = self.group.size()
        dtype = self.policy.reduce_dtype if self.policy is not None and self.policy.reduce_dtype is not None else None
        counts = self._counts()
        known = next((grad for grad in grads if grad is not None), self.held[0].part)
        every = known.new_zeros(size, sum(counts), dtype=dtype)
        for held, grad, columns in zip(self.held, grads, every.split(counts, dim=1)):
            if grad is None:
                continue
            padded = every.new_zeros(size * held.rows, *held.shape[1:])
            padded[: held.shape[0]] = grad
            columns.copy_(padded.view(size, -1))
        mine = every.new_empty(sum(counts))
        distributed.reduce_scatter_tensor(mine, every, distributed.ReduceOp.AVG, self.group)
        if self.replicas is not None:
            distributed.all_reduce(mine, distributed.ReduceOp.AVG, self.replicas)
        found: list[Tensor | None] = []
        for held, values in zip(self.held, mine.split(counts)):
            found.append(values[: held.part.numel()].view(held.part.shape).to(held.part.dtype))
        return found


def _row(shape: Any) -> int:
    count = 1
    for size in shape[1:]:
        count *= size
    return count


@dataclass(frozen=True)
class _Place:
    """A saved tensor that is a part of a gathered parameter."""

    number: int
    offset: int
    size: Any
    stride: Any


class _Unshard(Function):
    """Parts in, whole parameters out; gradients of the whole parameters in, of the parts out."""

    @staticmethod
    def forward(ctx: Any, group: ParameterGroup, *parts: Tensor) -> tuple[Tensor, ...]:
        ctx.group = group
        ctx.set_materialize_grads(False)
        return tuple(whole.view(whole.shape) for whole in group.gathered())

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        return None, *ctx.group.reduce(list(grads))
