"""Averages of models: stochastic weight averaging and exponential moving averages."""

from __future__ import annotations

import math
from copy import deepcopy
from itertools import chain

import undertow
from undertow._C import Tensor
from undertow.nn.modules.module import Module
from undertow.optim._lr_cycles import _each
from undertow.optim.lr_scheduler import LRScheduler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

__all__ = ["AveragedModel", "SWALR", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn", "update_bn"]


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Tensor]:
    """Return a function that computes decay * average + (1 - decay) * new."""
    _check_decay(decay)

    def average(ema: Tensor, current: Tensor, num_averaged: Any) -> Tensor:
        with undertow.no_grad():
            return decay * ema + (1 - decay) * current

    return average


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """Return a function that updates lists of exponential averages in place."""
    _check_decay(decay)

    def average(ema: list[Tensor], current: list[Tensor], num_averaged: Any) -> None:
        with undertow.no_grad():
            for e, c in zip(ema, current, strict=True):
                if e.is_floating_point() or e.is_complex():
                    e.lerp_(c, 1 - decay)
                else:
                    e.copy_(e * decay + c * (1 - decay))

    return average


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_swa_avg_fn() -> Callable[..., Tensor]:
    """Return a function that updates an equal-weight mean."""

    def average(averaged: Tensor, current: Tensor, num_averaged: Any) -> Tensor:
        with undertow.no_grad():
            return averaged + (current - averaged) / (num_averaged + 1)

    return average


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """Return a function that updates lists of equal-weight means in place."""

    def average(averaged: list[Tensor], current: list[Tensor], num_averaged: Any) -> None:
        with undertow.no_grad():
            for a, c in zip(averaged, current, strict=True):
                if a.is_floating_point() or a.is_complex():
                    a.lerp_(c, float(1 / (num_averaged + 1)))
                else:
                    a.add_((c - a) // (num_averaged + 1))

    return average


class AveragedModel(Module):
    """A copy of a model with the average of the parameters passed to `update_parameters`."""

    module: Module
    if TYPE_CHECKING:
        avg_fn: Callable[..., Any] | None
        multi_avg_fn: Callable[..., Any] | None
    use_buffers: bool
    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable[..., Any] | None = None,
        multi_avg_fn: Callable[..., Any] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", undertow.tensor(0, dtype=undertow.long, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Return the output of the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Update the average with a model's current parameters."""
        mine = list(chain(self.module.parameters(), self.module.buffers()) if self.use_buffers else self.parameters())
        theirs = list(chain(model.parameters(), model.buffers()) if self.use_buffers else model.parameters())
        averaged = [m.detach() for m in mine]
        current = [t.detach().to(m.device) for m, t in zip(mine, theirs, strict=True)]
        if self.n_averaged == 0:
            for m, t in zip(averaged, current, strict=True):
                m.copy_(t)
        elif self.avg_fn is not None:
            for m, t in zip(averaged, current, strict=True):
                m.copy_(self.avg_fn(m, t, self.n_averaged.to(m.device)))
        else:
            (self.multi_avg_fn or get_swa_multi_avg_fn())(averaged, current, self.n_averaged)
        if not self.use_buffers:
            for m, t in zip(self.module.buffers(), model.buffers(), strict=True):
                m.detach().copy_(t.detach().to(m.device))
        self.n_averaged += 1


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Recompute the running statistics of a model's batch normalisations over the batches of a loader."""
    with undertow.no_grad():
        momenta = {}
        for module in model.modules():
            if hasattr(module, "running_mean") and hasattr(module, "reset_running_stats"):
                module.reset_running_stats()
                momenta[module] = module.momentum
        if not momenta:
            return
        was_training = model.training
        model.train()
        for module in momenta:
            module.momentum = None
        for input in loader:
            input = input[0] if isinstance(input, (list, tuple)) else input
            model(input if device is None else input.to(device))
        for module, momentum in momenta.items():
            module.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """Anneals the learning rate from its current value to swa_lr in anneal_epochs epochs, then keeps it constant."""

    anneal_epochs: int

    def __init__(self, optimizer: Any, swa_lr: Any, anneal_epochs: int = 10, anneal_strategy: str = "cos", last_epoch: int = -1) -> None:
        for rate, group in zip(_each("swa_lr", optimizer.param_groups, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._set_anneal_func(anneal_strategy)
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _set_anneal_func(self, anneal_strategy: str) -> None:
        self._anneal_strategy = anneal_strategy
        self.anneal_func: Callable[[float], float] = self._cosine_anneal if anneal_strategy == "cos" else self._linear_anneal

    @staticmethod
    def _linear_anneal(t: float) -> float:
        return t

    @staticmethod
    def _cosine_anneal(t: float) -> float:
        return (1 - math.cos(math.pi * t)) / 2

    @staticmethod
    def _get_initial_lr(lr: Any, swa_lr: Any, alpha: float) -> Any:
        return swa_lr if alpha == 1 else (lr - alpha * swa_lr) / (1 - alpha)

    def state_dict(self) -> dict[str, Any]:
        """Return all state except the optimizer and the function."""
        return {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "anneal_func")}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state returned by `state_dict`."""
        self.__dict__.update(state_dict)
        self._set_anneal_func(self._anneal_strategy)

    def get_lr(self) -> list[Any]:
        """Return the learning rates of this epoch."""
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before = self.anneal_func(max(0, min(1, (step - 1) / max(1, self.anneal_epochs))))
        now = self.anneal_func(max(0, min(1, step / max(1, self.anneal_epochs))))
        rates = []
        for group in self.optimizer.param_groups:
            start = self._get_initial_lr(group["lr"], group["swa_lr"], before)
            rates.append(group["swa_lr"] * now + start * (1 - now))
        return rates
