"""Checkpoints that record the graph without its saved tensors, and recompute them when the backward pass needs them.

A frame is one call of a checkpointed function. Inside it every tensor that a node saves is replaced by a slot, numbered in the
order of saving. When a slot is unpacked, the function runs again, the tensors it saves fill the slots in the same order, and the run
ends as soon as the last slot is filled. Frames can be nested: the inputs of an inner frame are packed by the enclosing hooks, so the
outer frame recomputes them too.
"""

from __future__ import annotations

import contextlib
import sys
from _thread import _local as _thread_local

import undertow
import undertow.random
from undertow import _C
from undertow._type_info import package_name
from undertow.autograd.forward_ad import unpack_dual
from undertow.autograd.graph import saved_tensors_hooks
from undertow.utils._checkpoint_device import autocast_state, forked_device_states, get_device_states, restored_autocast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from undertow import Tensor

_local = _thread_local()  # the frames and the group that this thread is in


class CheckpointError(RuntimeError):
    """The recomputation of a checkpointed function differs from its first run."""


class _StopRecomputation(Exception):
    """Raised when all slots are filled."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame


class _Hooks:
    """A pair of hooks, which a nested frame may call for its inputs."""

    def __init__(self, owner: Frame, pack: Callable[[Tensor], Any], unpack: Callable[[Any], Tensor]) -> None:
        self.owner, self.pack, self.unpack = owner, pack, unpack

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        around = frames()
        around.append(self)
        try:
            with saved_tensors_hooks(self.pack, self.unpack):
                yield
        finally:
            around.pop()


def frames() -> list[_Hooks]:
    """Return the hooks of the frames that this thread is in, innermost last."""
    found = getattr(_local, "frames", None)
    if found is None:
        found = _local.frames = []
    return found


class Saving:
    """Information about one saved tensor: enough to report which operation differs."""

    __slots__ = ("shape", "dtype", "device", "node", "code", "instruction")

    def __init__(self, tensor: Tensor) -> None:
        self.shape, self.dtype, self.device = tensor.shape, tensor.dtype, tensor.device
        self.node: str = _C._packing_node_name() or "an input of a nested checkpoint"
        frame = sys._getframe(2)
        self.code, self.instruction = frame.f_code, frame.f_lasti

    def metadata(self) -> dict[str, Any]:
        """Return the metadata that the determinism check compares."""
        return {"shape": self.shape, "dtype": self.dtype, "device": self.device}

    def operation(self) -> str:
        """Return the operation and its line."""
        for start, end, line in self.code.co_lines():
            if start <= self.instruction < end and line is not None:
                return f"{self.node} ({self.code.co_filename}:{line})"
        return self.node


class GraphExecGroup:
    """Context manager: backward passes in the block share recomputed tensors, so each function is recomputed at most once for all of them.

    If two passes need the same saved tensor, the second one raises.

    >>> import undertow as ut
    >>> from undertow.utils.checkpoint import GraphExecGroup, checkpoint
    >>> runs = []
    >>> x = ut.ones(2, requires_grad=True)
    >>> a, b = checkpoint(lambda x: (runs.append(1), (x.exp(), x.sin()))[1], x, use_reentrant=False, early_stop=False)
    >>> with GraphExecGroup():
    ...     a.sum().backward()
    ...     b.sum().backward()
    >>> len(runs)
    2
    """

    def __init__(self) -> None:
        self.frames: list[Frame] = []

    def __enter__(self) -> GraphExecGroup:
        if self._get_current_group() is not None:
            raise RuntimeError("GraphExecGroup contexts cannot be nested.")
        _local.group = self
        return self

    def __exit__(self, *exception: object) -> None:
        _local.group = None
        for frame in self.frames:
            frame.filled.pop(self, None)
        self.frames.clear()

    @classmethod
    def _get_current_group(cls) -> GraphExecGroup | None:
        return getattr(_local, "group", None)


def _plain(tensor: Tensor) -> Tensor:
    """Return the tensor without its history: itself if it has none, so that a Function that saved an input gets the same object back."""
    return tensor.detach() if tensor.requires_grad else tensor


class _Input:
    """A tensor argument stored by the frame: packed by the enclosing hooks, or the tensor itself with its version.

    A dual tensor is stored itself: hooks do not keep tangents.
    """

    def __init__(self, tensor: Tensor, around: _Hooks | None) -> None:
        if around is not None and unpack_dual(tensor).tangent is not None:
            around = None
        self.around = around
        self.version = tensor._version
        self.requires_grad = tensor.requires_grad
        self.kept: Any = tensor if around is None else around.pack(_plain(tensor))

    def get(self) -> Tensor:
        if self.around is not None:
            kept = _plain(self.around.unpack(self.kept))
            return kept.detach().requires_grad_() if self.requires_grad else kept
        if self.kept._version != self.version:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: a tensor "
                f"of shape {list(self.kept.shape)} given to checkpoint is at version {self.kept._version}; expected version "
                f"{self.version} instead. Clone it before the checkpoint, or change it out of place."
            )
        if self.requires_grad and not self.kept.requires_grad:
            raise RuntimeError(
                "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(). This is not supported: a tensor of "
                f"shape {list(self.kept.shape)} was given to checkpoint. Use the out-of-place .detach() instead."
            )
        return self.kept


class Frame:
    """One call of a checkpointed function: its arguments, its saved tensors, and the recomputed tensors."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], *, preserve_rng_state: bool,
                 determinism_check: bool, early_stop: bool, recompute_context: Any, logs: Any = None) -> None:
        self.function = function
        self.around = frames()[-1] if frames() else None
        self.args = [_Input(a, self.around) if isinstance(a, _C.Tensor) else a for a in args]
        self.kwargs = {k: _Input(v, self.around) if isinstance(v, _C.Tensor) else v for k, v in kwargs.items()}
        self.determinism_check = determinism_check
        self.early_stop = early_stop
        self.recompute_context = recompute_context
        self.logs = logs  # of both runs, with `debug`
        self.autocast = autocast_state()
        self.device = _C._default_device()
        self.rng_state = undertow.random.get_rng_state() if preserve_rng_state else None
        self.device_states = get_device_states(args, kwargs) if preserve_rng_state else ([], [])
        self.saved: list[Saving] = []
        self.again: list[Saving] = []  # of the latest recomputation
        self.filled: dict[int | GraphExecGroup, dict[int, Tensor | None]] = {}  # by pass or group of passes, then by slot; None: used
        self.complete = False  # whether the forward call has returned

    # -- the first run ---------------------------------------------------------------------------------------------

    def pack(self, tensor: Tensor) -> tuple[Any, ...]:
        """Return the slot of a saved tensor: the frame and a number. The first slot also shows the inputs to `saved_tensors_report`."""
        self.saved.append(Saving(tensor))
        index = len(self.saved) - 1
        if index:
            return self, index
        return self, index, *(a.kept for a in (*self.args, *self.kwargs.values()) if isinstance(a, _Input) and a.around is None)

    def unpack(self, slot: tuple[Any, ...]) -> Tensor:
        if self.logs is None:
            return self._unpack(slot)
        try:
            return self._unpack(slot)
        except CheckpointError as error:
            from undertow.utils._checkpoint_debug import report

            forward, again = self.logs
            raise CheckpointError(report(forward, again, package_name())) from error

    def _unpack(self, slot: tuple[Any, ...]) -> Tensor:
        index = slot[1]
        pass_id = _C._current_graph_task_id()
        group = GraphExecGroup._get_current_group()
        owner = pass_id if group is None else group
        if group is None and pass_id < 0:  # a saved tensor is read outside of a pass: nothing would free the other recomputed tensors
            return self.recompute()[index]
        values = self.filled.get(owner)
        if values is None or index not in values:
            values = self.filled[owner] = {**self.recompute()}
            if group is not None:
                group.frames.append(self)
            else:
                undertow.autograd.Variable._execution_engine.queue_callback(lambda: self.filled.pop(owner, None))
        value, values[index] = values[index], None  # freed as soon as it has been used
        if value is None:
            package = package_name()
            overlap = (
                "Performing two backward calls that overlap (i.e. require the same saved activation in order to compute gradients) is not allowed "
                f"while under the {package}.utils.checkpoint.GraphExecGroup context. " if group is not None else ""
            )
            raise CheckpointError(
                f"{package}.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. {overlap}If you are calling "
                f"ctx.saved_tensors in backward, make sure to do so only once. The tensor was saved by {self.saved[index].operation()}."
            )
        return value

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any], context: Any) -> Any:
        """Run the function the first time, with hooks that save no tensors."""
        with _Hooks(self, self.pack, self.unpack).active(), context:
            result = self.function(*args, **kwargs)
        self.complete = True
        return result

    # -- recomputation ---------------------------------------------------------------------------------------------

    def recompute(self) -> dict[int, Tensor]:
        """Run the function again; return its saved tensors by slot."""
        values: dict[int, Tensor] = {}
        self.again = []

        def pack(tensor: Tensor) -> Tensor:
            kept = _plain(tensor)
            self.fill(values, Saving(tensor), kept)
            return kept

        args = [a.get() if isinstance(a, _Input) else a for a in self.args]
        kwargs = {k: a.get() if isinstance(a, _Input) else a for k, a in self.kwargs.items()}
        with contextlib.ExitStack() as stack:
            stack.enter_context(undertow.random.fork_rng(enabled=self.rng_state is not None))
            if self.rng_state is not None:
                undertow.random.set_rng_state(self.rng_state)
            if self.device_states[0]:
                stack.enter_context(forked_device_states(*self.device_states))
            stack.enter_context(undertow.enable_grad())
            stack.enter_context(restored_autocast(self.autocast))
            if self.device != _C._default_device():
                stack.enter_context(self.device)
            stack.enter_context(_Hooks(self, pack, lambda tensor: tensor).active())
            stack.enter_context(self.recompute_context)
            try:
                self.function(*args, **kwargs)
            except _StopRecomputation as stop:
                if stop.frame is not self:
                    raise
        self.check()
        return values

    def fill(self, values: dict[int, Tensor], saving: Saving, tensor: Tensor) -> None:
        """Fill the next slot; end the run after the last one."""
        index = len(self.again)
        self.again.append(saving)
        if self.complete and index >= len(self.saved):  # early stop is off
            raise CheckpointError(
                f"{package_name()}.utils.checkpoint: trying to save more tensors during recomputation than during the original forward pass.\n"
                + self._first(index)
            )
        if index < len(self.saved):
            values[index] = tensor
            if self.early_stop and index == len(self.saved) - 1:
                raise _StopRecomputation(self)

    def check(self) -> None:
        """Raise if the second run differs, and name the first operation that differs."""
        pairs = zip(self.saved, self.again, strict=False)
        differs = next((i for i, (a, b) in enumerate(pairs) if a.node != b.node or a.metadata() != b.metadata()), None)
        if len(self.again) < len(self.saved):
            at = min(len(self.saved), len(self.again)) if differs is None else differs
            raise CheckpointError(
                f"{package_name()}.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(self.saved)}\n"
                f"Number of tensors saved during recomputation: {len(self.again)}.\n" + self._first(at)
            )
        if not self.determinism_check:
            return
        wrong = [i for i, (a, b) in enumerate(zip(self.saved, self.again, strict=False)) if a.metadata() != b.metadata()]
        if not wrong:
            return
        lines = "".join(f"tensor at position {i}:\nsaved metadata: {self.saved[i].metadata()}\nrecomputed metadata: {self.again[i].metadata()}\n"
                        for i in wrong)
        raise CheckpointError(
            f"{package_name()}.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the "
            f"forward pass.\n{lines}" + self._first(wrong[0] if differs is None else differs)
        )

    def _first(self, i: int) -> str:
        def named(savings: list[Saving]) -> str:
            return savings[i].operation() if i < len(savings) else "no operation"

        return (f"The first operation that differs saved tensor {i}: {named(self.saved)} in the forward pass, "
                f"{named(self.again)} in the recomputation.")
