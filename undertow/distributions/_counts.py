"""Draws of a number of successes, one at a time."""

from __future__ import annotations

import math

import undertow

TYPE_CHECKING = False
if TYPE_CHECKING:

    from undertow import Tensor

__all__ = ["draw_binomial"]

def _uniform() -> float:
    return float(undertow.rand((), dtype=undertow.float64))


def _tail(k: float) -> float:
    """What Stirling's formula leaves of log k!."""
    table = (0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211, 0.0138761288230707)
    table += (0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287)
    if k <= 9:
        return table[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


def _by_waiting(count: float, prob: float) -> float:
    """Sums the waits between successes until they leave `count`: for few expected ones."""
    total, found, log_failure = 0.0, 0, math.log1p(-prob)
    while True:
        u = _uniform()
        total += math.ceil(math.log(u) / log_failure) if u > 0 else math.inf
        if total > count:
            return found
        found += 1


def _by_rejection(count: float, prob: float) -> float:
    """Hormann's transformed rejection with a squeeze (BTRS): for many expected successes."""
    deviation = math.sqrt(count * prob * (1 - prob))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    centre, reach = count * prob + 0.5, 0.92 - 4.2 / b
    odds, alpha, mode = prob / (1 - prob), (2.83 + 5.1 / b) * deviation, math.floor((count + 1) * prob)
    while True:
        u, v = _uniform() - 0.5, _uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + centre)
        if us >= 0.07 and v <= reach:
            return k
        if k < 0 or k > count:
            continue
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (count - mode + 1)))
            + (count + 1) * math.log((count - mode + 1) / (count - k + 1))
            + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
            + _tail(mode)
            + _tail(count - mode)
            - _tail(k)
            - _tail(count - k)
        )
        if math.log(v * alpha / (a / (us * us) + b)) <= bound:
            return k


def _one(count: float, prob: float) -> float:
    if math.isnan(count) or math.isnan(prob):
        return math.nan
    if count <= 0.0 or prob <= 0.0:
        return 0.0
    if prob >= 1.0:
        return count
    if prob > 0.5:
        return count - _one(count, 1 - prob)
    return _by_rejection(count, prob) if count * prob >= 10.0 else _by_waiting(count, prob)


def draw_binomial(count: Tensor, prob: Tensor) -> Tensor:
    """For each element, the successes among `count` trials of probability `prob`, with torch's draws."""
    count, prob = undertow.broadcast_tensors(count, prob)
    pairs = zip(count.double().flatten().tolist(), prob.double().flatten().tolist(), strict=True)
    return undertow.tensor([_one(n, p) for n, p in pairs], dtype=undertow.float64).reshape(count.shape).to(count.dtype)
