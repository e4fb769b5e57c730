"""Applies an operator to a case: which cases an entry has, arguments drawn in a dtype, the call, and the comparison."""

from __future__ import annotations

import math
import re

import cases
import numpy as np
from numeric import flatten
from references import REFERENCES
from samples import GENERATORS, REAL_ONLY, Case, draw, seed_of, tensors_of, to_numpy
from table import find, identify, plain_id

import undertow as ut

TOLERANCE = {"float16": (4e-3, 1e-3), "bfloat16": (2e-2, 1e-2), "float32": (2e-5, 1e-6), "complex64": (2e-5, 1e-5),
             "float64": (1e-10, 1e-12), "complex128": (1e-10, 1e-12)}
# Matches error messages about an unsupported dtype, but not those about a shape or a bug of ours.
ABOUT_DTYPES = re.compile(
    r"not implemented for|dtype|floating.point|complex|\b[bB]ool(ean)?\b|integral|Low precision|scalar type|tensors? but got|input type|unsigned type|"
    r"Integer division|expected float32 or float64|integers have no derivative|converted to type \w+ without overflow"
)
ERRORS = (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError)


def cases_of(key: str, e) -> list[Case]:
    """Those of the generator that the entry's `samples` names, if any, and the handwritten ones."""
    by_hand = cases.CASES.get(key) or cases.CASES.get(plain_id(key)) or []
    name = e.spec.get("samples")
    return [*GENERATORS[name](e), *by_hand] if name in GENERATORS else by_hand


def is_real_only(e, c: Case) -> bool:
    return c.real_only or e.spec.get("samples") in REAL_ONLY


def drawn(key: str, c: Case, dtype: str, number: int = 0):
    rng = np.random.default_rng(seed_of(f"{key}{number}{dtype}"))
    return draw(c.args, rng, dtype), {k: draw(v, rng, dtype) for k, v in c.kwargs.items()}


def call(function, args, kwargs, dtype: str):
    return function(*tensors_of(tuple(args), dtype), **{k: tensors_of(v, dtype) for k, v in kwargs.items()})


def attempt(function, args, kwargs, dtype: str):
    """The result, or None if the operator does not support the dtype. Any other error is a failure."""
    try:
        return call(function, args, kwargs, dtype)
    except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:
        if not ABOUT_DTYPES.search(str(error)):
            raise
        return None


def accepted(key: str, e, c: Case, number: int = 0, floating: str = "float64"):
    """(dtype, arguments, keywords, result) in a floating dtype, or in another that the operator supports; or None."""
    for dtype in (floating, "int64", "complex128"):
        args, kwargs = drawn(key, c, dtype, number)
        if (result := attempt(find(e), args, kwargs, dtype)) is not None:
            return dtype, args, kwargs, result
    return None


def same(got, wanted, dtype: str, what: str) -> None:
    rtol, atol = TOLERANCE.get(dtype, (0, 0))
    np.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol, equal_nan=True, err_msg=what)


def results_of(result) -> list[ut.Tensor]:
    """The tensors of a result; a Python number counts as one."""
    return [ut.tensor(result)] if isinstance(result, (bool, int, float, complex)) else flatten(result)


def outputs_of(result) -> list[np.ndarray]:
    return [to_numpy(t) for t in results_of(result)]


def reference_of(e, c: Case):
    """The NumPy function a case is compared with, or None."""
    if c.reference is not None:
        return c.reference
    text = e.spec.get("reference")
    if not text:
        return REFERENCES.get(identify(e)) or REFERENCES.get(plain_id(identify(e)))
    names = {"np": np, "math": math, "__builtins__": __builtins__}
    if "scipy" in text:
        try:
            import scipy
            import scipy.special
        except ImportError:
            return None  # NumPy lacks the special functions; without SciPy only their derivatives are checked
        names["scipy"] = scipy
    return eval(text, names)  # noqa: S307 - from our own tables


def undifferentiable(e) -> set[str]:
    """Arguments that record a graph but whose derivative is declared not to exist, as in torch."""
    return {name for name, text in e.grad.items() if text.startswith(("not_differentiable(", "not_implemented("))}


def smooth_arguments(e) -> bool:
    """Whether any argument has a derivative."""
    return bool(e.is_composite or set(e.grad) - undifferentiable(e))


def float_arrays(e, c: Case, args) -> list[tuple]:
    """Where the differentiable arrays are in a case's arguments: positions, with a second one inside lists."""
    found, without = [], undifferentiable(e) | set(e.spec.get("constants", []))
    for i, a in enumerate(args):
        if e.args[i].name in without or getattr(c.args[i], "constant", False):
            continue
        if isinstance(a, np.ndarray) and a.dtype.kind in "fc":
            found.append((i,))
        elif isinstance(a, (list, tuple)):
            found += [(i, j) for j, b in enumerate(a) if isinstance(b, np.ndarray) and b.dtype.kind in "fc"]
    return found


def as_function(function, args, kwargs, places):
    """The operator as a function of only its floating tensors, with those tensors' arrays."""
    fixed = {k: tensors_of(v, "float64") for k, v in kwargs.items()}
    arrays = [args[p[0]] if len(p) == 1 else args[p[0]][p[1]] for p in places]

    def f(*tensors):
        full = list(tensors_of(tuple(args), "float64"))
        for p, t in zip(places, tensors, strict=True):
            if len(p) == 1:
                full[p[0]] = t
            else:
                inner = list(full[p[0]])
                inner[p[1]] = t
                full[p[0]] = inner
        return function(*full, **fixed)

    return f, arrays
