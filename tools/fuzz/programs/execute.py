"""Runs a program with one library: every statement, then derivatives of the first and second order, then forward mode."""

from __future__ import annotations

import functools
import importlib
import math
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tools.fuzz.programs.statements import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Container
    from types import ModuleType

    from numpy.typing import NDArray


@dataclass(frozen=True)
class Program:
    """Leaves and the statements about them. `seed` determines the leaves' values."""

    seed: int
    shapes: tuple[tuple[int, ...], ...]
    lines: tuple[str, ...]

    def text(self) -> str:
        leaves = [f"x{i}: shape {shape}" for i, shape in enumerate(self.shapes)]
        return "\n".join([f"# seed {self.seed}; " + "; ".join(leaves), *self.lines])


# What is computed, in this order. A kind of difference begins with one of these words, or is one of values.
STAGES = ("values", "first", "second", "tangent")


@dataclass
class Outcome:
    """What a library computed: errors by line, values and `.grad` by name, derivatives by leaf. None stands for an absent gradient.

    `curvature` is the tangent of the gradient: the second derivative along the directions, by forward over reverse mode.
    """

    errors: dict[int, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    first: list[Any] | str | None = None
    accumulated: dict[str, Any] = field(default_factory=dict)
    second: list[Any] | str | None = None
    tangent: Any = None
    curvature: list[Any] | str | None = None


@functools.lru_cache(16)
def _values(seed: int, shapes: tuple[tuple[int, ...], ...]) -> list[NDArray[Any]]:
    rng = np.random.default_rng(seed)
    values = [np.asarray(rng.choice([-1.0, 1.0], shape) * rng.uniform(0.2, 1.2, shape)) for shape in shapes]
    return [np.asarray(v, order="F") for v in values] if seed % 5 == 3 else values


def leaf_values(program: Program) -> list[NDArray[Any]]:
    """Values between 0.2 and 1.2 with either sign: no kinks and no poles near 0. Column-major in some programs."""
    return [v.copy("K") for v in _values(program.seed, program.shapes)]


def directions(program: Program) -> list[NDArray[Any]]:
    """The tangents of the leaves."""
    return [np.sin(np.arange(1.0, v.size + 1.0)).reshape(v.shape) for v in _values(program.seed, program.shapes)]


def weights(shape: tuple[int, ...], of_complex: bool = False) -> NDArray[Any]:
    """Fixed cotangents, another one for every element. Column-major, so that no formula may assume a layout."""
    count = math.prod(shape)
    values = np.cos(np.arange(1.0, (count << of_complex) + 1.0))
    return np.asarray((values.view(np.complex128) if of_complex else values).reshape(shape), order="F")


def weighted(values: NDArray[Any]) -> float:
    """The sum of values times their weights; real and imaginary parts count as separate values."""
    return float((np.conj(weights(values.shape, np.iscomplexobj(values))) * values).real.sum())


def gradients_of(lib: ModuleType, outputs: list[Any], leaves: list[Any], create_graph: bool = False) -> list[Any] | None:
    """Gradients of the weighted sum over the outputs that require grad; None if none does."""
    roots = [t for t in outputs if t is not None and t.requires_grad and t.numel()]
    if not roots:
        return None
    cotangents = [lib.from_numpy(weights(tuple(t.shape), t.is_complex())) for t in roots]
    return list(lib.autograd.grad(roots, leaves, cotangents, create_graph=create_graph, allow_unused=True))


class Session:
    """The names of one running program."""

    def __init__(self, lib: ModuleType, leaves: list[Any]) -> None:
        self.lib = lib
        self.names = {**_functions(lib), **{f"x{i}": leaf for i, leaf in enumerate(leaves)}}
        self.failed = False

    def run(self, line: str) -> str | None:
        """Run one statement; return the type of its error."""
        try:
            if ".register_hook(" in line:  # PyTorch crashes if a hook is registered on a view before its new grad_fn is read
                exec(_compiled(line.partition(".")[0] + ".grad_fn"), self.names)
            exec(_compiled(line), self.names)
        except NameError:
            if not self.failed:
                raise
            return "NameError"  # of a variable that the failed statement would have made
        except Exception as e:
            self.failed = True
            return "internal error" if "INTERNAL ASSERT" in str(e) else type(e).__name__
        return None

    def tensors(self) -> dict[str, Any]:
        """The variables that hold tensors, leaves first."""
        return {n: t for n, t in self.names.items() if n[0] in "xv" and n[1:].isdigit() and isinstance(t, self.lib.Tensor)}

    def outputs(self) -> list[Any]:
        """What the derivatives are of: all variables."""
        return [t for t in self.tensors().values() if t.is_floating_point() or t.is_complex()]


@functools.cache
def _functions(lib: ModuleType) -> dict[str, Any]:
    """The names that every program can use. They are made once: classes are most of the cost of a short program."""
    names = {"lib": lib, "checkpoint": importlib.import_module(f"{lib.__name__}.utils.checkpoint").checkpoint}
    exec(compile(FUNCTIONS, "<functions>", "exec"), names)
    return names


_code: dict[str, Any] = {}


def _compiled(line: str) -> Any:
    if line not in _code:
        if len(_code) > 100_000:
            _code.clear()
        _code[line] = compile(line, "<program>", "exec")
    return _code[line]


def version(t: Any) -> int:
    return -1 if t.is_inference() else t._version


def array(t: Any) -> NDArray[Any]:
    result: NDArray[Any] = t.numpy(force=True).copy()
    return result


def _gradients(lib: ModuleType, outputs: Callable[[], list[Any]], leaves: list[Any], create_graph: bool) -> list[Any] | str | None:
    try:
        return gradients_of(lib, outputs(), leaves, create_graph)
    except Exception as e:
        return f"{type(e).__name__}: {_kind(str(e))}"


def _kind(message: str) -> str:
    """A message without its figures and names, which may differ."""
    for known in ("modified by an inplace operation", "a second time", "does not require grad", "not implemented", "is a view", "invalid gradient"):
        if known in message:
            return known
    return "other"


def execute(lib: ModuleType, program: Program, tangents: bool = False, until: str = "tangent") -> Outcome:
    """Runs a program up to a stage of `STAGES`."""
    outcome = Outcome()
    leaves = [lib.from_numpy(v).requires_grad_() for v in leaf_values(program)]
    stage = STAGES.index(until)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = Session(lib, leaves)
        for number, line in enumerate(program.lines):
            if error := session.run(line):
                outcome.errors[number] = error
        for name, t in session.tensors().items():
            outcome.values[name] = (tuple(t.shape), str(t.dtype).partition(".")[2], t.requires_grad, version(t), tuple(t.stride()), array(t))
        if stage >= 1:
            first = _gradients(lib, session.outputs, leaves, create_graph=True)
            outcome.first = _arrays(first)
            outcome.accumulated = {n: array(g) for n, t in session.tensors().items() if (g := _kept_gradient(t)) is not None}
            if stage >= 2 and isinstance(first, list):
                outcome.second = _arrays(_gradients(lib, lambda: first, leaves, create_graph=False))
        if stage >= 3 and tangents:
            outcome.tangent, outcome.curvature = _forward(lib, program, outcome.errors)
    return outcome


def _kept_gradient(t: Any) -> Any:
    try:
        return t.grad if t.requires_grad and (t.is_leaf or t.retains_grad) else None
    except RuntimeError:  # a value that cannot be read, such as a view of several whose base was written
        return None


def _arrays(gradients: list[Any] | str | None) -> list[Any] | str | None:
    return [None if g is None else array(g) for g in gradients] if isinstance(gradients, list) else gradients


def _forward(lib: ModuleType, program: Program, errors: dict[int, str]) -> tuple[Any, list[Any] | str | None]:
    """The derivative of the weighted sum along fixed directions, or the first error that only forward mode raises; the tangents of gradients."""
    forward_ad = importlib.import_module(f"{lib.__name__}.autograd.forward_ad")
    with forward_ad.dual_level():
        pairs = zip(leaf_values(program), directions(program), strict=True)
        leaves = [forward_ad.make_dual(lib.from_numpy(value).requires_grad_(), lib.from_numpy(direction)) for value, direction in pairs]
        session = Session(lib, leaves)
        for number, line in enumerate(program.lines):
            if number not in errors and (error := session.run(line)):
                return f"statement {number + 1}: {error}", None
        try:
            tangents = [forward_ad.unpack_dual(t).tangent for t in session.outputs() if t.requires_grad and t.numel()]
        except Exception as e:
            return type(e).__name__, None
        found = [array(t) for t in tangents if t is not None]
        gradients = _gradients(lib, session.outputs, leaves, create_graph=False)
        if isinstance(gradients, list):
            unpacked = [None if g is None else forward_ad.unpack_dual(g).tangent for g in gradients]
            curvature: list[Any] | str | None = _arrays(unpacked)
        else:
            curvature = gradients
        return np.asarray(sum(map(weighted, found))) if found else None, curvature


def loss_along(
    lib: ModuleType, program: Program, direction: list[NDArray[Any]], step: float, skipped: Container[int] = ()
) -> tuple[float, list[Any] | None]:
    """The weighted sum, and its gradient, at the leaves moved by `step` along a direction; NaN if there is none or computing it raises.

    Statements with the numbers `skipped` are not run.
    """
    values = leaf_values(program)
    for v, d in zip(values, direction, strict=True):
        v += step * d  # in place, to keep the layout
    leaves = [lib.from_numpy(v).requires_grad_() for v in values]
    session = Session(lib, leaves)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, line in enumerate(program.lines):
            if number not in skipped:
                session.run(line)
    try:
        outputs = [t for t in session.outputs() if t.requires_grad and t.numel()]
        nodes = [t.grad_fn for t in outputs]
        loss = sum(weighted(array(t)) for t in outputs) if nodes else math.nan
    except RuntimeError:  # a value that cannot be read, such as a view of several whose base was written
        return math.nan, None
    gradients = _gradients(lib, lambda: outputs, leaves, create_graph=False)
    return loss, gradients if isinstance(gradients, list) else None
