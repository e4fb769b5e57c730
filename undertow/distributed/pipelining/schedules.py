"""Schedules: in which order a stage runs the forward and backward passes of the parts of a batch."""

from __future__ import annotations

from abc import ABC, abstractmethod

import undertow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from undertow import Tensor
    from undertow.distributed.pipelining.stage import PipelineStage

__all__ = ["Schedule1F1B", "ScheduleGPipe"]


class _Schedule(ABC):
    """One stage per process. `step` runs a whole batch; the first stage gets the inputs, the last one the target and returns the output."""

    def __init__(
        self, stage: PipelineStage, n_microbatches: int, loss_fn: Callable[..., Tensor] | None = None, scale_grads: bool = True, **options: Any
    ) -> None:
        if n_microbatches < 1:
            raise ValueError(f"{type(self).__name__}: n_microbatches must be positive, but got {n_microbatches}")
        self._stage, self._parts, self._loss_fn, self._scale = stage, n_microbatches, loss_fn, scale_grads

    @abstractmethod
    def _order(self) -> Iterator[tuple[str, int]]:
        """Yield ("forward" or "backward", number of the part)."""

    def step(self, *args: Any, target: Any = None, losses: list[Tensor] | None = None, **kwargs: Any) -> Any:
        """Run one batch, divided along its first dimension. Parameters get the gradients of the mean loss of the parts."""
        return self._run(args, target, losses, kwargs, backward=self._loss_fn is not None)

    def eval(self, *args: Any, target: Any = None, losses: list[Tensor] | None = None, **kwargs: Any) -> Any:
        """Run one batch without backward passes."""
        with undertow.no_grad():
            return self._run(args, target, losses, kwargs, backward=False)

    def _run(self, args: tuple[Any, ...], target: Any, losses: list[Tensor] | None, kwargs: dict[str, Any], *, backward: bool) -> Any:
        stage = self._stage
        inputs = [_chunks(value, self._parts) for value in args]
        named = {name: _chunks(value, self._parts) for name, value in kwargs.items()}
        targets = _chunks(target, self._parts) if target is not None else None
        outputs: list[Any] = [None] * self._parts
        found: list[Any] = [None] * self._parts
        passes = [(what, number) for what, number in self._order() if what == "forward" or backward]
        for (what, number), following in zip(passes, [*passes[1:], (None, 0)]):
            if what == "forward":
                part = tuple(chunks[number] for chunks in inputs)
                outputs[number] = stage.forward(number, part, {name: chunks[number] for name, chunks in named.items()})
                if stage.is_last and self._loss_fn is not None and targets is not None:
                    found[number] = self._loss_fn(outputs[number], targets[number])
            else:
                stage.backward(number, found[number] if stage.is_last else None)
            if following[0] in (what, None):  # otherwise the next pass receives from the neighbor that this one sends to
                stage.send()
        stage.finish()
        if backward and self._scale:
            stage.scale_grads(self._parts)
        if losses is not None and stage.is_last:
            losses[:] = [loss.detach() for loss in found if loss is not None]
        return undertow.cat([output.detach() for output in outputs]) if stage.is_last and isinstance(outputs[0], undertow.Tensor) else None


def _chunks(value: Any, parts: int) -> list[Any]:
    if not isinstance(value, undertow.Tensor):
        return [value] * parts
    if value.size(0) < parts:
        raise ValueError(f"a batch of {value.size(0)} cannot be divided into {parts} parts")
    return list(value.tensor_split(parts))


class ScheduleGPipe(_Schedule):
    """All forward passes, then all backward passes: simple, and keeps the activations of all parts."""

    def _order(self) -> Iterator[tuple[str, int]]:
        yield from (("forward", number) for number in range(self._parts))
        yield from (("backward", number) for number in range(self._parts))


class Schedule1F1B(_Schedule):
    """One forward, one backward: a stage keeps the activations of at most as many parts as there are stages from it to the last."""

    def _order(self) -> Iterator[tuple[str, int]]:
        ahead = min(self._parts, self._stage.num_stages - self._stage.stage_index - 1)
        yield from (("forward", number) for number in range(ahead))
        for number in range(self._parts - ahead):
            yield "forward", ahead + number
            yield "backward", number
        yield from (("backward", number) for number in range(self._parts - ahead, self._parts))
