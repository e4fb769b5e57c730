"""Learning-rate decay with the global step. Each function returns a function without arguments that computes the current rate.

Pass it to an optimizer as `learning_rate`; it is called at every step. The rate is a float64 tensor with one element.
"""

from __future__ import annotations

import math

import undertow
from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Rate = Callable[[], Tensor]


def _number(x: Any) -> float:
    """Return the value of a number, a tensor, or a function that returns one."""
    value = x() if callable(x) and not isinstance(x, Tensor) else x
    return float(value.item()) if isinstance(value, Tensor) else value


class _Decay:
    """A rate: a function of the step and of options that may be numbers, tensors or functions. A class, so that it can be pickled."""

    def __init__(self, what: str, rate_at: Callable[..., float], global_step: Any, *options: Any) -> None:
        if global_step is None:
            raise ValueError(f"global_step is required for {what}.")
        self._rate_at, self._global_step, self._options = rate_at, global_step, options

    def __call__(self) -> Tensor:
        return undertow.tensor(self._rate_at(_number(self._global_step), *map(_number, self._options)), dtype=undertow.float64)


def _turns(step: float, decay_steps: float, staircase: bool) -> float:
    return math.floor(step / decay_steps) if staircase else step / decay_steps


def _exponential(step: float, rate: float, decay_steps: float, decay_rate: float, staircase: bool) -> float:
    return rate * decay_rate ** _turns(step, decay_steps, staircase)


def _natural_exp(step: float, rate: float, decay_steps: float, decay_rate: float, staircase: bool) -> float:
    return rate * math.exp(-decay_rate * _turns(step, decay_steps, staircase))


def _inverse_time(step: float, rate: float, decay_steps: float, decay_rate: float, staircase: bool) -> float:
    return rate / (1 + decay_rate * _turns(step, decay_steps, staircase))


def _polynomial(step: float, rate: float, steps: float, end: float, power: float, cycle: bool) -> float:
    if cycle:
        steps *= max(1, math.ceil(step / steps))
    else:
        step = min(step, steps)
    return (rate - end) * (1 - step / steps) ** power + end


def _piecewise(step: float, count: int, *boundaries_then_values: float) -> float:
    passed = sum(step > b for b in boundaries_then_values[:count])
    return float(boundaries_then_values[count + passed])


def _cosine(step: float, rate: float, decay_steps: float, alpha: float) -> float:
    part = min(step, decay_steps) / decay_steps
    return rate * ((1 - alpha) * 0.5 * (1 + math.cos(math.pi * part)) + alpha)


def _cosine_restarts(step: float, rate: float, first_decay_steps: float, t_mul: float, m_mul: float, alpha: float) -> float:
    part, period = step / first_decay_steps, 0
    if t_mul == 1.0:
        period = math.floor(part)
        part -= period
    else:
        period = math.floor(math.log(1 - part * (1 - t_mul)) / math.log(t_mul))
        part = (part - (1 - t_mul**period) / (1 - t_mul)) / t_mul**period
    return rate * ((1 - alpha) * m_mul**period * 0.5 * (1 + math.cos(math.pi * part)) + alpha)


def _linear_cosine(step: float, rate: float, decay_steps: float, num_periods: float, alpha: float, beta: float) -> float:
    part = min(step, decay_steps) / decay_steps
    cosine = 0.5 * (1 + math.cos(2 * math.pi * num_periods * part))
    return rate * ((alpha + 1 - part) * cosine + beta)


def exponential_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False, name: str | None = None
) -> Rate:
    """Exponential decay: learning_rate * decay_rate ^ (global_step / decay_steps); with `staircase` the exponent is rounded down.

    >>> import undertow as ut
    >>> step = ut.train.Variable(0, name="global_step")
    >>> rate = ut.train.exponential_decay(0.1, step, 10, 0.5)
    >>> rate().item(), step.assign(10) is step, rate().item()
    (0.1, True, 0.05)
    """
    return _Decay("exponential_decay", _exponential, global_step, learning_rate, decay_steps, decay_rate, staircase)


def natural_exp_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False, name: str | None = None
) -> Rate:
    """Natural exponential decay: learning_rate * exp(-decay_rate * global_step / decay_steps)."""
    return _Decay("natural_exp_decay", _natural_exp, global_step, learning_rate, decay_steps, decay_rate, staircase)


def inverse_time_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False, name: str | None = None
) -> Rate:
    """Inverse time decay: learning_rate / (1 + decay_rate * global_step / decay_steps)."""
    return _Decay("inverse_time_decay", _inverse_time, global_step, learning_rate, decay_steps, decay_rate, staircase)


def polynomial_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    end_learning_rate: Any = 0.0001,
    power: Any = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Rate:
    """Polynomial decay from learning_rate to end_learning_rate in decay_steps, by (1 - step / decay_steps) ^ power.

    With `cycle`, decay_steps is extended to the next multiple that the step has not passed; otherwise the rate stays at the end.
    """
    return _Decay("polynomial_decay", _polynomial, global_step, learning_rate, decay_steps, end_learning_rate, power, cycle)


def piecewise_constant(x: Any, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None) -> Rate:
    """Piecewise constant rate: values[0] up to and including boundaries[0], values[1] up to boundaries[1], ..., the last value beyond.

    >>> import undertow as ut
    >>> ut.train.piecewise_constant(ut.tensor(5), [3, 6], [1.0, 0.5, 0.1])().item()
    0.5
    """
    if len(boundaries) != len(values) - 1:
        raise ValueError(f"The length of boundaries should be 1 less than the length of values: {len(boundaries)} and {len(values)}")
    return _Decay("piecewise_constant", _piecewise, x, len(boundaries), *boundaries, *values)


def cosine_decay(learning_rate: Any, global_step: Any, decay_steps: Any, alpha: float = 0.0, name: str | None = None) -> Rate:
    """Cosine decay from learning_rate to alpha * learning_rate in decay_steps."""
    return _Decay("cosine_decay", _cosine, global_step, learning_rate, decay_steps, alpha)


def cosine_decay_restarts(
    learning_rate: Any, global_step: Any, first_decay_steps: Any, t_mul: float = 2.0, m_mul: float = 1.0, alpha: float = 0.0, name: str | None = None
) -> Rate:
    """Cosine decay with restarts: each period is t_mul times as long as the previous one, and starts at m_mul times its rate."""
    return _Decay("cosine_decay_restarts", _cosine_restarts, global_step, learning_rate, first_decay_steps, t_mul, m_mul, alpha)


def linear_cosine_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, num_periods: float = 0.5, alpha: float = 0.0, beta: float = 0.001, name: str | None = None
) -> Rate:
    """Linear cosine decay: a linear decay times a cosine of num_periods periods, with offsets alpha and beta."""
    return _Decay("linear_cosine_decay", _linear_cosine, global_step, learning_rate, decay_steps, num_periods, alpha, beta)
