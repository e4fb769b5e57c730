"""Learning-rate schedules composed of other schedules: in sequence, or all at once."""

from __future__ import annotations

from bisect import bisect_right

from undertow.optim._lr_cycles import ReduceLROnPlateau
from undertow.optim.lr_scheduler import LRScheduler, _copy, _set
from undertow.optim.optimizer import Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


def _check_same_optimizer(schedulers: Sequence[Any], optimizer: Optimizer, who: str) -> None:
    for i, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, "optimizer"):
            raise TypeError(f"{who} at index {i} should have `optimizer` as its attribute.")
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ValueError(
                f"{who} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be specified when calling `step`, "
                f"but got one at index {i} in the given schedulers sequence."
            )
        if scheduler.optimizer is not optimizer:
            raise ValueError(
                f"{who} expects all schedulers to belong to the same optimizer, but got scheduler {type(scheduler).__name__} at index {i} has "
                f"{scheduler.optimizer}, which is different from {type(optimizer).__name__}."
            )


class _Several(LRScheduler):
    """Base class of schedules composed of other schedules."""

    if TYPE_CHECKING:
        _schedulers: list[Any]

    def state_dict(self) -> dict[str, Any]:
        """Return all state except the optimizer, with the schedules as state dicts."""
        state = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "_schedulers")}
        state["_schedulers"] = [s.state_dict() for s in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state returned by `state_dict`."""
        inner = state_dict.pop("_schedulers")
        self.__dict__.update(state_dict)
        state_dict["_schedulers"] = inner
        for scheduler, state in zip(self._schedulers, inner, strict=True):
            scheduler.load_state_dict(state)


class SequentialLR(_Several):
    """Several schedules in sequence, switched at milestones."""

    last_epoch: int

    def __init__(self, optimizer: Optimizer, schedulers: Sequence[Any], milestones: Sequence[int], last_epoch: int = -1) -> None:
        if len(schedulers) < 1:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
        _check_same_optimizer(schedulers, optimizer, type(self).__name__)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone points, but got "
                f"number of schedulers {len(schedulers)} and the number of milestones to be equal to {len(milestones)}"
            )
        self._schedulers, self._milestones = list(schedulers), list(milestones)
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            _set(group, "lr", group["initial_lr"])
        self.recursive_undo()
        self._schedulers[0]._initial_step()
        self._last_lr = schedulers[0].get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Undo one step of every nested schedule."""
        sched = self if sched is None else sched
        if hasattr(sched, "_schedulers"):
            for inner in sched._schedulers:
                self.recursive_undo(inner)
        elif hasattr(sched, "last_epoch"):
            sched.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]  # as in torch: it is given no epoch
        """Advance to the next epoch."""
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[index]
        if index > 0 and self._milestones[index - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Several):
    """Several schedules applied together in each epoch."""

    optimizer: Optimizer

    def __init__(self, schedulers: Sequence[Any], optimizer: Optimizer | None = None) -> None:
        if len(schedulers) < 1:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler to be chained, but got no scheduler.")
        optimizer = optimizer or schedulers[0].optimizer
        _check_same_optimizer(schedulers, optimizer, type(self).__name__)
        self._schedulers, self.optimizer = list(schedulers), optimizer
        self._last_lr = [_copy(group["lr"]) for group in self._schedulers[-1].optimizer.param_groups]

    def step(self) -> None:  # type: ignore[override]  # as in torch: it is given no epoch
        """Advance to the next epoch."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = [_copy(group["lr"]) for group in self._schedulers[-1].optimizer.param_groups]
