"""Inputs for operators: NumPy arrays by the names that table entries give under `samples`.

A case has arrays in place of tensors; `realize` turns it into tensors of one dtype. Real floating
numbers are used for every dtype: they are truncated to integers, or given an imaginary part, as the dtype requires.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

import numpy as np

import undertow as ut

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128")
INEXACT = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")


def seed_of(text: str) -> int:
    return zlib.crc32(text.encode())


def to_bfloat16(x) -> np.ndarray:
    """Rounded to the nearest bfloat16, as float32: NumPy has no such dtype."""
    bits = np.asarray(x, dtype="float32").view("uint32")
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype("uint32").view("float32")


@dataclass(frozen=True)
class Array:
    """A random tensor of the case's dtype, uniform in [low, high).

    `away` keeps it that far from zero, `distinct` its elements apart; `diagonal` is added there, so that matrices
    have an inverse. A `constant` is not differentiated: the operator raises if it requires a gradient.
    """

    shape: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0
    away: float = 0.0
    distinct: bool = False
    diagonal: float = 0.0
    constant: bool = False

    def draw(self, rng: np.random.Generator, dtype: str) -> np.ndarray:
        return np.asarray(self._draw(rng, dtype))

    def _draw(self, rng: np.random.Generator, dtype: str):
        x = rng.uniform(self.low, self.high, self.shape)
        if self.distinct:
            n = max(1, x.size)
            x = (rng.permutation(n) + 0.5)[: x.size].reshape(self.shape) / n * (self.high - self.low) + self.low
        if self.away:
            x = np.where(np.abs(x) < self.away, np.where(x < 0, x - self.away, x + self.away), x)
        if self.diagonal:
            x = x + self.diagonal * np.eye(self.shape[-1])
        if dtype.startswith("complex"):
            y = rng.uniform(self.low, self.high, self.shape) * 0.5
            return (x + 1j * y).astype(dtype)
        if dtype == "bool":
            return x > (self.low + self.high) / 2 if not self.away else np.ones(self.shape, bool)
        if dtype == "bfloat16":
            return to_bfloat16(x)
        if dtype in INEXACT:
            return x.astype(dtype)
        whole = np.rint(x * 3)
        if self.away or self.low > 0:
            whole = np.where(whole == 0, 1, whole)
        return (np.abs(whole) if dtype.startswith("u") else whole).astype(dtype)


@dataclass(frozen=True)
class Fixed:
    """A tensor whose values and dtype do not depend on the case's dtype: indices, masks, constants."""

    values: object
    dtype: str

    def draw(self, rng: np.random.Generator, dtype: str) -> np.ndarray:
        return np.array(self.values, dtype=self.dtype)


def index(values) -> Fixed:
    return Fixed(values, "int64")


def mask(values) -> Fixed:
    return Fixed(values, "bool")


@dataclass(frozen=True)
class Case:
    args: tuple
    kwargs: dict = field(default_factory=dict)
    reference: object = None  # a NumPy function of the same arguments, where the entry has none
    differentiable: bool = True  # off for inputs at a kink
    real_only: bool = False  # complex tensors make no sense here
    raises_for: frozenset[str] = frozenset()  # dtypes that the table has but that raise with these arguments


def case(*args, reference=None, differentiable=True, real_only=False, raises_for=(), **kwargs) -> Case:
    return Case(args, kwargs, reference, differentiable, real_only, frozenset(raises_for))


def draw(value, rng: np.random.Generator, dtype: str):
    """The case's arguments with every Array and Fixed drawn, as NumPy arrays."""
    if isinstance(value, (Array, Fixed)):
        return value.draw(rng, dtype)
    if isinstance(value, (list, tuple)):
        return type(value)(draw(v, rng, dtype) for v in value)
    return value


def to_tensor(array: np.ndarray, dtype: str | None = None) -> ut.Tensor:
    array = np.array(array, copy=True)
    t = ut.from_numpy(array) if array.ndim else ut.tensor(array.item(), dtype=getattr(ut, str(array.dtype)))
    return t.to(getattr(ut, dtype)) if dtype == "bfloat16" and array.dtype == np.float32 else t


def to_numpy(t: ut.Tensor) -> np.ndarray:
    t = t.detach().resolve_conj().resolve_neg()
    wider = {ut.bfloat16: ut.float32, ut.complex32: ut.complex64}.get(t.dtype, t.dtype)
    return t.to(wider).numpy()


def tensors_of(value, dtype: str):
    """Drawn arguments as tensors."""
    if isinstance(value, np.ndarray):
        return to_tensor(value, dtype)
    if isinstance(value, (list, tuple)):
        return type(value)(tensors_of(v, dtype) for v in value)
    return value


# ---- by name ----


def _unary(**limits):
    return lambda e: [case(Array(shape, **limits)) for shape in [(3, 4), (), (0, 3), (2, 1, 5)]]


