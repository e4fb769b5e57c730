"""Printed tensors compared with torch, on random tensors of every dtype, shape and kind of value."""

from __future__ import annotations

import math
import random
import re

import pytest

import undertow as ut
from undertow._tensor_str import tensor_repr

torch = pytest.importorskip("torch", reason="PyTorch is the oracle here")

DTYPES = [
    *("bool", "uint8", "int8", "int16", "int32", "int64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
]
SPECIAL = (math.nan, math.inf, -math.inf, 0.0, -0.0)


def random_shape(rng: random.Random) -> tuple[int, ...]:
    shape = [rng.choice((1, 2, 3, 5, 7, 8)) for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4, 5)))]
    if shape and rng.random() < 0.1:
        shape[rng.randrange(len(shape))] = 0
    if shape and len(shape) < 4 and rng.random() < 0.3:
        shape[rng.randrange(len(shape))] = rng.choice((20, 50, 1200))
    return tuple(shape)


def random_elements(rng: random.Random, dtype: str, count: int) -> list:
    if dtype == "bool":
        return [rng.random() < 0.5 for _ in range(count)]
    if "int" in dtype:
        low, high = (0, 255) if dtype == "uint8" else (-100, 100)
        scale = 1 if dtype.endswith("t8") else rng.choice((1, 10, 300))
        return [rng.randint(low, high) * scale for _ in range(count)]
    scale = 10.0 ** rng.randrange(-6, 4 if dtype == "float16" else 10)
    digits = rng.choice((None, None, 0, 2))

    def real() -> float:
        value = rng.gauss(0, 1) * scale
        value = value if digits is None else round(value, digits)
        return rng.choice(SPECIAL) if rng.random() < special else value

    special = rng.choice((0.0, 0.0, 0.05, 1.0))
    if dtype.startswith("complex"):
        return [complex(real(), real()) for _ in range(count)]
    return [real() for _ in range(count)]


def twin_tensors(rng: random.Random):
    """The same tensor in both libraries, made from the same Python numbers."""
    dtype, shape = rng.choice(DTYPES), random_shape(rng)
    elements = random_elements(rng, dtype, math.prod(shape))
    pair = [lib.tensor(elements, dtype=getattr(lib, dtype)).reshape(shape) for lib in (ut, torch)]
    if dtype.startswith(("float", "bfloat", "complex")):
        kind = rng.choice(("plain", "plain", "leaf", "result", "parameter"))
        if kind in ("leaf", "result"):
            pair = [t.requires_grad_() for t in pair]
        if kind == "result":
            pair = [t * 1 for t in pair]
        if kind == "parameter":
            pair = [lib.nn.Parameter(t) for lib, t in zip((ut, torch), pair, strict=True)]
    return pair


def random_options(rng: random.Random) -> dict:
    if rng.random() < 0.6:
        return {}
    return {
        "precision": rng.choice((None, 0, 1, 2, 6, 10)),
        "threshold": rng.choice((None, 5, 50, 100000)),
        "edgeitems": rng.choice((None, 0, 1, 2, 4)),
        "linewidth": rng.choice((None, 20, 40, 120)),
        "sci_mode": rng.choice((None, None, True, False)),
        "profile": rng.choice((None, None, "short", "full", "default")),
    }


def comparable(text: str) -> str:
    """The text with the library's name taken out of the dtype.

    Our name is longer, which may move a suffix to a new line; so where a dtype is printed the
    line breaks before suffixes do not count.
    """
    if "dtype=" not in text:
        return text
    text = re.sub(r"dtype=\w+\.", "dtype=", text)
    return re.sub(r",\s+(?=(size|dtype|requires_grad|grad_fn)=)", ", ", text)


@pytest.mark.parametrize("seed", range(40))
def test_random_tensors_print_as_torch_prints_them(seed):
    rng = random.Random(seed)
    try:
        for _ in range(25):
            ours, theirs = twin_tensors(rng)
            options = random_options(rng)
            for lib in (ut, torch):
                lib.set_printoptions(profile="default")
                lib.set_printoptions(**options)
            assert comparable(tensor_repr(ours)) == comparable(repr(theirs)), options
    finally:
        for lib in (ut, torch):
            lib.set_printoptions(profile="default")
