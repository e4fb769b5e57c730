"""Operators between tensors and NumPy scalars on either side have torch's dtypes and values."""

from __future__ import annotations

import operator

import numpy as np
import pytest

OPERATORS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "eq", "ge", "and_", "or_", "xor", "lshift"]
SCALARS = {
    "float32": np.float32(2),
    "float64": np.float64(2),
    "float16": np.float16(2),
    "int64": np.int64(2),
    "int32": np.int32(2),
    "uint8": np.uint8(2),
    "bool": np.bool_(True),
}
DTYPES = ["float32", "float64", "float16", "int64", "uint8", "bool"]


def described(f):
    """The dtype and values of a result; None for an error."""
    try:
        result = f()
    except Exception:
        return None
    return [str(result.dtype).rpartition(".")[2], result.tolist()]


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_match_torch(name, same_as_torch):
    def scenario(lib):
        op, found = getattr(operator, name), {}
        for dtype in DTYPES:
            for shape in ((2,), ()):
                t = lib.ones(shape, dtype=getattr(lib, dtype))
                for kind, number in SCALARS.items():
                    if kind == "bool" and name in ("and_", "or_", "xor", "lshift"):
                        continue  # torch reads a NumPy bool on the left as a float, which has no bits; we compute
                    found[f"{dtype}{list(shape)} {kind}"] = described(lambda t=t, n=number: op(t, n)), described(lambda t=t, n=number: op(n, t))
        return found

    same_as_torch(scenario)


@pytest.mark.parametrize("kind", SCALARS)
def test_membership_and_functions_match_torch(kind, same_as_torch):
    def scenario(lib):
        n, x = SCALARS[kind], lib.tensor([1.0, 2.0])
        calls = (lambda: lib.add(x, n), lambda: x.clamp(n), lambda: lib.full_like(x, n), lambda: x.clone().fill_(n), lambda: x.clone().add_(n))
        return [described(f) for f in calls], (n in x) if kind != "bool" else None

    same_as_torch(scenario)
