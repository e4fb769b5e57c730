"""Optimizers that update each element independently: one native update for a whole parameter group.

A subclass names the core's algorithm (core/kernels/cpu/optim/optim.isa.cpp), its states in the algorithm's order, and the constants
of a step. `_formula` is the same update in tensor operations, for `differentiable=True`. There the options may be tensors that require
grad, so constants are computed by `hyper` and `root` and remain tensors.
"""

from __future__ import annotations

import math

import undertow
from undertow import _C
from undertow._C import Tensor
from undertow.optim import _operators
from undertow.optim.optimizer import Optimizer, _fill_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_NATIVE = (undertow.float32, undertow.float64)
_NATIVE_ON_GPU = (*_NATIVE, undertow.float16, undertow.bfloat16)


_CALLED = {"lr": "learning rate", "eps": "epsilon value"}  # names in torch's errors that differ from the option's name


def check_option(name: str, value: Any) -> None:
    """Raise torch's error if an option is out of range. Options not listed here must be at least zero."""
    if name == "betas":
        for i, beta in enumerate(value):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
    elif name == "etas":
        if not 0.0 < value[0] < 1.0 < value[1]:
            raise ValueError(f"Invalid eta values: {value[0]}, {value[1]}")
    elif name == "lr" and isinstance(value, Tensor) and value.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    elif not value >= 0.0 or (name == "rho" and value > 1.0):
        raise ValueError(f"Invalid {_CALLED.get(name, name + ' value')}: {value}")


def options(arguments: dict[str, Any], check: str) -> dict[str, Any]:
    """Return the defaults of an optimizer's groups from its constructor's `locals()`; the options in `check` are checked in that order.

    `foreach`, `fused` and `capturable` select among torch's implementations; Undertow has only one.
    """
    found = {name: value for name, value in arguments.items() if name not in ("self", "params", "__class__")}
    for name in check.split():
        check_option(name, found[name])
    if "fused" in found:
        check_fused(found["fused"], found["foreach"], found["differentiable"])
    return found


def check_fused(fused: Any, foreach: Any, differentiable: bool) -> None:
    """Raise for options that torch does not allow together."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def hyper(value: Any, group: dict[str, Any]) -> Any:
    """Return an option as a number; in a differentiable step it remains a tensor if it is one."""
    return value.item() if isinstance(value, Tensor) and not group.get("differentiable") else value


def root(value: Any) -> Any:
    """Return the square root of a number or tensor."""
    return value.sqrt() if isinstance(value, Tensor) else math.sqrt(value)


def plus_decay(g: Tensor, p: Tensor, decay: Any) -> Tensor:
    """Return the gradient with weight decay. A tensor stays in the graph even if it is zero."""
    return g + p * decay if isinstance(decay, Tensor) or decay else g


_FUSED_ON = "['mps', 'cuda', 'xpu', 'hpu', 'cpu', 'mtia', 'privateuseone']"
_CAPTURABLE_ON = "['cuda', 'xpu', 'hpu', 'privateuseone', 'xla']"


def check_flags(group: dict[str, Any], of_step: str) -> None:
    """Raise in a step for parameters that torch's implementations do not support: complex or meta with fused, on the CPU with capturable."""
    first = next((p for p in group["params"] if p.grad is not None), None)
    if first is None:
        return
    if group.get("fused"):
        if not first.is_floating_point() or first.is_meta:
            raise RuntimeError(
                "`fused=True` requires all the params to be floating point Tensors of supported devices: "
                f"{_FUSED_ON} but {first.dtype} and {first.device}"
            )
    elif group.get("capturable") and not first.is_cuda:
        raise AssertionError(f"If capturable=True, {of_step} must be on supported devices: {_CAPTURABLE_ON}.")


