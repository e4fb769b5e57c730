"""Differences from PyTorch that are intended, with their reasons."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools.fuzz.programs.execute import Program

FEWER_SAVED = "a node saves only what its formula reads, so more writes are allowed"
MORE_DERIVATIVES = "a derivative that PyTorch does not have"

# (kind, pattern of a statement or of the description, why it differs)
KNOWN = [
    ("first error", r"gradients here, RuntimeError: modified by an inplace", FEWER_SAVED),
    ("second error", r"gradients here, RuntimeError: modified by an inplace", FEWER_SAVED),
    ("first error", r"lib\.kron\(.*\n[^$]*inplace operation here", "PyTorch's kron does not notice that an input was overwritten"),
    ("second error", r"gradients here, \w+: not implemented", MORE_DERIVATIVES),
    ("tangent", r"statement \d+: NotImplementedError there", MORE_DERIVATIVES),
    ("tangent", r"statement \d+: RuntimeError there", "PyTorch cannot transform a function of dual numbers"),
    ("tangent", r"\b(v\d+)\.\w+_\(.*\b\1\b", "PyTorch's tangent of a write that reads what it overwrites uses the new values"),
    ("tangent", r"detach", "a view made before a write turned its base into a dual has no tangent here"),
    ("tangent", r"\.frac\(", "PyTorch's frac shares its tangent with its input, so writes change both"),
    ("version", r"= (vmap\()?grad\(|vjp\(", "gradients that no graph records are added in place, also in function transforms"),
]


def reason(kind: str, program: Program, description: str) -> str | None:
    """Why a difference is intended; None if it is a finding."""
    text = program.text() + "\n" + description
    return next((why for known, pattern, why in KNOWN if kind == known and re.search(pattern, text)), None)
