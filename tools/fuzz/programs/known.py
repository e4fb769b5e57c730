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
    ("first error", r"\.detach_\([^$]*gradients here, RuntimeError: other there", FEWER_SAVED),
    (
        "first error",
        r"expand\w*\([^$]*\.fill_diagonal_\([^$]*other here, gradients there",
        "no write to an expanded view has a gradient; in PyTorch that of fill_diagonal_ has one",
    ),
    ("first error", r"lib\.kron\(.*\n[^$]*inplace operation here", "PyTorch's kron does not notice that an input was overwritten"),
    (
        "first error",
        r"\b(grad|jacrev|vjp)\([^$]*\.detach_\([^$]*gradients here",
        "transforms read a view of their input, which detach_ does not touch",
    ),
    ("second error", r"gradients here, \w+: not implemented", MORE_DERIVATIVES),
    ("second error", r"\bhessian\([^$]*None here, gradients there", "the derivative of a Hessian that is constant has no graph"),
    ("second", r"sparse", "PyTorch's second derivatives through sparse tensors lack terms"),
    ("second error", r"sparse[^$]*gradients here", MORE_DERIVATIVES),
    (
        "second",
        r"[)\]]\.\w+_\([^$]*\.register_hook\(",
        "PyTorch skips the hook of a base in second derivatives of a write to a view that is gone",
    ),
    (
        "second error",
        r"\.register_hook\(lambda g: g\..*\n[^$]*gradients here, AttributeError",
        "no hook is called with None where a derivative is absent",
    ),
    ("first error", r"detach_\([^$]*inplace operation here, RuntimeError: other there", "of two mistakes, the error names the write and not detach_"),
    ("second", r"\.logit\([^$]*nan", "PyTorch's second derivative of a clamped logit is NaN at 0 and 1, where it is 0"),
    ("second error", r"F\.conv1d\([^$]*None here, gradients there", "the first derivative of a convolution with a constant weight has no graph"),
    ("first", r"\.data\.", "a write through .data is not seen; which values a derivative then reads depends on what its node saved"),
    ("second", r"\.data\.", "a write through .data is not seen; a second derivative computes from the new values what PyTorch saved"),
    (
        "first error",
        r"view_as_real\([^$]*\w+_\([^$]*invalid gradient there",
        "PyTorch replays a complex view with the shape that it had before unsqueeze_",
    ),
    (
        "first error",
        r"detach_\([^$]*RuntimeError: other here, RuntimeError: modified by",
        "of two mistakes, the error names detach_ and not the write",
    ),
    ("error", r"IndexError here, RuntimeError there", "of two mistakes, the dimension is named and not the view that cannot be read"),
    ("error", r"\.copy_\([^$]*None here, RuntimeError there", "strides of dimensions with one element make no overlap"),
    ("error", r"\.scatter_add_\([^$]*None here, RuntimeError there", "the operand is copied if it overlaps what is written"),
    (
        "error",
        r"(\.detach\(\)|\.data\.|detach_\()[^$]*None here, RuntimeError there",
        "PyTorch takes a view, made before a write gave its base a history, for a leaf",
    ),
    ("value", r"\.unsqueeze\(-1\)\.expand\([^$]*\.median\(", "PyTorch's median of an expanded tensor sorts in shared memory"),
    (
        "value",
        r"F\.(cosine_similarity|instance_norm|layer_norm)\(|\.(var|std|var_mean)\(",
        "rounding errors of numbers that are 0 or 1, enlarged by what follows",
    ),
    ("value", r"\.index_(add|copy)_\(", "the operand is copied if it overlaps what is written"),
    ("error", r"None here, internal error there", "PyTorch's own internal error"),
    (
        "error",
        r"F\.\w+_loss\([^$]*as_strided\([^$]*RuntimeError here, None there",
        "the memory of some of PyTorch's results, such as losses, is larger than they are",
    ),
    ("error", r"lib\.kron\(.*\n[^$]*None here, RuntimeError there", "PyTorch's kron makes a view of a product, which some strides do not allow"),
    ("error", r"\bjvp\(.*\n[^$]*None here, RuntimeError there", "PyTorch makes no dual number of an expanded tensor"),
    ("strides", r"F\.logsigmoid\(", "PyTorch's logsigmoid is row-major for inputs of every layout; here it keeps the strides, as others do"),
    ("tangent", r"statement \d+: NotImplementedError there", MORE_DERIVATIVES),
    ("tangent", r"statement \d+: RuntimeError there", "PyTorch cannot transform a function of dual numbers"),
    ("tangent", r"\b(v\d+)\.\w+_\(.*\b\1\b", "PyTorch's tangent of a write that reads what it overwrites uses the new values"),
    ("tangent", r"\.(frac|fmod|remainder)\(", "PyTorch's frac, fmod and remainder share their tangent with the input, so writes change both"),
    ("version", r"= (vmap\()?grad\(|vjp\(", "gradients that no graph records are added in place, also in function transforms"),
]


def reason(kind: str, program: Program, description: str) -> str | None:
    """Why a difference is intended; None if it is a finding."""
    text = program.text() + "\n" + description
    return next((why for known, pattern, why in KNOWN if kind == known and re.search(pattern, text)), None)
