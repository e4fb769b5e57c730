"""Cyclic learning-rate schedules, and the one that depends on a metric."""

from __future__ import annotations

import functools
import math
import warnings

from undertow.optim.lr_scheduler import EPOCH_DEPRECATION_WARNING, LRScheduler, _copy, _set
from undertow.optim.optimizer import Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _each(name: str, groups: list[Any], value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        if len(value) != len(groups):
            raise ValueError(
                f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, param_groups has {len(groups)}."
            )
        return [_copy(v) for v in value]
    return [_copy(value) for _ in groups]


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the learning rate by `factor` when a metric has not improved for `patience` epochs."""

    optimizer: Optimizer
    factor: float
    patience: int
    cooldown: int
    eps: float
    threshold: float
    mode_worse: float
    last_epoch: int
    best: float
    default_min_lr: float | None
    min_lrs: list[float]
    cooldown_counter: int
    num_bad_epochs: int

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] | tuple[float, ...] = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        if isinstance(min_lr, (list, tuple)) and len(min_lr) != len(optimizer.param_groups):
            raise ValueError(f"expected {len(optimizer.param_groups)} min_lrs, got {len(min_lr)}")
        self.optimizer, self.factor, self.patience, self.cooldown, self.eps = optimizer, factor, patience, cooldown, eps
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * len(optimizer.param_groups)
        self._init_is_better(mode=mode, threshold=threshold, threshold_mode=threshold_mode)
        self.last_epoch = 0
        self._last_lr = [_copy(group["lr"]) for group in optimizer.param_groups]
        self._reset()

    def _init_is_better(self, mode: str, threshold: float, threshold_mode: str) -> None:
        if mode not in ("min", "max"):
            raise ValueError("mode " + mode + " is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError("threshold mode " + threshold_mode + " is unknown!")
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.mode_worse = math.inf if mode == "min" else -math.inf

    def _reset(self) -> None:
        self.best = self.mode_worse
        self.cooldown_counter = self.num_bad_epochs = 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]  # as in torch: it watches a metric
        """Update the schedule with the metric of one epoch."""
        current = float(metrics)
        if epoch is None:
            epoch = self.last_epoch + 1
        else:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self.last_epoch = epoch
        if self._is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(epoch)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._rates()

    def _reduce_lr(self, epoch: int) -> None:
        if len(self.optimizer.param_groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    "The number of param groups in the `optimizer` "
                    f"({len(self.optimizer.param_groups)}) differs from when `ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually "
                    "due to a new param group being added to the optimizer. Please modify the `min_lrs` field to match the length of the "
                    "`optimizer` param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(self.optimizer.param_groups)
        for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                _set(group, "lr", new)

    @property
    def in_cooldown(self) -> bool:
        """Whether the learning rate was reduced recently."""
        return self.cooldown_counter > 0

    def _is_better(self, a: float, best: float) -> bool:
        """Return True if `a` is an improvement on `best`."""
        if self.threshold_mode == "rel":
            return a < best * (1.0 - self.threshold) if self.mode == "min" else a > best * (self.threshold + 1.0)
        return a < best - self.threshold if self.mode == "min" else a > best + self.threshold

    def is_better(self, a: float, best: float) -> bool:
        """Return True if `a` is an improvement on `best`: the name in older versions of PyTorch."""
        return self._is_better(a, best)


class CyclicLR(LRScheduler):
    """Moves linearly up and down between two learning rates; the amplitude may shrink with each cycle or step."""

    max_lrs: list[Any]
    mode: str
    gamma: float
    scale_mode: str
    use_beta1: bool
    base_momentums: list[Any]
    max_momentums: list[Any]
    base_lrs: list[Any]
    total_size: float
    step_ratio: float

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        groups = optimizer.param_groups
        self.optimizer = optimizer
        if last_epoch == -1:
            for group, lr in zip(groups, _each("base_lr", groups, base_lr), strict=True):
                _set(group, "lr", lr)
        self.max_lrs = _each("max_lr", groups, max_lr)
        self.total_size = float(step_size_up) + float(step_size_up if step_size_down is None else step_size_down)
        self.step_ratio = float(step_size_up) / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
                raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
            self.use_beta1 = "betas" in optimizer.defaults
            self.base_momentums = _each("base_momentum", groups, base_momentum)
            self.max_momentums = _each("max_momentum", groups, max_momentum)
            if last_epoch == -1:
                for most, least, group in zip(self.max_momentums, self.base_momentums, groups, strict=True):
                    self._set_momentum(group, most)
                    group["max_momentum"], group["base_momentum"] = most, least
        super().__init__(optimizer, last_epoch)
        self.base_lrs = _each("base_lr", groups, base_lr)

    def _set_momentum(self: CyclicLR | OneCycleLR, group: dict[str, Any], momentum: float) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum

    @property
    def _scale_fn_ref(self) -> Callable[[float], float]:  # torch's name
        if self.mode == "exp_range":
            return functools.partial(self._exp_range_scale_fn, self.gamma)
        return self._triangular_scale_fn if self.mode == "triangular" else self._triangular2_scale_fn

    def scale_fn(self, x: float) -> float:
        """Return the amplitude of a cycle."""
        return (self._scale_fn_custom or self._scale_fn_ref)(x)

    @staticmethod
    def _triangular_scale_fn(x: float) -> float:
        return 1.0

    @staticmethod
    def _triangular2_scale_fn(x: float) -> float:
        return 1 / (2.0 ** (x - 1))

    @staticmethod
    def _exp_range_scale_fn(gamma: float, x: float) -> float:
        return gamma**x

    def get_lr(self) -> list[Any]:
        """Return the learning rates of this step, and set the momentum."""
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        rates = [base + (most - base) * height * scale for base, most in zip(self.base_lrs, self.max_lrs, strict=True)]
        if self.cycle_momentum:
            for group, least, most in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True):
                self._set_momentum(group, most - (most - least) * height * scale)
        return rates

    def state_dict(self) -> dict[str, Any]:
        """Return all state except the optimizer; a user-defined function is included only if it is an object with attributes."""
        state = super().state_dict()
        own = state.pop("_scale_fn_custom", None)
        import types

        state["_scale_fn_custom"] = None if own is None or isinstance(own, types.FunctionType) else own.__dict__.copy()
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state returned by `state_dict`."""
        state = dict(state_dict)
        kept = state.pop("_scale_fn_custom", None)
        super().load_state_dict(state)
        if kept is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(kept)


class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosine annealing to eta_min in T_0 epochs, then a restart; each cycle is T_mult times as long as the previous one."""

    T_i: int
    T_mult: int
    eta_min: float | int
    T_cur: float
    last_epoch: int

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = self.T_i = T_0
        self.T_mult, self.eta_min, self.T_cur = T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Return the learning rates of this epoch."""
        self._warn_outside_step()
        return [self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2 for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Advance to the next epoch, or to the given one, which may be fractional."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            if epoch < self.T_0:
                self.T_i, self.T_cur = self.T_0, epoch
            elif self.T_mult == 1:
                self.T_i, self.T_cur = self.T_0, epoch % self.T_0
            else:
                n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
                self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
                self.T_i = self.T_0 * self.T_mult**n
        self.last_epoch = math.floor(epoch)
        self._get_lr_called_within_step = True
        try:
            values = self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            _set(group, "lr", lr)
        self._last_lr = [_copy(group["lr"]) for group in self.optimizer.param_groups]


class OneCycleLR(LRScheduler):
    """Increases the learning rate to max_lr and then decreases it, once in total_steps steps; the momentum moves in the opposite direction."""

    total_steps: int
    use_beta1: bool

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        if total_steps is not None:
            if total_steps <= 0 or not isinstance(total_steps, int):
                raise ValueError(f"Expected positive integer total_steps, but got {total_steps}")
            self.total_steps = total_steps
        elif epochs is not None and steps_per_epoch is not None:
            if not isinstance(epochs, int) or epochs <= 0:
                raise ValueError(f"Expected positive integer epochs, but got {epochs}")
            if not isinstance(steps_per_epoch, int) or steps_per_epoch <= 0:
                raise ValueError(f"Expected positive integer steps_per_epoch, but got {steps_per_epoch}")
            self.total_steps = epochs * steps_per_epoch
        else:
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        first = float(pct_start * self.total_steps) - 1
        phase = lambda end, *names: dict(zip(("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum"), (end, *names), strict=True))
        if three_phase:
            self._schedule_phases = [
                phase(first, "initial_lr", "max_lr", "max_momentum", "base_momentum"),
                phase(float(2 * pct_start * self.total_steps) - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                phase(self.total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
            ]
        else:
            self._schedule_phases = [
                phase(first, "initial_lr", "max_lr", "max_momentum", "base_momentum"),
                phase(self.total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum"),
            ]
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        groups = optimizer.param_groups
        if last_epoch == -1:
            for group, most in zip(groups, _each("max_lr", groups, max_lr), strict=True):
                group["initial_lr"] = most / div_factor
                group["max_lr"] = most
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
                raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
            self.use_beta1 = "betas" in optimizer.defaults
            if last_epoch == -1:
                both = zip(_each("max_momentum", groups, max_momentum), _each("base_momentum", groups, base_momentum), groups, strict=True)
                for most, least, group in both:
                    self._set_momentum(group, most)
                    group["max_momentum"], group["base_momentum"] = most, least
        super().__init__(optimizer, last_epoch)

    _set_momentum = CyclicLR._set_momentum

    def _anneal_func(self, start: Any, end: Any, pct: float) -> Any:
        kind = getattr(self, "_anneal_func_type", None)
        if kind is None:  # a state dict of an old version holds the function itself
            return self.anneal_func(start, end, pct)  # type: ignore[attr-defined]
        return self._annealing_linear(start, end, pct) if kind == "linear" else self._annealing_cos(start, end, pct)

    @staticmethod
    def _annealing_cos(start: Any, end: Any, pct: float) -> Any:
        return end + (start - end) / 2.0 * (math.cos(math.pi * pct) + 1)

    @staticmethod
    def _annealing_linear(start: Any, end: Any, pct: float) -> Any:
        return (end - start) * pct + start

    def get_lr(self) -> list[Any]:
        """Return the learning rates of this step, and set the momentum."""
        self._warn_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        rates = []
        for group in self.optimizer.param_groups:
            start = 0.0
            for i, phase in enumerate(self._schedule_phases):
                if step <= phase["end_step"] or i == len(self._schedule_phases) - 1:
                    part = (step - start) / (phase["end_step"] - start)
                    rates.append(self._anneal_func(group[phase["start_lr"]], group[phase["end_lr"]], part))
                    if self.cycle_momentum:
                        self._set_momentum(group, self._anneal_func(group[phase["start_momentum"]], group[phase["end_momentum"]], part))
                    break
                start = phase["end_step"]
        return rates
