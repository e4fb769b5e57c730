"""ZeroRedundancyOptimizer: each process keeps the optimizer state of its share of the parameters (ZeRO, stage 1).

After a step, every process sends the parameters that it has updated to the others.
"""

from __future__ import annotations

import undertow
from undertow import distributed
from undertow.distributed._groups.groups import chosen
from undertow.distributed.algorithms.join import Join, Joinable, JoinHook
from undertow.optim import Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from undertow import Tensor

__all__ = ["ZeroRedundancyOptimizer"]


class _JoinHook(JoinHook):
    """Answers `step` with the step itself: a rank without inputs still has its part of the state."""

    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self._optimizer = optimizer

    def main_hook(self) -> None:
        self._optimizer._step(None)


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer of the class `optimizer_class` for all parameters, whose state is divided among the processes of a group.

    Gradients must be the same on all processes when `step` is called, as after a backward pass of DistributedDataParallel.
    """

    optim: Optimizer

    def __init__(
        self,
        params: Iterable[Any],
        optimizer_class: type[Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError("ZeroRedundancyOptimizer: overlap_with_ddp is not supported; the step runs after the backward pass")
        self.process_group = chosen(process_group)
        self._class, self._defaults = optimizer_class, defaults
        self._owner: dict[int, int] = {}
        self._load = [0] * self.process_group.size()
        self._gathered: list[dict[str, Any]] | None = None
        self._ready = False
        super().__init__(list(params), defaults)
        self._divide()
        mine = [self._own_part(group) for group in self.param_groups]
        self.optim = optimizer_class(
            [group for group in mine if group["params"]] or [{"params": [undertow.zeros(0, requires_grad=True)]}], **defaults
        )
        self._groups_here = [k for k, group in enumerate(mine) if group["params"]]
        self._pull_options()
        self._ready = True

    def _divide(self) -> None:
        """Give each parameter to the rank with the least elements so far, the largest first."""
        every = [p for group in self.param_groups for p in group["params"] if id(p) not in self._owner]
        for parameter in sorted(every, key=lambda p: -p.numel()):
            rank = self._load.index(min(self._load))
            self._owner[id(parameter)] = rank
            self._load[rank] += parameter.numel()

    def _own_part(self, group: dict[str, Any]) -> dict[str, Any]:
        mine = [p for p in group["params"] if self._owner[id(p)] == self.process_group.rank()]
        return {**{name: value for name, value in group.items() if name != "params"}, "params": mine}

    def _pull_options(self) -> None:
        """Take over the options that the inner optimizer's class added."""
        for number, group in zip(self._groups_here, self.optim.param_groups):
            for name, value in group.items():
                if name != "params":
                    self.param_groups[number].setdefault(name, value)

    def _push_options(self) -> None:
        """Give the inner optimizer the options that schedulers have changed."""
        for number, group in zip(self._groups_here, self.optim.param_groups):
            group.update({name: value for name, value in self.param_groups[number].items() if name != "params"})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters; they are divided among the processes too."""
        super().add_param_group(param_group)
        if not self._ready:
            return
        self._divide()
        mine = self._own_part(self.param_groups[-1])
        if mine["params"]:
            self.optim.add_param_group(mine)
            self._groups_here.append(len(self.param_groups) - 1)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters of this process, and exchange the updated ones."""
        Join.notify_join_context(self)
        return self._step(closure)

    def _step(self, closure: Callable[[], Any] | None) -> Any:
        self._push_options()
        loss = self.optim.step(closure) if closure is not None else self.optim.step()
        self._exchange()
        return loss

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return how a rank without inputs answers `step`."""
        return _JoinHook(self)

    @property
    def join_device(self) -> Any:
        """The device of the parameters."""
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self) -> Any:
        """The group that the state is divided among."""
        return self.process_group

    @undertow.no_grad()
    def _exchange(self) -> None:
        for rank in range(self.process_group.size()):
            by_dtype: dict[Any, list[Tensor]] = {}
            for group in self.param_groups:
                for parameter in group["params"]:
                    if self._owner[id(parameter)] == rank:
                        by_dtype.setdefault(parameter.dtype, []).append(parameter)
            for same in by_dtype.values():
                flat = undertow.cat([p.detach().reshape(-1) for p in same])
                distributed.broadcast(flat, group=self.process_group, group_src=rank)
                if rank != self.process_group.rank():
                    for parameter, part in zip(same, flat.split([p.numel() for p in same])):
                        parameter.detach().copy_(part.view(parameter.shape))

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Gather the state of all processes on rank `to`, for `state_dict`."""
        rank = self.process_group.rank()
        found: list[Any] | None = [None] * self.process_group.size() if rank == to else None
        distributed.gather_object(self._named_state(), found, group=self.process_group, group_dst=to)
        self._gathered = found

    def _positions(self) -> dict[int, int]:
        every = [p for group in self.param_groups for p in group["params"]]
        return {id(p): place for place, p in enumerate(every)}

    def _named_state(self) -> dict[int, Any]:
        """Return the state of this process by the position of the parameter."""
        places = self._positions()
        return {places[id(p)]: state for p, state in self.optim.state.items() if id(p) in places}

    def state_dict(self) -> dict[str, Any]:
        """Return the whole state as the plain optimizer would; `consolidate_state_dict` must have gathered it on this process."""
        if self._gathered is None:
            raise RuntimeError(
                f"Optimizer state has not been consolidated on this rank. Please call `consolidate_state_dict(to={self.process_group.rank()})` "
                "on all ranks beforehand if you meant to save the global state."
            )
        places = self._positions()
        groups = [{**group, "params": [places[id(p)] for p in group["params"]]} for group in self.param_groups]
        state = {place: value for part in self._gathered for place, value in part.items()}
        return {"state": dict(sorted(state.items())), "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a whole state; each process keeps its share."""
        every = [p for group in self.param_groups for p in group["params"]]
        for mine, theirs in zip(self.param_groups, state_dict["param_groups"]):
            mine.update({name: value for name, value in theirs.items() if name != "params"})
        self._push_options()
        here = [p for group in self.optim.param_groups for p in group["params"]]
        places = {id(p): place for place, p in enumerate(every)}
        inner = self.optim.state_dict()
        inner["state"] = {k: state_dict["state"][places[id(p)]] for k, p in enumerate(here) if places.get(id(p)) in state_dict["state"]}
        self.optim.load_state_dict(inner)
