"""Join: a context for ranks with different numbers of inputs. A rank that has none left answers the collectives of the others.

Each class that calls collectives in every step (a Joinable) says by a JoinHook how to answer them. The first one tells the others, once in
each step, that this rank still has inputs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import undertow
from undertow import distributed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Any

    from undertow.distributed._transports.work import Work

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """How a rank without inputs takes part: `main_hook` once for each step of the others, `post_hook` when no rank has inputs."""

    def main_hook(self) -> None:
        """Answer the collectives of one step."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Do what remains; `is_last_joiner` says whether this rank was among those that had inputs longest."""


@dataclass(frozen=True)
class _Config:
    """What a Joinable knows about the context that it is in."""

    enable: bool = False
    throw_on_early_termination: bool = False
    is_first_joinable: bool = False


class Joinable(ABC):
    """A class whose objects call collectives in every step, which other ranks can answer."""

    _join_config = _Config()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the answers, for the keywords given to Join."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device of the messages of Join."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The group whose ranks join."""


class Join:
    """Context manager of a training loop whose ranks have different numbers of inputs.

    With `throw_on_early_termination` all ranks raise as soon as one has no inputs left. `kwargs` go to the `join_hook` of each joinable.
    """

    def __init__(self, joinables: Sequence[Joinable], enable: bool = True, throw_on_early_termination: bool = False, **kwargs: Any) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        groups = [joinable.join_process_group for joinable in joinables]
        if any(group is not groups[0] for group in groups):
            raise ValueError("Using join context manager with multiple process groups is not supported")
        self._joinables = list(joinables)
        self._hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        self._enable, self._throws = enable, throw_on_early_termination
        self._device = joinables[0].join_device
        self._group = groups[0]

    def __enter__(self) -> None:
        for place, joinable in enumerate(self._joinables):
            joinable._join_config = _Config(self._enable, self._throws, place == 0)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        try:
            if self._enable and kind is None:
                self._answer()
        finally:
            for joinable in self._joinables:
                joinable._join_config = _Config()

    def _answer(self) -> None:
        """Answer the steps of the others until no rank has inputs."""
        is_last = True
        while _total(self._group, self._device, 0):  # ranks that have inputs
            if self._throws:
                _total(self._group, self._device, 1)
                raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
            is_last = False
            for hook in self._hooks:
                hook.main_hook()
        for hook in self._hooks:
            hook.post_hook(is_last)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Work | None:
        """Tell the other ranks that this one has inputs; a Joinable calls it once in each step, before its collectives.

        Only the first joinable of a context sends the message, and gets its handle.
        """
        config = joinable._join_config
        if not (config.enable and config.is_first_joinable):
            return None
        group, device = joinable.join_process_group, joinable.join_device
        work = distributed.all_reduce(undertow.ones(1, device=device), group=group, async_op=True)
        if config.throw_on_early_termination and _total(group, device, 0):  # ranks without inputs
            raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        return work


def _total(group: Any, device: Any, mine: int) -> int:
    """Return the sum of the ranks' numbers."""
    number = undertow.full((1,), float(mine), device=device)
    distributed.all_reduce(number, group=group)
    return int(number)
