"""Cases for the entries of ops/recurrent.toml."""

from __future__ import annotations

import numpy as np
from samples import Array, case

GATES, STATE, WEIGHT = Array((3, 2, 8)), Array((2, 2)), Array((8, 2))


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _lstm(gates, h, c, w, reverse):
    """One step after another: hidden states, cells and the four gates' activations, in the order of the steps."""
    rows = []
    for g in gates[::-1] if reverse else gates:
        i, f, n, o = np.split(g + h @ w.T, 4, -1)
        i, f, n, o = _sigmoid(i), _sigmoid(f), np.tanh(n), _sigmoid(o)
        c = f * c + i * n
        h = o * np.tanh(c)
        rows.append((h, c, np.concatenate([i, f, n, o], -1)))
    return tuple(np.stack(part) for part in zip(*(rows[::-1] if reverse else rows), strict=True))


CASES = {
    "lstm_layer": [case(GATES, STATE, STATE, WEIGHT, reverse, reference=_lstm, real_only=True) for reverse in (False, True)],
}
EXCEPT = {
    "lstm_layer": {"forward_mode": "the layers of undertow.nn take the steps one by one there"},
}
