"""Learning-rate schedules, like `torch.optim.lr_scheduler`. Cyclic and metric-dependent ones are in _lr_cycles.py,
those composed of others in _lr_composed.py."""

from __future__ import annotations

import math
import types
import warnings
from bisect import bisect_right
from collections import Counter
from weakref import ref

from undertow._C import Tensor
from undertow._lazy import names_from as _names_from
from undertow.optim.optimizer import Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow.optim._lr_composed import ChainedScheduler, SequentialLR
    from undertow.optim._lr_cycles import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR, ReduceLROnPlateau

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]

_ORDER = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler."
)


def _set(group: dict[str, Any], key: str, value: Any) -> None:
    """Set an option; if it is a tensor, fill it in place."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value.item() if isinstance(value, Tensor) else value)
    else:
        group[key] = value


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


class LRScheduler:
    """Base class of schedules: counts epochs and writes the result of `get_lr` to the optimizer's groups."""

    if TYPE_CHECKING:
        base_lrs: list[Any]
    last_epoch: int
    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copy(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with last_epoch >= 0. This typically "
                    "happens when the optimizer's state was not loaded first"
                )
        self.base_lrs = [_copy(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._note_steps(optimizer)
        self._initial_step()

    @staticmethod
    def _note_steps(optimizer: Any) -> None:
        """Make the optimizer record its steps, to warn if the schedule steps first."""
        if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
            return
        step, weak = optimizer.step.__func__, ref(optimizer)

        def counted(*args: Any, **kwargs: Any) -> Any:
            owner: Any = weak()
            owner._opt_called = True
            return step.__get__(owner, type(owner))(*args, **kwargs)

        counted._wrapped_by_lr_sched = True  # type: ignore[attr-defined]  # torch's mark
        optimizer.step = counted

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        self.step()
        self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Return all state except the optimizer."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state returned by `state_dict`."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """Return the last learning rates."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """Return the learning rates of this epoch, computed from those of the previous one."""
        raise NotImplementedError

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.", UserWarning, stacklevel=3)

    def step(self, epoch: int | None = None) -> None:
        """Advance to the next epoch, or to the given one."""
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(
                    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make sure to call "
                    f"`optimizer.step()` before `lr_scheduler.step()`. {_ORDER}",
                    UserWarning,
                    stacklevel=2,
                )
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(
                    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call them in the "
                    "opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping the "
                    f"first value of the learning rate schedule. {_ORDER}",
                    UserWarning,
                    stacklevel=2,
                )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                values = self.get_lr()
            else:
                self.last_epoch = epoch
                values = self._get_closed_form_lr() if hasattr(self, "_get_closed_form_lr") else self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            _set(group, "lr", lr)
        self._last_lr = [_copy(group["lr"]) for group in self.optimizer.param_groups]

    def _rates(self) -> list[Any]:
        return [_copy(group["lr"]) for group in self.optimizer.param_groups]


_LRScheduler = LRScheduler


def _per_group(optimizer: Optimizer, functions: Any) -> list[Any]:
    if not isinstance(functions, (list, tuple)):
        return [functions] * len(optimizer.param_groups)
    if len(functions) != len(optimizer.param_groups):
        raise ValueError(f"Expected {len(optimizer.param_groups)} lr_lambdas, but got {len(functions)}")
    return list(functions)


class LambdaLR(LRScheduler):
    """The initial learning rate times `lr_lambda(epoch)`."""

    if TYPE_CHECKING:
        lr_lambdas: list[Any]

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        self.lr_lambdas = _per_group(optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return all state except the optimizer; functions are not included, attributes of callable objects are."""
        state = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "lr_lambdas")}
        state["lr_lambdas"] = [None if isinstance(f, types.FunctionType) else f.__dict__.copy() for f in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state returned by `state_dict`."""
        lambdas = state_dict.pop("lr_lambdas")
        self.__dict__.update(state_dict)
        state_dict["lr_lambdas"] = lambdas
        for mine, kept in zip(self.lr_lambdas, lambdas, strict=True):
            if kept is not None:
                mine.__dict__.update(kept)

    def get_lr(self) -> list[Any]:
        """Return the learning rates of this epoch."""
        self._warn_outside_step()
        return [base * f(self.last_epoch) for f, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(LambdaLR):
    """The previous learning rate times `lr_lambda(epoch)`."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        for function in _per_group(optimizer, lr_lambda):
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self) -> list[Any]:
        """Return the learning rates of this epoch."""
        self._warn_outside_step()
        if self._is_initial:
            return self._rates()
        return [lr * f(self.last_epoch) for f, lr in zip(self.lr_lambdas, self._rates(), strict=True)]


