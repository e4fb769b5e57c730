"""Finds the first difference between two outcomes of a program, or between derivatives and finite differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tools.fuzz.programs.execute import Outcome, Program, directions, execute, leaf_values, loss_along, weights

if TYPE_CHECKING:
    from collections.abc import Container
    from types import ModuleType

TOLERANCE = 1e-7  # relative to the largest element: second derivatives of long programs lose digits


def close(one: Any, other: Any) -> bool:
    if one is None or other is None or isinstance(one, str) or isinstance(other, str):
        return (one is None) == (other is None) and (not isinstance(one, str) and not isinstance(other, str) or one == other)
    if one.shape != other.shape:
        return False
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
    for order in ("first", "second"):
        here, there = getattr(ours, order), getattr(theirs, order)
        if isinstance(here, list) and isinstance(there, list):
            for i, (a, b) in enumerate(zip(here, there, strict=True)):
                if not close(a, b):
                    return order, f"{order} derivative by x{i}: {a} here, {b} there"
        elif here != there:
            return order + " error", f"{order} derivatives: {_short(here)} here, {_short(there)} there"
    if not close(ours.tangent, theirs.tangent):
        return "tangent", f"tangent: {ours.tangent} here, {theirs.tangent} there"
    return None


def _short(gradients: Any) -> str:
    return "gradients" if isinstance(gradients, list) else str(gradients)


def against_library(program: Program, ours: ModuleType, theirs: ModuleType, strides: bool = True) -> tuple[str, str] | None:
    """The first difference from another library, unless finite differences say that this one is right."""
    tangents = program.seed % 2 == 0
    here = execute(ours, program, tangents)
    found = difference(here, execute(theirs, program, tangents), strides)
    if found and found[0] == "tangent" and isinstance(here.tangent, np.ndarray):
        estimate = _estimate(program, ours, directions(program), "first", 1e-5, here.errors)
        return None if estimate is not None and _near(here.tangent, estimate) else found
    if found and found[0] in ("first", "second"):
        pair = _along_a_direction(program, ours, here, found[0])
        return None if pair is not None and _near(*pair) else found
    return found


def against_differences(program: Program, lib: ModuleType) -> tuple[str, str] | None:
    """Compares derivatives along one direction with central differences."""
    outcome = execute(lib, program)
    for order in ("first", "second"):
        pair = _along_a_direction(program, lib, outcome, order)
        if pair is not None and not _near(*pair):
            return order, f"{order} derivative along a direction: {pair[0]} computed, {pair[1]} by differences"
    return None


def _along_a_direction(program: Program, lib: ModuleType, outcome: Outcome, order: str) -> tuple[float, float] | None:
    """The derivative of an order that was computed, and its estimate by central differences; None if there is none.

    Kinks near the point are recognized by a second step size.
    """
    gradients = getattr(outcome, order)
    if not isinstance(gradients, list):
        return None
    rng = np.random.default_rng(program.seed + 1)
    direction = [rng.uniform(-1, 1, v.shape) for v in leaf_values(program)]
    exact = sum(float((g * d).sum()) for g, d in zip(gradients, direction, strict=True) if g is not None)
    one, other = (_estimate(program, lib, direction, order, step, outcome.errors) for step in (1e-5, 2e-5))
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
            sides.append(sum(float((g.detach().numpy().reshape(-1) * weights(g.numel())).sum()) for g in gradients if g is not None))
    return (sides[0] - sides[1]) / (2 * step)
