"""Runs an operator of the tables on the CPU and on a GPU and lists where the results differ."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import undertow as ut

sys.path.append(str(Path(__file__).resolve().parents[1] / "ops"))
from apply import ERRORS, attempt, cases_of, drawn
from numeric import flatten
from samples import DTYPES, INEXACT, tensors_of
from table import entries, find

# Relative to the largest element. Sums are added in another order, and functions differ in their last bits.
TOLERANCE = {"float16": 1e-2, "bfloat16": 5e-2, "float32": 1e-4, "complex64": 1e-4, "float64": 1e-9, "complex128": 1e-9}
# Contents are not defined, so shapes, dtypes and strides are compared.
UNDEFINED = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_permuted", "resize_", "resize_as_"}
# Vectors that are defined up to sign or phase, or a basis of a space.
UP_TO_SIGN = {"svd", "eig", "eigh", "qr", "lobpcg", "geqrf", "householder_product", "ormqr", "pca_lowrank", "svd_lowrank"}
# Which of equal elements an index names is not defined: the values are compared.
TIES = {"topk"}
# Statistics of half inputs are float32 on a GPU, as in torch.
WIDE_STATISTICS = {"native_layer_norm", "native_batch_norm"}
LETTERS = dict(zip(DTYPES, "?BbhilesfdFD", strict=True))


@dataclass
class Difference:
    dtype: str
    what: str  # "missing", "error", "values", "gradient", "geometry"
    message: str


def operators() -> list[str]:
    return [key for key, e in entries().items() if find(e) is not None and cases_of(key, e)]


def moved(value, device="cuda"):
    if isinstance(value, ut.Tensor):
        there = value.detach().to(device)
        return there.requires_grad_() if value.requires_grad else there
    if isinstance(value, (list, tuple)):
        return type(value)(moved(v, device) for v in value)
    if isinstance(value, dict):
        return {k: moved(v, device) for k, v in value.items()}
    return value


def copied(value):
    if isinstance(value, ut.Tensor):
        return value.detach().clone()
    if isinstance(value, (list, tuple)):
        return type(value)(copied(v) for v in value)
    return {k: copied(v) for k, v in value.items()} if isinstance(value, dict) else value


def first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def as_numbers(result) -> list[ut.Tensor]:
    return [ut.tensor(result)] if isinstance(result, (bool, int, float, complex)) else flatten(result)


def array(t: ut.Tensor) -> np.ndarray:
    t = t.detach().cpu().resolve_conj().resolve_neg()
    if t.is_sparse or t.layout != ut.strided:
        t = t.to_dense()
    if t.dtype in (ut.bfloat16, ut.float16) or t.itemsize == 1 and t.is_floating_point():
        t = t.float()
    return t.to(ut.complex64).numpy() if t.dtype == ut.complex32 else t.numpy()


def geometry(t: ut.Tensor) -> tuple:
    return tuple(t.shape), t.dtype, t.requires_grad


def same_values(ours: ut.Tensor, expected: ut.Tensor, dtype: str) -> str:
    """Empty, or how they differ."""
    a, b = array(ours), array(expected)
    if a.dtype.kind not in "fc":
        wrong = a != b
    else:
        finite = b[np.isfinite(b)]
        scale = float(np.abs(finite).max()) if finite.size else 1.0
        tolerance = max(TOLERANCE.get(str(expected.dtype).rpartition(".")[2], 0), TOLERANCE.get(dtype, 0))
        with np.errstate(all="ignore"):
            near = np.abs(a - b) <= tolerance * max(scale, 1e-2)
        wrong = ~(near | (a == b) | (np.isnan(a) & np.isnan(b)))
    if not wrong.any():
        return ""
    at = tuple(int(i) for i in np.argwhere(wrong)[0]) if wrong.ndim else ()
    return f"{int(wrong.sum())} of {wrong.size} elements differ, first at {at}: {a[at]} instead of {b[at]}"


def is_random(function, args, kwargs) -> bool:
    """Whether two calls with other seeds differ."""
    found = []
    for seed in (1, 2):
        ut.manual_seed(seed)
        result = function(*copied(args), **copied(kwargs))  # it may write to its arguments
        found.append([array(t) for t in as_numbers(result)])
    return any(a.shape != b.shape or not np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in zip(*found, strict=True))


def cotangent(t: ut.Tensor) -> ut.Tensor:
    return ((ut.arange(t.numel(), device="cpu") % 7) - 3).reshape(t.shape).to(t.dtype)


def gradients(result, inputs: list[ut.Tensor], device: str):
    roots = [t for t in flatten(result) if isinstance(t, ut.Tensor) and t.requires_grad]
    if not roots:
        return None
    return ut.autograd.grad(roots, inputs, [cotangent(t).to(device) for t in roots], allow_unused=True)


def compare_case(function, plain: str, args, kwargs, dtype: str, differentiable: bool) -> Difference | None:
    """The arguments are tensors on the CPU."""
    if differentiable:
        for t in flatten([list(args), list(kwargs.values())]):
            if t.dtype.is_floating_point or t.dtype.is_complex:
                t.requires_grad_()
    there_args, there_kwargs = moved(args), moved(kwargs)
    random = is_random(function, args, kwargs)  # before the call below, which may write to the arguments
    try:
        expected = function(*args, **kwargs)
    except ERRORS:
        if not differentiable:
            raise
        return None  # it raises for a gradient; the case without one is compared too
    undefined = plain in UNDEFINED or random
    try:
        found = function(*there_args, **there_kwargs)
        pairs = list(zip(as_numbers(found), as_numbers(expected), strict=True))
        if plain in WIDE_STATISTICS:
            pairs = [(ours.to(wanted.dtype), wanted) for ours, wanted in pairs]
        for ours, wanted in pairs:
            if geometry(ours) != geometry(wanted):
                return Difference(dtype, "geometry", f"{geometry(ours)} instead of {geometry(wanted)}")
            if undefined or plain in UP_TO_SIGN or (plain in TIES and wanted is pairs[-1][1]):
                array(ours)
            elif text := same_values(ours, wanted, dtype):
                return Difference(dtype, "values", text)
    except (*ERRORS, AssertionError, KeyError) as error:
        return Difference(dtype, "missing" if "has no kernel for it" in str(error) else "error", first_line(error))
    if not differentiable or undefined or plain in UP_TO_SIGN:
        return None
    here, there = ([t for t in flatten([list(a), list(k.values())]) if t.requires_grad] for a, k in ((args, kwargs), (there_args, there_kwargs)))
    try:
        wanted = gradients(expected, here, "cpu")
    except ERRORS:
        return None  # no derivative on the CPU either
    try:
        ours = gradients(found, there, "cuda")
        for a, b in zip(ours or (), wanted or (), strict=True):
            if (a is None) != (b is None):
                return Difference(dtype, "gradient", "one gradient is None")
            if a is not None and (text := same_values(a, b, dtype)):
                return Difference(dtype, "gradient", text)
    except (*ERRORS, AssertionError, KeyError) as error:
        return Difference(dtype, "missing" if "has no kernel for it" in str(error) else "error", f"backward: {first_line(error)}")
    return None


def differences(key: str, dtypes: tuple[str, ...] = DTYPES, most: int = 6) -> list[Difference]:
    """What differs in any case and dtype; after `most`, the operator is broken enough."""
    e = entries()[key]
    function, plain = find(e), e.name.rstrip("_")
    plain = plain.removeprefix("linalg_").removeprefix("_linalg_").removeprefix("_")
    found: list[Difference] = []
    for dtype in dtypes:
        for number, case in enumerate(cases_of(key, e)):
            args, kwargs = drawn(key, case, dtype, number)
            try:
                if attempt(function, args, kwargs, dtype) is None:
                    continue
            except ERRORS:
                continue  # not a case of this dtype: the CPU raises too
            for differentiable in (False, True) if dtype in INEXACT and e.diff_args else (False,):
                here, options = tensors_of(tuple(args), dtype), {k: tensors_of(v, dtype) for k, v in kwargs.items()}
                difference = compare_case(function, plain, here, options, dtype, differentiable)
                if difference is not None:
                    found.append(difference)
                    break
            if len(found) >= most:
                return found
            if found and found[-1].dtype == dtype:
                break  # one case is enough for this dtype
    return found
