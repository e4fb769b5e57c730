"""The gradients of DistributedDataParallel: buckets that are filled as gradients arrive, and reduced while the backward pass goes on.

Knows parameters, hooks and buckets; the module around them is nn/parallel/distributed.py.
"""

from __future__ import annotations

import undertow
from undertow.distributed._collectives import objects, tensors
from undertow.distributed._transports.reduce_ops import ReduceOp
from undertow.distributed._transports.work import Work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from undertow import Tensor
    from undertow.distributed._groups.groups import ProcessGroup

FIRST_BUCKET_BYTES = 1 << 20  # the first is small, so that the first reduction starts early
# On a GPU, reading a mark would wait for it. Marks are kept there, and read before each of the first passes, then now and then.
_PASSES_CHECKED, _CHECK_EVERY = 8, 16


class GradBucket:
    """The gradients that a communication hook reduces together."""

    def __init__(self, index: int, buffer: Tensor, parameters: list[Tensor], places: list[tuple[int, int]], last: bool) -> None:
        self._index, self._buffer, self._parameters, self._places, self._last = index, buffer, parameters, places, last

    def index(self) -> int:
        """Return the number of the bucket; bucket 0 is reduced first."""
        return self._index

    def buffer(self) -> Tensor:
        """Return all gradients as one tensor of one dimension."""
        return self._buffer

    def set_buffer(self, tensor: Tensor) -> None:
        """Replace the gradients."""
        self._buffer = tensor

    def gradients(self) -> list[Tensor]:
        """Return the gradient of each parameter, as views of the buffer."""
        return [self._buffer[start : start + count].view(p.shape) for p, (start, count) in zip(self._parameters, self._places)]

    def parameters(self) -> list[Tensor]:
        """Return the parameters."""
        return list(self._parameters)

    def is_last(self) -> bool:
        """Return True for the last bucket of the pass."""
        return self._last


class _Bucket:
    """Parameters that are reduced together, and the memory of their gradients; one element more says whether a gradient is missing."""

    def __init__(self, members: list[int], parameters: Sequence[Tensor]) -> None:
        self.members = members
        self.places: dict[int, tuple[int, int]] = {}
        total = 0
        for member in members:
            self.places[member] = (total, parameters[member].numel())
            total += parameters[member].numel()
        self.memory = undertow.zeros(total + 1, dtype=parameters[members[0]].dtype, device=parameters[members[0]].device)
        self.gradients = self.memory[:total]
        self.views = {m: self.memory[start : start + count].view(parameters[m].shape) for m, (start, count) in self.places.items()}
        self.waiting = len(members)
        self.work: Work | None = None
        self.result: Any = None  # the future of a communication hook
        self.launched = False


