"""Finds the first difference between two outcomes of a program, or between derivatives and finite differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tools.fuzz.programs.execute import STAGES, Outcome, Program, array, directions, execute, leaf_values, loss_along, weighted

if TYPE_CHECKING:
    from collections.abc import Container
    from types import ModuleType

TOLERANCE = 1e-7  # relative to the largest element: second derivatives of long programs lose digits


def close(one: Any, other: Any) -> bool:
    if one is None or other is None or isinstance(one, str) or isinstance(other, str):
        return (one is None) == (other is None) and (not isinstance(one, str) and not isinstance(other, str) or one == other)
    if one.shape != other.shape:
        return False
    if one.tobytes() == other.tobytes():  # the usual case, and the cheapest test
        return True
    with np.errstate(all="ignore"):
        finite = np.abs(other[np.isfinite(other)])
        scale = max(1.0, float(finite.max()) if finite.size else 1.0)
        return bool(np.all(np.isclose(one, other, rtol=0, atol=TOLERANCE * scale, equal_nan=True)))


def difference(ours: Outcome, theirs: Outcome, strides: bool = True) -> tuple[str, str] | None:
    """The kind of the first difference, and its description."""
    for line in sorted(set(ours.errors) | set(theirs.errors)):
        a, b = ours.errors.get(line), theirs.errors.get(line)
        if a != b:
            return "error", f"statement {line + 1}: {a} here, {b} there"
    for name, there in theirs.values.items():
        here = ours.values[name]
        for i, what in enumerate(("shape", "dtype", "requires_grad", "version")):
            if here[i] != there[i]:
                return what, f"{name}: {what} {here[i]} here, {there[i]} there"
        if not close(here[5], there[5]):
            return "value", f"{name}: {here[5]} here, {there[5]} there"
        if strides and any(a != b for n, a, b in zip(here[0], here[4], there[4], strict=True) if n > 1) and here[5].size:
            return "strides", f"{name}: strides {here[4]} here, {there[4]} there"
    for order in ("first", "second", "curvature"):
        if order == "second" and (found := _accumulated(ours, theirs)):
            return found
        if order == "curvature" and not close(ours.tangent, theirs.tangent):
            return "tangent", f"tangent: {ours.tangent} here, {theirs.tangent} there"
        here, there = getattr(ours, order), getattr(theirs, order)
        if isinstance(here, list) and isinstance(there, list):
            if order == "curvature":  # a tangent that is zero may be absent
                here, there = ([g if g is not None and np.abs(g).max(initial=0) > TOLERANCE else None for g in side] for side in (here, there))
            for i, (a, b) in enumerate(zip(here, there, strict=True)):
                if not close(a, b):
                    return order, f"{order} derivative by x{i}: {a} here, {b} there"
        elif here != there:
            return order + " error", f"{order} derivatives: {_short(here)} here, {_short(there)} there"
    return None


def stage_of(kind: str) -> str:
    """The stage of a program, of `STAGES`, that shows a kind of difference."""
    word = {"curvature": "tangent", "grad": "first"}.get(kind.partition(" ")[0], kind.partition(" ")[0])
    return word if word in STAGES else "values"


def _accumulated(ours: Outcome, theirs: Outcome) -> tuple[str, str] | None:
    if isinstance(ours.first, str):
        return None  # after an error, `.grad` shows how far the pass came
    for name in sorted({*ours.accumulated, *theirs.accumulated}):
        here, there = ours.accumulated.get(name), theirs.accumulated.get(name)
        if not close(here, there):
            return "grad", f"{name}.grad: {here} here, {there} there"
    return None


def _short(gradients: Any) -> str:
    return "gradients" if isinstance(gradients, list) else str(gradients)


def against_library(program: Program, ours: ModuleType, theirs: ModuleType, strides: bool = True, until: str = "tangent") -> tuple[str, str] | None:
    """The first difference from another library up to a stage, unless finite differences say that this one is right."""
    tangents = program.seed % 2 == 0
    here = execute(ours, program, tangents, until)
    found = difference(here, execute(theirs, program, tangents, until), strides)
    if found is None or stage_of(found[0]) == "values" or " " in found[0]:
        return found
    if not all(np.isfinite(value[5]).all() for value in here.values.values()):
        return None  # derivatives at a pole are rounding errors
    if _modes_agree(program, here, found[0]):
        return None
    pair = _pair(program, ours, here, found[0])
    if pair is None:
        return found[0], found[1] + "; no finite differences"
    return None if _near(*pair) else found


def _modes_agree(program: Program, here: Outcome, kind: str) -> bool:
    """Whether forward mode says what reverse mode says, which PyTorch's reverse mode has confirmed.

    <gradient, d> is the tangent along d; <gradient of <w, gradient>, d> = <w, tangent of the gradient along d>.
    Finite differences say less: with detach() and hooks, gradients are no derivatives of the values.
    """
    reverse = {"tangent": here.first, "curvature": here.second}.get(kind)
    if kind == "curvature" and isinstance(here.curvature, list):
        forward = sum(weighted(g) for g in here.curvature if g is not None)
    elif kind == "tangent" and isinstance(here.tangent, np.ndarray):
        forward = float(here.tangent)
    else:
        return False
    if not isinstance(reverse, list):
        return False
    return _near(forward, sum(float((g * d).sum()) for g, d in zip(reverse, directions(program), strict=True) if g is not None))


def _pair(program: Program, lib: ModuleType, outcome: Outcome, kind: str) -> tuple[float, float] | None:
    """A derivative that was computed, and its estimate by central differences."""
    if kind in ("first", "second"):
        return _along_a_direction(program, lib, outcome, kind)
    if kind == "tangent" and isinstance(outcome.tangent, np.ndarray):
        return _with_estimate(float(outcome.tangent), program, lib, directions(program), "first", outcome.errors)
    if kind == "curvature" and isinstance(outcome.curvature, list):
        exact = sum(weighted(g) for g in outcome.curvature if g is not None)
        return _with_estimate(exact, program, lib, directions(program), "second", outcome.errors)
    return None


def against_differences(program: Program, lib: ModuleType, until: str = "second") -> tuple[str, str] | None:
    """Compares derivatives along one direction with central differences."""
    outcome = execute(lib, program, until=until)
    for order in ("first", "second"):
        pair = _along_a_direction(program, lib, outcome, order)
        if pair is not None and not _near(*pair):
            return order, f"{order} derivative along a direction: {pair[0]} computed, {pair[1]} by differences"
    return None


def _along_a_direction(program: Program, lib: ModuleType, outcome: Outcome, order: str) -> tuple[float, float] | None:
    """The derivative of an order that was computed, and its estimate by central differences; None if there is none."""
    gradients = getattr(outcome, order)
    if not isinstance(gradients, list):
        return None
    rng = np.random.default_rng(program.seed + 1)
    direction = [rng.uniform(-1, 1, v.shape) for v in leaf_values(program)]
    exact = sum(float((g * d).sum()) for g, d in zip(gradients, direction, strict=True) if g is not None)
    return _with_estimate(exact, program, lib, direction, order, outcome.errors)


def _with_estimate(
    exact: float, program: Program, lib: ModuleType, direction: list[Any], order: str, skipped: Container[int]
) -> tuple[float, float] | None:
    """Kinks near the point are recognized by a second step size."""
    one, other = (_estimate(program, lib, direction, order, step, skipped) for step in (1e-5, 2e-5))
    if one is None or other is None or not _near(one, other) or not np.isfinite(exact):
        return None  # a kink, or a pole
    return exact, one


def _near(a: Any, b: Any) -> bool:
    return bool(abs(a - b) <= 1e-5 * max(1.0, abs(a), abs(b)))


def _estimate(program: Program, lib: ModuleType, direction: list[Any], order: str, step: float, skipped: Container[int] = ()) -> float | None:
    sides = []
    for sign in (1, -1):
        loss, gradients = loss_along(lib, program, direction, sign * step, skipped)
        if order == "first":
            sides.append(loss)
        elif gradients is None:
            return None
        else:
            sides.append(sum(weighted(array(g)) for g in gradients if g is not None))
    return (sides[0] - sides[1]) / (2 * step)
