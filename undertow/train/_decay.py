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


def _rate(what: str, global_step: Any, rate_at: Callable[[float], float]) -> Rate:
    if global_step is None:
        raise ValueError(f"global_step is required for {what}.")

    def decayed() -> Tensor:
        return undertow.tensor(rate_at(_number(global_step)), dtype=undertow.float64)

    return decayed


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

    def rate_at(step: float) -> float:
        turns = step / _number(decay_steps)
        return _number(learning_rate) * _number(decay_rate) ** (math.floor(turns) if staircase else turns)

    return _rate("exponential_decay", global_step, rate_at)


def natural_exp_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False, name: str | None = None
) -> Rate:
    """Natural exponential decay: learning_rate * exp(-decay_rate * global_step / decay_steps)."""

    def rate_at(step: float) -> float:
        turns = step / _number(decay_steps)
        return _number(learning_rate) * math.exp(-_number(decay_rate) * (math.floor(turns) if staircase else turns))

    return _rate("natural_exp_decay", global_step, rate_at)


def inverse_time_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False, name: str | None = None
) -> Rate:
    """Inverse time decay: learning_rate / (1 + decay_rate * global_step / decay_steps)."""

    def rate_at(step: float) -> float:
        turns = step / _number(decay_steps)
        return _number(learning_rate) / (1 + _number(decay_rate) * (math.floor(turns) if staircase else turns))

    return _rate("inverse_time_decay", global_step, rate_at)


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

    def rate_at(step: float) -> float:
        steps, end = _number(decay_steps), _number(end_learning_rate)
        if cycle:
            steps *= max(1, math.ceil(step / steps))
        else:
            step = min(step, steps)
        return (_number(learning_rate) - end) * (1 - step / steps) ** _number(power) + end

    return _rate("polynomial_decay", global_step, rate_at)


def piecewise_constant(x: Any, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None) -> Rate:
    """Piecewise constant rate: values[0] up to and including boundaries[0], values[1] up to boundaries[1], ..., the last value beyond.

    >>> import undertow as ut
    >>> ut.train.piecewise_constant(ut.tensor(5), [3, 6], [1.0, 0.5, 0.1])().item()
    0.5
    """
    if len(boundaries) != len(values) - 1:
        raise ValueError(f"The length of boundaries should be 1 less than the length of values: {len(boundaries)} and {len(values)}")

    def rate_at(step: float) -> float:
        passed = sum(step > _number(b) for b in boundaries)
        return float(_number(values[passed]))

    return _rate("piecewise_constant", x, rate_at)


def cosine_decay(learning_rate: Any, global_step: Any, decay_steps: Any, alpha: float = 0.0, name: str | None = None) -> Rate:
    """Cosine decay from learning_rate to alpha * learning_rate in decay_steps."""

    def rate_at(step: float) -> float:
        part = min(step, _number(decay_steps)) / _number(decay_steps)
        return _number(learning_rate) * ((1 - alpha) * 0.5 * (1 + math.cos(math.pi * part)) + alpha)

    return _rate("cosine_decay", global_step, rate_at)


def cosine_decay_restarts(
    learning_rate: Any, global_step: Any, first_decay_steps: Any, t_mul: float = 2.0, m_mul: float = 1.0, alpha: float = 0.0, name: str | None = None
) -> Rate:
    """Cosine decay with restarts: each period is t_mul times as long as the previous one, and starts at m_mul times its rate."""

    def rate_at(step: float) -> float:
        part, period = step / _number(first_decay_steps), 0
        if t_mul == 1.0:
            period = math.floor(part)
            part -= period
        else:
            period = math.floor(math.log(1 - part * (1 - t_mul)) / math.log(t_mul))
            part = (part - (1 - t_mul**period) / (1 - t_mul)) / t_mul**period
        return _number(learning_rate) * ((1 - alpha) * m_mul**period * 0.5 * (1 + math.cos(math.pi * part)) + alpha)

    return _rate("cosine_decay_restarts", global_step, rate_at)


def linear_cosine_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, num_periods: float = 0.5, alpha: float = 0.0, beta: float = 0.001, name: str | None = None
) -> Rate:
    """Linear cosine decay: a linear decay times a cosine of num_periods periods, with offsets alpha and beta."""

    def rate_at(step: float) -> float:
        part = min(step, _number(decay_steps)) / _number(decay_steps)
        cosine = 0.5 * (1 + math.cos(2 * math.pi * num_periods * part))
        return _number(learning_rate) * ((alpha + 1 - part) * cosine + beta)

    return _rate("linear_cosine_decay", global_step, rate_at)