class Reducer:
    """Reduces gradients over the ranks of a group.

    Every rank launches the buckets in the same order, whatever the order in which they fill. A rank on which a gradient is missing takes
    part with zeros and a mark, so nobody waits for it; all ranks then raise with the names of the missing ones.
    """

    def __init__(
        self,
        named: Sequence[tuple[str, Tensor]],
        group: ProcessGroup,
        *,
        bucket_bytes: int,
        views: bool,
        find_unused: bool,
        static_graph: bool,
    ) -> None:
        self.names, self.parameters = [name for name, _ in named], [p for _, p in named]
        self.group = group
        self.bucket_bytes, self.views = bucket_bytes, views
        self.find_unused, self.static_graph = find_unused, static_graph
        self.expecting = False  # between a forward pass that is to be synchronized and the end of its backward pass
        self.divisor = float(group.size())
        self.hook: tuple[Any, Callable[[Any, GradBucket], Any]] | None = None
        self._arrived: list[int] = []  # order of the first pass, by which buckets are rebuilt
        self._rebuilt, self._passes = False, 0
        self._calls: list[int] | None = None  # static graph: how often each hook runs in a pass
        self._left: list[int] = []
        self._ready: set[int] = set()
        self._callback_queued = False
        on_gpu = [p.device for p in self.parameters if p.is_cuda]
        self._marks = undertow.zeros(1, device=on_gpu[0]) if on_gpu else None  # how many buckets were incomplete since the last look
        self._missed: set[int] = set()  # gradients that were missing here since then
        self.buckets: list[_Bucket] = []
        if group.size() > 1:  # the mean over one process needs no memory and no hooks
            self._attach()

    def _attach(self) -> None:
        self._assign(list(reversed(range(len(self.parameters)))))
        for index, parameter in enumerate(self.parameters):
            parameter.register_post_accumulate_grad_hook(self._hook_of(index))

    def set_hook(self, state: Any, hook: Callable[[Any, GradBucket], Any]) -> None:
        """Let a communication hook reduce the buckets, also where there is one process."""
        self.hook = (state, hook)
        if not self.buckets:
            self._attach()

    def _assign(self, order: list[int]) -> None:
        """Divide the parameters into buckets of one dtype and device each."""
        open_buckets: dict[Any, list[int]] = {}
        filled: dict[Any, int] = {}
        made: list[list[int]] = []
        for index in order:
            parameter = self.parameters[index]
            kind = parameter.dtype, parameter.device
            if kind not in open_buckets:
                open_buckets[kind], filled[kind] = [], 0
                made.append(open_buckets[kind])
            open_buckets[kind].append(index)
            filled[kind] += parameter.nbytes
            limit = min(FIRST_BUCKET_BYTES, self.bucket_bytes) if len(made) == 1 else self.bucket_bytes
            if filled[kind] >= limit:
                del open_buckets[kind]
        self.buckets = [_Bucket(members, self.parameters) for members in made]
        self._bucket_of = {member: bucket for bucket in self.buckets for member in bucket.members}

    def _hook_of(self, index: int) -> Callable[[Tensor], None]:
        return lambda parameter: self._arrive(index) if self.expecting else None

    # A pass

    def prepare(self) -> None:
        """Expect a backward pass whose gradients are to be reduced."""
        if self._marks is not None and (self._passes <= _PASSES_CHECKED or self._passes % _CHECK_EVERY == 0):
            self._check_marks()
        if not self._rebuilt and self._passes:
            self._rebuild()
        self._passes += 1
        self.expecting, self._callback_queued, self._next = True, False, 0
        self._ready.clear()
        learned = self._calls
        self._left = list(learned) if learned is not None else [1] * len(self.parameters)
        for bucket in self.buckets:
            bucket.waiting = sum(1 for m in bucket.members if self._left[m] > 0) if learned is not None else len(bucket.members)
            bucket.launched, bucket.work, bucket.result = False, None, None
        if self.static_graph and learned is None:
            self._seen = [0] * len(self.parameters)

    def _arrive(self, index: int) -> None:
        if not self._callback_queued:
            self._callback_queued = True
            undertow.autograd.Variable._execution_engine.queue_callback(self.finish)
        if self.static_graph and self._calls is None:
            self._seen[index] += 1  # the first pass only learns; everything is reduced at its end
            self._ready.add(index)
            return
        if self._left[index] <= 0:
            raise RuntimeError(
                f"Expected to mark a variable ready only once: the gradient of {self.names[index]} was accumulated again in one backward pass. "
                "Reentrant checkpoints and parameters shared between passes need static_graph=True"
            )
        self._left[index] -= 1
        if self._left[index]:
            return
        self._ready.add(index)
        if not self._rebuilt:
            self._arrived.append(index)
        self._fill(index)
        bucket = self._bucket_of[index]
        bucket.waiting -= 1
        if bucket.waiting == 0:
            self._launch_in_order()

    def _fill(self, index: int) -> None:
        """Copy a gradient into its bucket, divided by the number of ranks unless a communication hook does that."""
        parameter, bucket = self.parameters[index], self._bucket_of[index]
        grad = parameter.grad
        assert grad is not None
        if grad.layout != undertow.strided:
            raise RuntimeError(f"DistributedDataParallel: the gradient of {self.names[index]} is sparse; only dense gradients are reduced")
        view = bucket.views[index]
        scale = 1.0 / self.divisor
        with undertow.no_grad():
            if grad.data_ptr() == view.data_ptr():
                if self.hook is None:
                    view.mul_(scale)
                return
            if self.hook is None:
                undertow.mul(grad.detach(), scale, out=view)
            else:
                view.copy_(grad)
            if self.views:
                parameter.grad = view.detach()

    def _launch_in_order(self) -> None:
        while self._next < len(self.buckets) and self.buckets[self._next].waiting == 0:
            self._launch(self._next)
            self._next += 1

    def _launch(self, number: int) -> None:
        bucket = self.buckets[number]
        last = number == len(self.buckets) - 1
        bucket.launched = True
        if self.hook is not None:
            state, hook = self.hook
            parameters = [self.parameters[m] for m in bucket.members]
            bucket.result = hook(state, GradBucket(number, bucket.gradients, parameters, [bucket.places[m] for m in bucket.members], last))
            return
        # After the last bucket the pass has nothing left to overlap with; without a second thread it is faster.
        bucket.work = tensors.all_reduce(bucket.memory, ReduceOp.SUM, self.group, async_op=not last)

    def finish(self) -> None:
        """End the pass: reduce what is left, wait, and store the gradients."""
        self.expecting = False
        if self.static_graph and self._calls is None:
            self._learn()
        missing = [index for index in range(len(self.parameters)) if index not in self._ready and self._left[index] > 0]
        for index in missing:
            self._mark_missing(index)
        for bucket in self.buckets:
            bucket.waiting = 0
        self._launch_in_order()
        incomplete = False
        for bucket in self.buckets:
            incomplete |= self._collect(bucket)
        if self.hook is not None:
            flag = undertow.tensor([1 if missing else 0])
            tensors.all_reduce(flag, ReduceOp.MAX, self.group)
            incomplete = bool(flag) and not (self.find_unused or self.static_graph)
        self._missed.update(missing)
        if incomplete:
            self._raise_missing()
        self._store()

    def _check_marks(self) -> None:
        """Raise if a gradient was missing in an earlier pass; all ranks look at the same time."""
        assert self._marks is not None
        incomplete = bool(self._marks != 0)
        self._marks.zero_()
        if incomplete:
            self._raise_missing()

    def _learn(self) -> None:
        """Remember, on all ranks alike, how often each hook runs."""
        counts = undertow.tensor(self._seen)
        tensors.all_reduce(counts, ReduceOp.MAX, self.group)
        for index in range(len(self.parameters)):
            if self._seen[index]:
                self._left[index] = 0
                self._fill(index)
        self._calls = counts.tolist()

    def _mark_missing(self, index: int) -> None:
        bucket = self._bucket_of[index]
        bucket.views[index].zero_()
        bucket.memory[-1] = 1

    def _collect(self, bucket: _Bucket) -> bool:
        """Wait for a bucket; return whether some rank has marked it as incomplete."""
        if bucket.work is not None:
            bucket.work.wait()
        if bucket.result is not None:
            result = bucket.result.wait()
            value = result[0] if isinstance(result, (list, tuple)) else result
            if value.data_ptr() != bucket.memory.data_ptr():
                bucket.gradients.copy_(value.view(-1))
        if self.hook is not None:
            return False
        mark = bucket.memory[-1:]
        marked = False
        if not (self.find_unused or self.static_graph):
            if self._marks is None:
                marked = bool(mark != 0)
            else:
                self._marks += mark.to(self._marks.device)
        mark.zero_()
        return marked

    def _raise_missing(self) -> None:
        found: list[Any] = [None] * self.group.size()
        missing = sorted(self._missed)
        self._missed.clear()
        objects.all_gather_object(found, [self.names[index] for index in missing], self.group)
        lines = [f"rank {self.group.ranks[r]}: {', '.join(names[:10])}{' ...' if len(names) > 10 else ''}" for r, names in enumerate(found) if names]
        raise RuntimeError(
            "Expected to have finished reduction: parameters did not receive a gradient in this backward pass; " + "; ".join(lines) + ". "
            "Pass find_unused_parameters=True to DistributedDataParallel if the forward pass may leave out modules, and make sure that all "
            "outputs of the module take part in the loss"
        )

    def _store(self) -> None:
        unused: set[int] = set()
        if self.find_unused or self.static_graph:
            used = undertow.tensor([int(index in self._ready) for index in range(len(self.parameters))], dtype=undertow.int32)
            tensors.all_reduce(used, ReduceOp.MAX, self.group)
            unused = {index for index, value in enumerate(used.tolist()) if not value}
        for bucket in self.buckets:
            for index in bucket.members:
                if index not in unused:
                    self._give(self.parameters[index], bucket.views[index])

    def _give(self, parameter: Tensor, value: Tensor) -> None:
        with undertow.no_grad():
            if self.views:
                parameter.grad = value.detach()
            elif parameter.grad is None:
                parameter.grad = value.clone()
            else:
                parameter.grad.copy_(value)

    def _rebuild(self) -> None:
        """Put the parameters into buckets by the order in which rank 0's gradients arrived."""
        self._rebuilt = True
        if self.find_unused or self.static_graph:
            return
        seen = set(self._arrived)
        order = undertow.tensor(self._arrived + [index for index in range(len(self.parameters)) if index not in seen])
        tensors.broadcast(order, group=self.group, group_src=0)
        if self.views:
            for parameter in self.parameters:
                parameter.grad = None if parameter.grad is None else parameter.grad.clone()
        self._assign(order.tolist())

    # A rank that has no more inputs

    def shadow(self) -> None:
        """Take part in the reductions of one pass with zeros; the gradients are the means, as on the other ranks."""
        self.prepare()
        self._left = [0] * len(self.parameters)
        for bucket in self.buckets:
            bucket.memory.zero_()
        self.finish()