class StepLR(LRScheduler):
    """Multiplies the learning rate by gamma every step_size epochs."""

    step_size: int
    gamma: float

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Return the learning rates of this epoch."""
        self._warn_outside_step()
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._rates()
        return [lr * self.gamma for lr in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiplies the learning rate by gamma at each milestone."""

    milestones: Counter[int]
    gamma: float

    def __init__(self, optimizer: Optimizer, milestones: Sequence[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Return the learning rates of this epoch."""
        self._warn_outside_step()
        return [lr * self.gamma ** self.milestones[self.last_epoch] if self.last_epoch in self.milestones else lr for lr in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """Multiplies the learning rate by `factor` for total_iters epochs, then restores it."""

    factor: float
    total_iters: int

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Return the learning rates of this epoch."""
        self._warn_outside_step()
        if self.last_epoch == 0:
            return [lr * self.factor for lr in self._rates()]
        if self.last_epoch != self.total_iters:
            return self._rates()
        return [lr * (1.0 / self.factor) for lr in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * (self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)) for base in self.base_lrs]


class LinearLR(LRScheduler):
    """Multiplies the learning rate by a factor that changes linearly from start_factor to end_factor in total_iters epochs."""

    start_factor: float
    end_factor: float
    total_iters: int

    def __init__(
        self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Return the learning rates of this epoch."""
        self._warn_outside_step()
        if self.last_epoch == 0:
            return [lr * self.start_factor for lr in self._rates()]
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        rise = self.end_factor - self.start_factor
        return [lr * (1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)) for lr in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        rise = self.end_factor - self.start_factor
        return [base * (self.start_factor + rise * min(self.total_iters, self.last_epoch) / self.total_iters) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiplies the learning rate by gamma every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Return the learning rates of this epoch."""
        self._warn_outside_step()
        return self._rates() if self._is_initial else [lr * self.gamma for lr in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Polynomial decay to zero in total_iters epochs."""

    total_iters: int
    power: float

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Return the learning rates of this epoch."""
        self._warn_outside_step()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        decay = ((1.0 - self.last_epoch / self.total_iters) / (1.0 - (self.last_epoch - 1) / self.total_iters)) ** self.power
        return [lr * decay for lr in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * (1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Cosine annealing from the initial learning rate to eta_min in T_max epochs, and back."""

    T_max: int
    eta_min: float

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Return the learning rates of this epoch."""
        self._warn_outside_step()
        if self._is_initial:
            return self._rates()
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            return [
                lr + (base - self.eta_min) * (1 - math.cos(math.pi / self.T_max)) / 2 for base, lr in zip(self.base_lrs, self._rates(), strict=True)
            ]
        ratio = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / (1 + math.cos(math.pi * (self.last_epoch - 1) / self.T_max))
        return [ratio * (lr - self.eta_min) + self.eta_min for lr in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        return [self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2 for base in self.base_lrs]


if TYPE_CHECKING:
    from undertow.optim._lr_composed import ChainedScheduler as ChainedScheduler
    from undertow.optim._lr_composed import SequentialLR as SequentialLR
    from undertow.optim._lr_cycles import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
    from undertow.optim._lr_cycles import CyclicLR as CyclicLR
    from undertow.optim._lr_cycles import OneCycleLR as OneCycleLR
    from undertow.optim._lr_cycles import ReduceLROnPlateau as ReduceLROnPlateau
else:
    __getattr__ = _names_from(
        __name__,
        {
            "undertow.optim._lr_composed": "ChainedScheduler SequentialLR",
            "undertow.optim._lr_cycles": "CosineAnnealingWarmRestarts CyclicLR OneCycleLR ReduceLROnPlateau",
        },
    )
