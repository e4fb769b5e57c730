"""The order in which the groups of a model are used, so that the parameters of the next one are gathered while this one computes.

The order is that of the previous forward pass of the outermost module; the backward pass takes it from its end. Every rank runs the same
program, so every rank gathers in the same order.
"""

from __future__ import annotations

import contextlib
import threading

import undertow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from undertow.distributed.fsdp._unshard import ParameterGroup


class _Pass(threading.local):
    """The forward pass that this thread is in: the groups used so far; None outside."""

    used: list[ParameterGroup | None] | None = None


_pass = _Pass()


@contextlib.contextmanager
def forward_pass(group: ParameterGroup | None) -> Iterator[None]:
    """Context manager of a module's forward pass: notes the place of its group in the order; None: it has no parameters of its own."""
    if _pass.used is not None:
        _pass.used.append(group)
        yield
        return
    if undertow._C._current_graph_task_id() >= 0:  # a checkpoint recomputes, in a backward pass
        yield
        return
    used = _pass.used = [group]
    try:
        yield
    finally:
        _pass.used = None
        mine = [one for one in used if one is not None]
        for other in {other for one in mine for other in one.prefetch.order if other is not None}:
            other.drop_unused()  # the pass went another way than the one before
        for one in mine:
            one.prefetch.order = used


class Prefetch:
    """What one group gathers ahead."""

    def __init__(self, group: ParameterGroup) -> None:
        self._group = group
        self.order: list[ParameterGroup | None] = [group]  # of the outermost module that this group was last used in, which is first
        self.forward: list[ParameterGroup] | None = None  # chosen by the program
        self.backward: list[ParameterGroup] | None = None

    def after_forward_gather(self) -> None:
        """Start to gather what the forward pass uses next."""
        if _pass.used is None:
            return
        after = self.order[self.order.index(self._group) + 1 :][:1]
        for group in self.forward if self.forward is not None else after:
            if group is not None:
                group.start_gather()

    def after_backward_gather(self) -> None:
        """Start to gather what the backward pass uses next: the group used before this one, and after the outermost the last."""
        before = self.order[self.order.index(self._group) - 1]
        for group in self.backward if self.backward is not None else [before]:
            if group is not None and group is not self.order[0]:
                group.start_gather_for_backward()
