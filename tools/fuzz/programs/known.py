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
    ("second", r"\.logit\([^$]*nan", "PyTorch's second derivative of a clamped logit is NaN at 0 and 1, where it is 0"),
    ("second error", r"F\.conv1d\([^$]*None here, gradients there", "the first derivative of a convolution with a constant weight has no graph"),
    ("first", r"\.data\.", "a write through .data is not seen; which values a derivative then reads depends on what its node saved"),
    ("second", r"\.data\.", "a write through .data is not seen; a second derivative computes from the new values what PyTorch saved"),
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
        r"F\.\w+_loss\([^$]*as_strided_?\([^$]*RuntimeError here, None there",
        "the memory of some of PyTorch's results, such as losses, is larger than they are",
    ),
    ("error", r"lib\.kron\(.*\n[^$]*None here, RuntimeError there", "PyTorch's kron makes a view of a product, which some strides do not allow"),
    ("error", r"\b(jvp|jacfwd|hessian)\(.*\n[^$]*None here, RuntimeError there", "PyTorch makes no dual number of an expanded tensor"),
    (
        "strides",
        r"F\.(logsigmoid|rrelu)\(|\.angle\(",
        "PyTorch's logsigmoid, rrelu, and angle of complex numbers are row-major; here they keep the strides, as others do",
    ),
    (
        "first",
        r"unsafe_\w+\([^$]*(\w_\(| [+*]= )",
        "no part of an unsafe split notices a write to another; derivatives then depend on what a node saved",
    ),
    (
        "first error",
        r"\.apply\([^$]*detach_\([^$]*other here, gradients there",
        "no node may read what was detached after it was saved; in PyTorch those of custom Functions may",
    ),
    ("second", r"copysign\([^$]*\.register_hook\(lambda g: g", "second derivatives pass hooks of a result if the formula reads it"),
    ("value", r"lib\.where\(\w+\.real > 0", "a real part that is 0 but for rounding chooses"),
    ("first error", r"RuntimeError: [\w ]+ here, RuntimeError: [\w ]+ there", "of two mistakes, another one is named"),
    ("second error", r"RuntimeError: [\w ]+ here, RuntimeError: [\w ]+ there", "of two mistakes, another one is named"),
    (
        "value",
        r"inference_mode\(\): (v\d+) =[^$]*\w_\(|inference_mode\(\): (v\d+) =[^$]* [+*]= ",
        "a refused write to an inference tensor has not written",
    ),
    ("version", r"inference_mode\(", "PyTorch's results of inference tensors count its own writes"),
    ("strides", r"lib\.pow\(1\.5", "PyTorch's power of a number is row-major for exponents of every layout"),
    ("second", r"None here, [-\[\] 0.\n]+ there", "a second derivative that is zero may have no graph"),
    ("error", r"vmap\((jacrev\()?[^$]*out=\w+\)\n[^$]*None here, RuntimeError there", "the result of a transform is no view here"),
    ("error", r"(grad|vjp)\([^$]*detach_\(\)[^$]*RuntimeError here, None there", "a gradient may be a view, which cannot be detached in place"),
    ("tangent", r"mul_\(t\.select", "PyTorch's tangent of a write that reads what it overwrites uses the new values"),
    ("tangent", r"tangent: [-\d.e]+ here, \w+Error there", MORE_DERIVATIVES),
    ("first error", r"linearize\([^$]*inplace operation here, gradients there", "PyTorch's linearize keeps copies"),
    ("second error", r"linearize\(", "PyTorch's linearize has no derivative by the point of linearization"),
    ("strides", r"linearize\(", "PyTorch's linearize traces; its results may have another layout"),
    ("tangent", r"sparse_mask\([^$]*NotImplementedError here", "sparse_mask and to_sparse have no forward mode for some operands"),
    ("tangent", r"to_sparse\([^$]*NotImplementedError here", "sparse_mask and to_sparse have no forward mode for some operands"),
    ("first error", r"(meshgrid|broadcast_t\w+)\([^$]*other here, gradients there", "no write to an expanded view has a gradient"),
    ("second error", r"None here, gradients there", "a second derivative that is zero may have no graph"),
    ("second error", r"gradients here, None there", MORE_DERIVATIVES),
    ("second error", r"sparse[^$]*None here", "the first derivative has no graph"),
    ("second error", r"Once\.apply\([^$]*RuntimeError: other here", "a second derivative through a node marked once_differentiable raises"),
    ("value", r"inference_mode\(\): (v\d+) =[^$]*inplace=True", "a refused write to an inference tensor has not written"),
    ("value", r"(angle|atan2|copysign)\(", "the sign of a zero, or a rounding error beside it, chooses"),
    (
        "value",
        r"\.coalesce\(\)\.values\(\)[^$]*\.median\(|(meshgrid|broadcast_t\w+|expand)\([^$]*\.median\(",
        "PyTorch's median of an expanded tensor sorts in shared memory",
    ),
    ("value", r"\.unfold\([^$]*out=", "what a refused write to overlapping memory leaves there"),
    ("error", r"AddInto\.apply\((v\d+), \1\)[^$]*None here, RuntimeError there", "the result of a transform is no view here"),
    (
        "error",
        r"F\.binary_cross\w+\([^$]*as_strided_?\([^$]*RuntimeError here",
        "the memory of some of PyTorch's results, such as losses, is larger than they are",
    ),
    ("error", r"F\.(logsigmoid|rrelu)\([^$]*\.view\(|\.angle\(\)[^$]*\.view\(", "here the result keeps the strides of its operand"),
    ("version", r"F\.(logsigmoid|rrelu)\([^$]*\.contiguous\(", "here the result keeps the strides of its operand"),
    ("error", r"F\.max_pool1d\([^$]*detach_\(\)[^$]*RuntimeError here", "the result of max_pool1d is a view, in PyTorch only with gradients"),
    ("error", r"expand\w*\([^$]*copy_\([^$]*RuntimeError here", "a write to an expanded tensor raises, even if it changes nothing"),
    ("first", r"register_prehook\(", "the node of a result of nested derivatives may be another one"),
    ("second", r"register_prehook\(", "which node's hooks second derivatives pass depends on what formulas read"),
    ("second", r"svdvals\([^$]*nan", "derivatives of singular values that are zero"),
    ("second", r"cumprod_?\([^$]*nan", "a norm at zero after a product of zeros"),
    ("second", r"copysign\([^$]*nan", "PyTorch's second derivative of copysign at zero is NaN"),
    ("second", r"atan2\([^$]*nan", "second derivatives of an angle at the origin do not exist"),
    ("shape", r"\.coalesce\(\)\.values\(", "a rounding error that is exactly zero here is no element"),
    ("first error", r"as_strided_scatter\([^$]*gradients here, RuntimeError: other there", "positions outside of the operand are accepted"),
    ("first", r"\[\[0, 0\]\]( [+*]?= |\.\w+_\()", "which of several writes to an element remains is not defined"),
    ("tangent", r"scatter_reduce\(.*'prod'", "PyTorch's product of scatter_reduce has no tangent, without saying so"),
    ("requires_grad", r"inference_mode\(", "views made in inference mode require grad in PyTorch, but have no node"),
    ("strides", r"vmap\(lambda t: t\[", "the layout of indexed samples; PyTorch's batch is at another place"),
    ("strides", r"\[:, \[0, 0\]\]", "an index behind a slice of a permuted tensor gives another layout"),
    ("strides", r"(float|half|bfloat16)\(\)", "the layout after a conversion of a column"),
    ("error", r"\.view\(lib\.complex128\)[^$]*None here", "strides of single elements do not matter"),
    ("error", r"\[(True|lib\.tensor\(True\))\] = [^$]*RuntimeError here, None there", "a write from overlapping memory raises"),
    ("value", r"(v\d+)\[[^$]*\.(mul|copy)_\(\1\[", "a write that reads what it overwrites"),
    ("version", r"linearize\(", "PyTorch's linearize traces; what it returns may be the point itself"),
    ("first error", r"view_as_real\([^$]*\wt_\([^$]*invalid gradient there", "PyTorch replays a complex view with the shape that it had before"),
    ("version", r"mode='circular'", "PyTorch's circular padding counts its own writes"),
    ("strides", r"out=lib\.empty\(0", "an out= tensor that is resized becomes row-major; in PyTorch it may get the layout of the operands"),
    ("error", r"checkpoint\(lambda \w: (grad|vmap)\([^$]*None here, RuntimeError there", "PyTorch has no function transforms in checkpoints"),
    ("strides", r"vmap\(jacrev\(", "strides of a Jacobian of samples; PyTorch's depend on the order of its own steps"),
    (
        "error",
        r"expand\w*\([^$]*F\.threshold\(\w+, 0\.1, 0\.2, inplace=True\)[^$]*RuntimeError here, None there",
        "no write to an expanded tensor whose elements share memory is accepted; PyTorch's threshold_ does not check it",
    ),
    (
        "first",
        r"as_strided_scatter\((v\d+|x\d+)\.as_strided\(",
        "PyTorch's as_strided_scatter passes wrong gradients if both operands are of one tensor",
    ),
    ("second", r"as_strided_scatter\(", "PyTorch's as_strided_scatter passes wrong gradients if both operands are of one tensor"),
    ("first", r"linearize\(", "PyTorch's linearize has no derivative by the point of linearization"),
    ("second", r"linearize\(", "PyTorch's linearize has no derivative by the point of linearization"),
    ("requires_grad", r"linearize\(", "PyTorch's linearize has no derivative by the point of linearization"),
    (
        "second error",
        r"Once\.apply\([^$]*RuntimeError: other here, gradients there",
        "a second derivative through a node marked once_differentiable raises, also if only other gradients are asked for",
    ),
    ("value", r"inference_mode\([^$]*\b(AddInto|Double)\.apply\(", "a custom Function that is refused has not written yet"),
    ("requires_grad", r"inference_mode\(\): \w+ = \w+\.unsafe_", "an unsafe split in inference mode is a new tensor; in PyTorch it is a view"),
    (
        "first error",
        r"inference_mode\([^$]*gradients here, RuntimeError: does not require grad there",
        "PyTorch's view in inference mode has no node",
    ),
    ("value", r"F\.softshrink\([^$]*inf", "the sign of a zero from softshrink depends on the processor in PyTorch"),
    ("curvature error", r"Error: [\w ]+ here, \w+Error:", "of two mistakes, another one is named"),
    (
        "grad",
        r"retain_grad\(\)\n[^$]*\w(transpose|swapaxes|t|unsqueeze|squeeze)_\(",
        "PyTorch's retained gradient does not follow a change of the shape in place; some such programs are internal errors there",
    ),
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
