"""Runs one story in both libraries and compares how it ends: the value it gives, or the error it raises with its first clause."""

from __future__ import annotations

import math
import re
import warnings

import numpy as np


def plain(value):
    """A result as plain Python: tensors as (dtype, shape, values)."""
    if hasattr(value, "detach"):
        d = value.detach()
        name = str(d.dtype).rpartition(".")[2]
        array = d.float().numpy() if name == "bfloat16" else d.resolve_conj().numpy()
        return ("tensor", name, tuple(d.shape), np.array(array))
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return tuple(plain(v) for v in value)
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, str):
        return neutral(value)
    return value


def neutral(text: str) -> str:
    """A text without the libraries' names."""
    return re.sub(r"\b(torch|undertow|ut)\b", "lib", text)


def first_clause(text: str) -> str:
    """What people search for: the first line, up to the first mark after which facts follow."""
    line = neutral(text).split("\n")[0]
    return re.split(r"[;:] |\. |, got|, but got| \(", line)[0].rstrip(".")


def end_of(story, library, seed: int = 0):
    """("value", ...) or ("error", class, first clause), with the warnings on the way."""
    library.manual_seed(seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            end = ("value", plain(story(library)))
        except Exception as error:
            end = ("error", type(error).__name__, first_clause(str(error)))
    # What a library of torch's does not support is no affair of ours.
    heard = [w for w in caught if "oneDNN" not in str(w.message)]
    return end, sorted({(w.category.__name__, first_clause(str(w.message))) for w in heard})


def differences(a, b, rtol: float, atol: float, at: str = "") -> list[str]:
    """Where two plain results differ."""
    if isinstance(a, tuple) and a[:1] == ("tensor",) and isinstance(b, tuple) and b[:1] == ("tensor",):
        if a[1:3] != b[1:3]:
            return [f"{at}: {a[1:3]} and {b[1:3]}"]
        if np.allclose(a[3], b[3], rtol=rtol, atol=atol, equal_nan=True):
            return []
        return [f"{at}: differ by up to {np.abs(a[3].astype(complex) - b[3]).max()}"]
    if type(a) is not type(b) and not (isinstance(a, (int, float)) and isinstance(b, (int, float))):
        return [f"{at}: {a!r} and {b!r}"]
    if isinstance(a, dict):
        if list(a) != list(b):
            return [f"{at}: keys {list(a)} and {list(b)}"]
        return [d for k in a for d in differences(a[k], b[k], rtol, atol, f"{at}[{k!r}]")]
    if isinstance(a, (list, tuple)):
        if len(a) != len(b):
            return [f"{at}: {len(a)} and {len(b)} items: {a!r} and {b!r}"]
        return [d for k, (x, y) in enumerate(zip(a, b)) for d in differences(x, y, rtol, atol, f"{at}[{k}]")]
    if isinstance(a, float) and isinstance(b, float) and math.isclose(a, b, rel_tol=rtol, abs_tol=atol):
        return []
    return [] if a == b else [f"{at}: {a!r} and {b!r}"]


def check_same_end(story, ours, theirs, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """Fails, saying where, unless both libraries end alike."""
    mine, my_warnings = end_of(story, ours)
    oracle, its_warnings = end_of(story, theirs)
    found = differences(mine, oracle, rtol, atol) or differences(my_warnings, its_warnings, 0, 0, "warnings")
    assert not found, "ours and torch's: " + "; ".join(found[:5])
