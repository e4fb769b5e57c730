"""Parameters and a quadratic to train, for either library."""

from __future__ import annotations

import math


def parameter(lib, *shape):
    count = math.prod(shape)
    return lib.nn.Parameter(lib.arange(count, dtype=lib.float32).reshape(shape) / count)


def train(optimizer, params, steps):
    """Steps on a small quadratic, by closure."""

    def closure():
        optimizer.zero_grad()
        loss = sum(((p * (i + 1) - 1) ** 2).sum() for i, p in enumerate(params))
        loss.backward()
        return loss

    for _ in range(steps):
        optimizer.step(closure)
