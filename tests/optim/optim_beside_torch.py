"""Runs one function on both libraries and compares what comes out: values, exceptions with their first words, warnings."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import undertow as ut

torch = pytest.importorskip("torch")


def parameter(lib, *shape):
    count = int(np.prod(shape))
    return lib.nn.Parameter(lib.arange(count, dtype=lib.float32).reshape(shape) / count)


def described(x):
    """Tensors, numbers and containers of them, of either library, as plain data."""
    if hasattr(x, "detach"):
        return ["tensor", str(x.dtype).split(".")[-1], list(x.shape), *(round(v, 4) + 0.0 for v in x.detach().double().reshape(-1).tolist())]
    if isinstance(x, dict):
        return {str(k): described(x[k]) for k in sorted(x, key=str) if not callable(x[k])}
    if isinstance(x, (list, tuple)):
        return [type(x).__name__, *map(described, x)]
    return round(x, 7) if isinstance(x, float) else x


def outcome(f, lib):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = described(f(lib))
        except Exception as error:
            text = str(error).replace("undertow.", "").replace("torch.", "")
            result = (type(error).__name__, text[:40])
    return result, [(w.category.__name__, str(w.message)[:40]) for w in seen]


def same_in_both(f):
    ours, theirs = outcome(f, ut), outcome(f, torch)
    assert ours == theirs
    return ours[0]


def train(optimizer, params, steps):
    """Steps on a small quadratic, by closure."""

    def closure():
        optimizer.zero_grad()
        loss = sum(((p * (i + 1) - 1) ** 2).sum() for i, p in enumerate(params))
        loss.backward()
        return loss

    for _ in range(steps):
        optimizer.step(closure)