_PAIRS = [((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((), (3,)), ((0, 3), (3,)), ((2, 3), ())]


def _binary(left=None, right=None):
    left, right = left or {}, right or {}

    def make(e):
        made = []
        tensors = [a.name for a in e.args if a.is_tensor]
        for a, b in _PAIRS:
            if len(tensors) == 1:  # the other operand is a number
                number = 2 if not right.get("high", 2.0) < 1 else 0.5
                first = e.args[0].is_tensor
                made.append(case(Array(a, **left), number) if first else case(number, Array(a, **right)))
            else:
                made.append(case(Array(a, **left), Array(b, **right)))
        return made

    return make


def _ternary(*limits):
    shapes = [((3, 4), (3, 4), (3, 4)), ((3, 4), (4,), (3, 1)), ((3,), (), ()), ((0, 2), (2,), (1,))]

    def make(e):
        operands = [a for a in e.args if a.is_tensor or (a.type.startswith("Scalar") and a.default is None)]
        made = []
        for sizes in shapes:
            args = []
            for i, a in enumerate(operands[:3]):
                args.append(Array(sizes[i], **(limits[i] if i < len(limits) else {})) if a.is_tensor else 2)
            made.append(case(*args))
        return made

    return make


def _reduction(e):
    """Over all elements, or over each kind of `dim` the signature accepts, with and without keepdim."""
    args = {a.name: a for a in e.args}
    keepdims = [{}, {"keepdim": True}] if "keepdim" in args else [{}]
    arrays = [Array((3, 4, 2), distinct=True), Array((5,), distinct=True), Array((), distinct=True)]
    if "dim" not in args:
        return [case(a) for a in arrays]
    dim = args["dim"]
    if dim.is_ints:
        choices = [[0], [-1], [0, 2]] + ([None] if dim.type.endswith("?") else [[]] if dim.default == "[]" else [])
    else:
        choices = [0, -1, 1] + ([None] if dim.type.endswith("?") else [])
    made = [case(arrays[0], dim=d, **k) for d in choices for k in keepdims]
    made.append(case(arrays[1], dim=[0] if dim.is_ints else 0))
    made.append(case(arrays[2], dim=[-1] if dim.is_ints else -1))
    return made


def _moments(e):
    """One element has no variance: NaN, which has no derivative to compare."""
    return [Case(c.args, c.kwargs, differentiable=c.args[0].shape != ()) for c in _reduction(e)]


def _positive_reduction(e):
    def positive(c):
        return Case(tuple(Array(a.shape, 0.3, 2.0, distinct=True) if isinstance(a, Array) else a for a in c.args), c.kwargs)

    return [positive(c) for c in _reduction(e)]


def _lerp(e):
    weight = 0.3 if not e.args[-1].is_tensor else Array((3, 4), 0.1, 0.9)
    return [case(Array((3, 4)), Array((3, 4)), weight), case(Array((3, 4)), Array((4,)), weight)]


_WHOLE = {"low": 0.4, "high": 3.0}  # as an integer from 1 to 9: for operators that accept nothing else


GENERATORS = {
    "unary": _unary(),
    "unary_real": _unary(),
    "unary_nonzero": _unary(away=0.3),
    "unary_positive": _unary(low=0.2, high=3.0),
    "unary_unit": _unary(low=-0.9, high=0.9),
    "unary_open_unit": _unary(low=0.05, high=0.95),
    "unary_above_one": _unary(low=1.1, high=3.0),
    "unary_probability": _unary(low=0.05, high=0.95),
    "unary_integer": _unary(**_WHOLE),
    "binary_integer": _binary(_WHOLE, _WHOLE),
    "binary_shift": _binary(_WHOLE, {"low": 0.4, "high": 1.5}),
    "binary_above_one": _binary({"low": 1.1, "high": 3.0}, {"low": 0.3, "high": 2.0}),
    "lerp": _lerp,
    "binary": _binary(),
    "binary_real": _binary(),
    "binary_nonzero": _binary(right={"away": 0.5}),
    "binary_nonzero_first": _binary({"away": 0.5}),
    "binary_positive": _binary({"low": 0.3, "high": 2.0}, {"low": 0.3, "high": 2.0}),
    "binary_distinct": _binary({"distinct": True}, {"distinct": True, "low": -1.9, "high": 2.1}),
    "ternary": _ternary(),
    "ternary_nonzero": _ternary({}, {}, {"away": 0.5}),
    "reduction": _reduction,
    "reduce": _reduction,
    "reduce_all": _reduction,
    "reduce_dim": _reduction,
    "reduce_dims": _reduction,
    "reduce_moments": _moments,
    "reduction_positive": _positive_reduction,
}
REAL_ONLY = {"unary_real", "binary_real", "binary_distinct"}
