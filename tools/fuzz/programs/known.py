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
        r"(view_as_real\(|\.real|\.imag)[^$]*\w+_\([^$]*invalid gradient there",
        "PyTorch replays a complex view with the shape that it had before unsqueeze_",
    ),
    (
        "first error",
        r"detach_\([^$]*RuntimeError: other here, RuntimeError: modified by",
        "of two mistakes, the error names detach_ and not the write",
    ),
    ("error", r"IndexError here, RuntimeError there", "of two mistakes, the dimension is named and not the view that cannot be read"),
    ("error", r"\w_\([^$]*None here, RuntimeError there", "strides of dimensions with one element make no overlap"),
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
    ("error", r"\b(jvp|jacfwd|hessian)\(.*\n[^$]*None here, RuntimeError there", "PyTorch makes no dual number of an expanded tensor"),
    (
        "strides",
        r"F\.logsigmoid\(|\.angle\(",
        "PyTorch's logsigmoid, and its angle of complex numbers, are row-major for inputs of every layout; here they keep the strides, as others do",
    ),
    ("first", r"unsafe_chunk\([^$]*\w_\(", "no part of an unsafe split notices a write to another; derivatives then depend on what a node saved"),
    (
        "first error",
        r"\.apply\([^$]*detach_\([^$]*other here, gradients there",
        "no node may read what was detached after it was saved; in PyTorch those of custom Functions may",
    ),
    (
        "first error",
        r"register_multi_grad_hook\([^$]*RuntimeError: other here, RuntimeError: modified by",
        "of two mistakes, the error names the hook of a leaf and not the write",
    ),
    ("second", r"copysign\([^$]*\.register_hook\(lambda g: g", "second derivatives pass hooks of a result if the formula reads it"),
    ("value", r"lib\.where\(\w+\.real > 0", "a real part that is 0 but for rounding chooses"),
    ("value", r"F\.softshrink\([^$]*inf", "the sign of a zero from softshrink depends on the processor in PyTorch"),
    ("curvature error", r"Error: [\w ]+ here, \w+Error:", "of two mistakes, another one is named"),
    (
        "grad",
        r"retain_grad\(\)\n[^$]*\w(transpose|swapaxes|t|unsqueeze|squeeze)_\(",
        "PyTorch's retained gradient does not follow a change of the shape in place; some such programs are internal errors there",
    ),
    ("second", r"\b(hessian|jac\w+|grad|vmap)\([^$]*None here, [-\[\] 0.\n]+ there", "a second derivative that is zero has no graph"),
    ("tangent", r"(v\d+) = \w+\.detach\(\)[^$]*\b\1\.\w+_\(", "a tangent reads a value that a write to its detached alias has changed"),
    ("curvature error", r"gradients here, \w+: (not implemented|other)", MORE_DERIVATIVES),
    ("curvature error", r"gradients here, RuntimeError: modified by an inplace", FEWER_SAVED),
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