class Elementwise(Optimizer):
    """The step of all elementwise optimizers."""

    _algorithm: str
    _on_device = "params and state_steps"  # what torch requires on a capturable device, for the error message
    _counts_steps = True
    _since: dict[str, object] = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}  # options that old files lack
    _counters: tuple[str, ...] = ("step",)  # states of one number, the step first; in old files they are no tensors

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        _fill_in(self, self._since, self._counters)

    def _states(self, group: dict[str, Any]) -> list[str | None]:
        """Return the state keys in the algorithm's order; None for a state that this group's options do not need."""
        raise NotImplementedError

    def _fresh(self, key: str, p: Tensor, group: dict[str, Any]) -> Tensor:
        """Return the initial value of a state."""
        return undertow.zeros_like(p, memory_format=undertow.preserve_format)

    def _constants(self, group: dict[str, Any], step: Any, state: dict[str, Any]) -> tuple[Any, ...]:
        """Return the algorithm's constants for this step number.

        In a captured step, the step number and the other states in `_counters` are tensors on the device, with an element for each parameter.
        """
        raise NotImplementedError

    def _formula(self, p: Tensor, g: Tensor, states: list[Any], c: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the new parameter and states, computed with tensor operations from the old ones. It changes nothing in place."""
        raise NotImplementedError

    def _same_for_all(self) -> bool:
        """Return True if the constants depend only on the options and the step number."""
        return True

    def _begin(self, p: Tensor, group: dict[str, Any], keys: list[str | None]) -> dict[str, Any]:
        state = self.state[p]
        if self._counts_steps:
            state["step"] = undertow.tensor(0.0, dtype=undertow.float32)
        for key in keys:
            if key is not None:
                state[key] = self._fresh(key, p, group)
        return state

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Perform one step; return the result of `closure`, if given."""
        loss = self._loss_of(closure)
        for group in self.param_groups:
            if group.get("capturable") or group.get("fused"):
                check_flags(group, self._on_device)
            if group.get("differentiable"):
                self._step_group(group)
            elif self._is_captured(group):
                with undertow.no_grad():
                    self._step_captured(group)
            else:
                with undertow.no_grad():
                    self._step_group(group)
        return loss

    def _step_group(self, group: dict[str, Any]) -> None:
        keys = self._states(group)
        params: list[Tensor] = []
        grads: list[Tensor] = []
        kept: list[list[Tensor]] = [[] for _ in keys]
        rows: list[tuple[Any, ...]] = []
        native = not group.get("differentiable")
        by_step: dict[float, tuple[Any, ...]] = {}
        for p in group["params"]:
            g = p.grad
            if g is None:
                continue
            if g.is_sparse:
                self._step_sparse(p, g, group)
                continue
            state = self.state.get(p)  # indexing would create an empty entry for a parameter that needs none
            if not state or (keys and keys[0] is not None and keys[0] not in state):
                state = self._begin(p, group, keys)
            if _operators.are_seen(p, g) and not p.is_complex():
                self._step_seen(p, g, state, group, keys)
                continue
            number = 0.0
            if self._counts_steps:
                state["step"] += 1
                number = state["step"].item()
            if self._same_for_all():
                row = by_step.get(number)
                if row is None:
                    row = by_step[number] = self._constants(group, number, state)
            else:
                row = self._constants(group, number, state)
            if not native or p.dtype not in (_NATIVE_ON_GPU if p.is_cuda else _NATIVE):
                self._step_apart(p, g, [None if k is None else state[k] for k in keys], row, native)
                continue
            params.append(p)
            grads.append(g)
            for place, key in zip(kept, keys, strict=True):
                if key is not None:
                    place.append(state[key])
            rows.append(row)
        if params:
            _C._optim_update(self._algorithm, [params, grads, *kept], rows[0] if len(by_step) == 1 else rows)

    def _is_captured(self, group: dict[str, Any]) -> bool:
        """Return True if the step must not read numbers of the device, so that a graph of CUDA can have it."""
        if not self._counts_steps or not any(p.is_cuda for p in group["params"]):
            return False
        if group.get("capturable"):
            return True
        if undertow.cuda.is_current_stream_capturing():
            raise RuntimeError(
                f"Attempting CUDA graph capture of step() for an instance of {type(self).__name__} but param_groups' capturable is False. "
                "Each replay would repeat the same step; use capturable=True"
            )
        return False

    def _step_captured(self, group: dict[str, Any]) -> None:
        """Perform the step of a group on a GPU with step counters that are there too, so that replays of a captured step count on."""
        keys = self._states(group)
        params = [p for p in group["params"] if p.grad is not None]
        if not params:
            return
        states = []
        for p in params:
            state = self.state.get(p)
            states.append(state if state else self._begin(p, group, keys))
        steps = self._on_device_as_one(states, "step", params[0].device)
        steps += 1
        numbers = {key: self._on_device_as_one(states, key, params[0].device) for key in self._counters[1:]}
        row = self._constants({**group, "differentiable": True}, steps.double(), numbers)
        columns = [
            c.double().reshape(-1).expand(len(params)) if isinstance(c, Tensor) else undertow.full_like(steps, c, dtype=undertow.float64) for c in row
        ]
        lists = [[] if k is None else [s[k] for s in states] for k in keys]
        _C._optim_update(self._algorithm, [params, [p.grad for p in params], *lists], undertow.stack(columns, 1))

    def _on_device_as_one(self, states: list[dict[str, Any]], key: str, device: Any) -> Tensor:
        """Return the numbers of the states under a key as one tensor on the device, of which they are views from now on."""
        first: Tensor = states[0][key]
        size = first.element_size()
        shared = first.device == device and first.untyped_storage().nbytes() == len(states) * size
        if shared and all(s[key].data_ptr() == first.data_ptr() + i * size for i, s in enumerate(states)):
            return _C._tensor_over(first.untyped_storage(), first.dtype, 0, (len(states),), (1,))
        numbers = undertow.stack([s[key].to(device) for s in states])
        for i, state in enumerate(states):
            state[key] = numbers[i]
        return numbers

    def _step_sparse(self, p: Tensor, g: Tensor, group: dict[str, Any]) -> None:
        """Update a parameter whose gradient is sparse."""
        of = next(cls.__name__ for cls in type(self).__mro__ if "_states" in vars(cls))
        raise RuntimeError(f"{of} does not support sparse gradients" + (", please consider SparseAdam instead" if of == "Adam" else ""))

    def _step_seen(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any], keys: list[str | None]) -> None:
        """Update a parameter with operators, which a `__torch_dispatch__` sees."""
        found = _operators.STEPS.get(self._algorithm)
        if found is not None and not group.get("differentiable"):
            found(p, g, state, group, self._is_first(state))
            return
        number = 0.0
        if self._counts_steps:
            state["step"] += 1
            number = state["step"].item()
        self._step_recorded(p, g, [None if k is None else state[k] for k in keys], self._constants(group, number, state))

    def _is_first(self, state: dict[str, Any]) -> bool:
        """Return True if the state was created in this step, and its content is not defined yet."""
        return False

    def _step_apart(self, p: Tensor, g: Tensor, states: list[Any], row: tuple[Any, ...], native: bool) -> None:
        """Update a parameter that the native update does not support directly."""
        if p.is_complex():
            p, g = undertow.view_as_real(p), undertow.view_as_real(g)
            states = [undertow.view_as_real(s) if s is not None and s.is_complex() else s for s in states]
        if not native:
            self._step_recorded(p, g, states, row)
        elif p.dtype in _NATIVE:
            _C._optim_update(self._algorithm, [[p], [g], *([] if s is None else [s] for s in states)], row)
        else:  # half types are computed in float32 and rounded once
            wide: list[Any] = [None if s is None else s.float() for s in (p, *states)]
            _C._optim_update(self._algorithm, [[wide[0]], [g.float()], *([] if s is None else [s] for s in wide[1:])], row)
            for narrow, computed in zip((p, *states), wide, strict=True):
                if narrow is not None:
                    narrow.copy_(computed)

    def _step_recorded(self, p: Tensor, g: Tensor, states: list[Any], row: tuple[Any, ...]) -> None:
        """Update a parameter with operations that autograd records.

        The formula reads copies: this step and later ones write the parameter and the states, and must not write what a node has saved.
        """
        constants = tuple(c.squeeze() if isinstance(c, Tensor) else c for c in row)
        updated = self._formula(p.clone(), g, [None if s is None else s.clone() for s in states], constants)
        for place, value in zip((p, *states), updated, strict=True):
            if place is not None:
                place.copy_(value)
