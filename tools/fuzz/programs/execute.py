"""Runs a program with one library: every statement, then derivatives of the first and second order, and a tangent."""

from __future__ import annotations

import contextlib
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


@dataclass
class Outcome:
    """What a library computed: errors by line, values by name, derivatives by leaf. None stands for an absent gradient."""

    errors: dict[int, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    first: list[Any] | str | None = None
    second: list[Any] | str | None = None
    tangent: Any = None


def leaf_values(program: Program) -> list[NDArray[Any]]:
    """Values between 0.2 and 1.2 with either sign: no kinks and no poles near 0."""
    rng = np.random.default_rng(program.seed)
    return [np.asarray(rng.choice([-1.0, 1.0], shape) * rng.uniform(0.2, 1.2, shape)) for shape in program.shapes]


def directions(program: Program) -> list[NDArray[Any]]:
    """The tangents of the leaves."""
    return [np.sin(np.arange(1.0, v.size + 1.0)).reshape(v.shape) for v in leaf_values(program)]


def weights(count: int) -> NDArray[Any]:
    """Fixed weights of a sum over `count` elements, so that every element has another cotangent."""
    return np.cos(np.arange(1.0, count + 1.0))


def weighted_sum(lib: ModuleType, tensors: list[Any]) -> Any:
    """A sum over every tensor that requires grad, with fixed weights; None if none does."""
    total = None
    for t in tensors:
        if t is not None and t.requires_grad and t.numel():
            values = (lib.view_as_real(t.resolve_conj()) if t.is_complex() else t).reshape(-1)
            part = (values * lib.from_numpy(weights(values.numel()))).sum()
            total = part if total is None else total + part
    return total


class Session:
    """The names of one running program."""

    def __init__(self, lib: ModuleType, leaves: list[Any]) -> None:
        checkpoint = importlib.import_module(f"{lib.__name__}.utils.checkpoint").checkpoint
        self.lib = lib
        self.names: dict[str, Any] = {"lib": lib, "checkpoint": checkpoint}
        exec(_functions_code, self.names)
        self.names.update({f"x{i}": leaf for i, leaf in enumerate(leaves)})
        self.leaves = leaves
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

    def loss(self) -> Any:
        return weighted_sum(self.lib, [t for t in self.tensors().values() if t.is_floating_point() or t.is_complex()])


_functions_code = compile(FUNCTIONS, "<functions>", "exec")
_code: dict[str, Any] = {}


def _compiled(line: str) -> Any:
    if line not in _code:
        if len(_code) > 100_000:
            _code.clear()
        _code[line] = compile(line, "<program>", "exec")
    return _code[line]


def array(t: Any) -> NDArray[Any]:
    result: NDArray[Any] = t.numpy(force=True).copy()
    return result


def _gradients(lib: ModuleType, make_loss: Callable[[], Any], leaves: list[Any], create_graph: bool) -> list[Any] | str | None:
    try:
        loss = make_loss()
        if loss is None:
            return None
        return list(lib.autograd.grad(loss, leaves, create_graph=create_graph, allow_unused=True))
    except Exception as e:
        return f"{type(e).__name__}: {_kind(str(e))}"


def _kind(message: str) -> str:
    """A message without its figures and names, which may differ."""
    for known in ("modified by an inplace operation", "a second time", "does not require grad", "not implemented", "is a view", "invalid gradient"):
        if known in message:
            return known
    return "other"


def execute(lib: ModuleType, program: Program, tangents: bool = False) -> Outcome:
    outcome = Outcome()
    leaves = [lib.from_numpy(v).requires_grad_() for v in leaf_values(program)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = Session(lib, leaves)
        for number, line in enumerate(program.lines):
            if error := session.run(line):
                outcome.errors[number] = error
        for name, t in session.tensors().items():
            outcome.values[name] = (tuple(t.shape), str(t.dtype).partition(".")[2], t.requires_grad, t._version, tuple(t.stride()), array(t))
        first = _gradients(lib, session.loss, leaves, create_graph=True)
        outcome.first = _arrays(first)
        if isinstance(first, list):
            outcome.second = _arrays(_gradients(lib, lambda: weighted_sum(lib, first), leaves, create_graph=False))
        if tangents:
            outcome.tangent = _tangent(lib, program, outcome.errors)
    return outcome


def _arrays(gradients: list[Any] | str | None) -> list[Any] | str | None:
    return [None if g is None else array(g) for g in gradients] if isinstance(gradients, list) else gradients


def _tangent(lib: ModuleType, program: Program, errors: dict[int, str]) -> Any:
    """The derivative of the loss along fixed directions, in forward mode; or the first error that only forward mode raises."""
    forward_ad = importlib.import_module(f"{lib.__name__}.autograd.forward_ad")
    with forward_ad.dual_level():
        pairs = zip(leaf_values(program), directions(program), strict=True)
        leaves = [forward_ad.make_dual(lib.from_numpy(value).requires_grad_(), lib.from_numpy(direction)) for value, direction in pairs]
        session = Session(lib, leaves)
        for number, line in enumerate(program.lines):
            if number not in errors and (error := session.run(line)):
                return f"statement {number + 1}: {error}"
        try:
            loss = session.loss()
        except Exception as e:
            return type(e).__name__
        tangent = None if loss is None else forward_ad.unpack_dual(loss).tangent
        return None if tangent is None else array(tangent)


def loss_along(
    lib: ModuleType, program: Program, direction: list[NDArray[Any]], step: float, skipped: Container[int] = ()
) -> tuple[float, list[Any] | None]:
    """The loss, and its gradient, at the leaves moved by `step` along a direction; NaN if there is no loss or computing it raises.

    Statements with the numbers `skipped` are not run.
    """
    leaves = [lib.from_numpy(np.asarray(v + step * d)).requires_grad_() for v, d in zip(leaf_values(program), direction, strict=True)]
    session = Session(lib, leaves)
    for number, line in enumerate(program.lines):
        if number not in skipped:
            session.run(line)
    try:
        loss = session.loss()
    except RuntimeError:  # a value that cannot be read, such as a view of several whose base was written
        return math.nan, None
    if loss is None:
        return math.nan, None
    gradients = None
    with contextlib.suppress(RuntimeError):
        gradients = list(lib.autograd.grad(loss, leaves, allow_unused=True))
    return float(loss.detach().item()), gradients
