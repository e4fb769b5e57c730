"""Differences from PyTorch that the fuzzer of programs meets, with their reasons: what is intended, and what is not done yet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools.fuzz.programs.execute import Program

FEWER_SAVED = "a node saves only what its formula reads, so more writes are allowed"
MORE_DERIVATIVES = "a derivative that PyTorch does not have"

# (kind, pattern of a statement or of the description, why it differs). A pattern names the statements that cause the difference: one that would
# also hide another fault is too wide.
INTENDED = [
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
    (
        "second",
        r"(?s)(?=.*sparse)(?=.*(detach|half\(|float\(|float16|hook|\.data\.|no_grad))",
        "PyTorch's second derivatives through sparse tensors lack terms; finite differences cannot show it in such programs",
    ),
    ("second error", r"sparse[^$]*gradients here", MORE_DERIVATIVES),
    (
        "second",
        r"([)\]]|\.T|\.mT)\.\w+_\([^$]*\.register_hook\(",
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
    ("error", r"\b([vx]\d+)\b.*\w_\(.*\b\1\b.*\n[^\n]*None here, RuntimeError there", "strides of dimensions with one element make no overlap"),
    ("error", r"\.scatter_add_\([^$]*None here, RuntimeError there", "the operand is copied if it overlaps what is written"),
    (
        "error",
        r"(\.detach\(\)|\.data\.|detach_\()[^$]*(\w_\(| [-+*/]?= |out=|inplace).*\n[^\n]*None here, RuntimeError there",
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
    (
        "error",
        r"(expand\w*|broadcast\w*|meshgrid)\([^$]*\b(jvp|jacfwd|hessian|linearize)\(.*\n[^\n]*None here, RuntimeError there",
        "PyTorch makes no dual number of an expanded tensor",
    ),
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
    (
        "value",
        r"inference_mode\(\): (v\d+) =[^$]*\w_\(|inference_mode\(\): (v\d+) =[^$]* [+*]= ",
        "a refused write to an inference tensor has not written",
    ),
    ("version", r"inference_mode\(", "PyTorch's results of inference tensors count its own writes"),
    ("second", r"None here, [-\[\] 0.\n]+ there", "a second derivative that is zero may have no graph"),
    ("error", r"vmap\((jacrev\()?[^$]*out=\w+\)\n[^$]*None here, RuntimeError there", "the result of a transform is no view here"),
    ("error", r"(grad|vjp)\([^$]*detach_\(\)[^$]*RuntimeError here, None there", "a gradient may be a view, which cannot be detached in place"),
    ("tangent", r"mul_\(t\.select", "PyTorch's tangent of a write that reads what it overwrites uses the new values"),
    ("tangent", r"tangent: [-\d.e]+ here, \w+Error there", MORE_DERIVATIVES),
    ("first error", r"linearize\([^$]*inplace operation here, gradients there", "PyTorch's linearize keeps copies"),
    ("second error", r"linearize\(", "PyTorch's linearize has no derivative by the point of linearization"),
    ("strides", r"linearize\(", "PyTorch's linearize traces; its results may have another layout"),
    ("first error", r"(meshgrid|broadcast_t\w+)\([^$]*other here, gradients there", "no write to an expanded view has a gradient"),
    ("second error", r"None here, gradients there", "a second derivative that is zero may have no graph"),
    ("second error", r"gradients here, None there", MORE_DERIVATIVES),
    ("second error", r"sparse[^$]*None here", "the first derivative has no graph"),
    ("second error", r"Once\.apply\([^$]*RuntimeError: other here", "a second derivative through a node marked once_differentiable raises"),
    ("value", r"inference_mode\(\): (v\d+) =[^$]*inplace=True", "a refused write to an inference tensor has not written"),
    ("value", r"\b(angle|atan2_?|copysign_?)\(", "the sign of a zero, or a rounding error beside it, chooses"),
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
    ("second", r"svdvals\([^$]*nan", "derivatives of singular values that are zero"),
    ("second", r"cumprod_?\([^$]*nan", "a norm at zero after a product of zeros"),
    ("second", r"copysign_?\([^$]*nan", "PyTorch's second derivative of copysign at zero is NaN"),
    ("second", r"atan2\([^$]*nan", "second derivatives of an angle at the origin do not exist"),
    ("shape", r"\.coalesce\(\)\.values\(", "a rounding error that is exactly zero here is no element"),
    ("first error", r"as_strided_scatter\([^$]*gradients here, RuntimeError: other there", "positions outside of the operand are accepted"),
    ("first", r"\[\[0, 0\]\]( [+*]?= |\.\w+_\()", "which of several writes to an element remains is not defined"),
    ("tangent", r"scatter_reduce\(.*'prod'", "PyTorch's product of scatter_reduce has no tangent, without saying so"),
    ("requires_grad", r"inference_mode\(", "views made in inference mode require grad in PyTorch, but have no node"),
    ("error", r"\.view\(lib\.complex128\)[^$]*None here", "strides of single elements do not matter"),
    ("error", r"\[(True|lib\.tensor\(True\))\] = [^$]*RuntimeError here, None there", "a write from overlapping memory raises"),
    ("value", r"(v\d+)\[[^$]*\.(mul|copy)_\(\1\[", "a write that reads what it overwrites"),
    ("version", r"linearize\(", "PyTorch's linearize traces; what it returns may be the point itself"),
    (
        "tangent",
        r"(v\d+) = (v\d+)\.(ravel|flatten|view|reshape)\([^$]*\b\2\.mul_\(\1\)",
        "PyTorch's tangent of a write that reads what it overwrites uses the new values",
    ),
    ("value", r"(v\d+)\[[^$]*\.unsqueeze\(0\)\.mul_\(\1\[", "a write that reads what it overwrites"),
    (
        "first error",
        r"(view_as_real\(|\.real|\.imag)[^$]*\w_\([^$]*invalid gradient there",
        "PyTorch replays a complex view with the shape that it had before",
    ),
    ("error", r"inference_mode\([^$]*autograd\.grad\([^$]*None here, RuntimeError there", "PyTorch's view in inference mode has no node"),
    ("error", r"vmap\(jacrev\([^$]*None here, RuntimeError there", "the result of a transform is no view here"),
    ("value", r"eigvalsh\([^$]*div_", "an eigenvalue that is zero but for rounding divides"),
    ("value", r"inference_mode\(\): (v\d+) =[^$]*out=\1\)", "a refused write to an inference tensor has not written"),
    ("error", r"(v\d+)\[.*\] = \1\[[^$]*None here, RuntimeError there", "strides of dimensions with one element make no overlap"),
    ("error", r"\.backward\(.*\n[^\n]*None here, RuntimeError there", FEWER_SAVED),
    ("error", r"lib\.kron\([^$]*\.backward\([^$]*RuntimeError here", "PyTorch's kron does not notice that an input was overwritten"),
    ("value", r"inference_mode\(\): (v\d+) =[^$]*\b\1\[.*\] = ", "a refused write to an inference tensor has not written"),
    ("value", r"(v\d+)\[.*\] = \1\[", "a write that reads what it overwrites"),
    ("first", r"linalg\.qr\(", "derivatives of a factorization of a matrix without full rank"),
    ("second", r"linalg\.(qr|svdvals)\(|'nuc'", "derivatives of a factorization of a matrix without full rank"),
    ("shape", r"inference_mode\(", "a refused write to an inference tensor has not written"),
    ("error", r"inference_mode\([^$]*register_multi_grad_hook\([^$]*AssertionError there", "PyTorch's view in inference mode has no node"),
    ("first error", r"vmap\(jacrev\([^$]*is a view there", "the result of a transform is no view here"),
    ("version", r"mode='circular'", "PyTorch's circular padding counts its own writes"),
    ("error", r"checkpoint\(lambda \w: (grad|vmap)\([^$]*None here, RuntimeError there", "PyTorch has no function transforms in checkpoints"),
    (
        "error",
        r"(expand\w*|meshgrid)\([^$]*F\.threshold\(\w+, 0\.1, 0\.2, inplace=True\)[^$]*RuntimeError here, None there",
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
    (
        "grad",
        r"retain_grad\(\)\n[^$]*\w(transpose|swapaxes|t|unsqueeze|squeeze)_\(",
        "PyTorch's retained gradient does not follow a change of the shape in place; some such programs are internal errors there",
    ),
    ("tangent", r"(v\d+) = \w+\.detach\(\)[^$]*\b\1\.\w+_\(", "a tangent reads a value that a write to its detached alias has changed"),
    ("curvature error", r"gradients here, \w+: (not implemented|other)", MORE_DERIVATIVES),
    ("curvature error", r"gradients here, RuntimeError: modified by an inplace", FEWER_SAVED),
    ("tangent", r"statement \d+: NotImplementedError there", MORE_DERIVATIVES),
    (
        "tangent",
        r"\b(jvp|jacfwd|hessian|grad|vjp|jacrev|linearize|vmap)\([^$]*statement \d+: RuntimeError there",
        "PyTorch cannot transform a function of dual numbers",
    ),
    ("tangent", r"\b(v\d+)\.\w+_\(.*\b\1\b", "PyTorch's tangent of a write that reads what it overwrites uses the new values"),
    (
        "tangent",
        r"\.(frac|fmod|remainder)\([^$]*(\w_\(| [-+*/]= |out=|inplace)",
        "PyTorch's frac, fmod and remainder share their tangent with the input, so writes change both",
    ),
    ("version", r"= (vmap\()*grad\(|vjp\(", "gradients that no graph records are added in place, also in function transforms"),
    ("first error", r"gradients here, RuntimeError: a second time there", FEWER_SAVED),
    (
        "first error",
        r"\bno_grad\(\): v\d+\.t_\(\)[^$]*RuntimeError: other here, RuntimeError: invalid gradient there",
        "both raise for a gradient that no longer fits the shape; here before the node runs",
    ),
    (
        "first error",
        r"//[^$]*RuntimeError: (other|modified by an inplace operation) here, RuntimeError: not implemented there",
        "of two mistakes, the other one is met before the missing derivative of //",
    ),
    (
        "error",
        r"inference_mode\([^$]*F\.grid_sample\(.*\n[^\n]*None here, RuntimeError there",
        "grid_sample saves what it has gathered, and not the inference tensor",
    ),
    (
        "error",
        r"inference_mode\(\): (v\d+) = \w+\.unsafe_[^$]*\b\1\b.*\n[^\n]*RuntimeError here, None there",
        "an unsafe split in inference mode is a new tensor; in PyTorch it is a view",
    ),
    ("value", r"\.unfold\([^$]*\.(tril|triu|xlogy)_\(", "which of several writes to an element remains is not defined"),
    (
        "curvature",
        r"(half|float16)\([^$]*packed\(\)[^$]*\w_\(",
        "PyTorch's tangent of a saved value that hooks keep is that of a later write; rounding to half hides that ours agrees with reverse mode",
    ),
    (
        "error",
        r"inference_mode\(\): (v\d+) =[^$]*\b\1\.\w+_\([^$]*\b\1\b[^$]*None here, RuntimeError there",
        "a refused write to an inference tensor has not written",
    ),
    ("tangent", r"\b(grad|vjp)\([^$]*detach_\(\)[^$]*RuntimeError here", "a gradient may be a view, which cannot be detached in place"),
    (
        "first error",
        r"\bno_grad\(\): v\d+\.\w+_\([^$]*RuntimeError: other here, RuntimeError: modified by an inplace operation there",
        "of two mistakes, the change of a shape that does not fit is met before the write to a saved tensor",
    ),
    (
        "curvature error",
        r"inference_mode\([^$]*gradients here, RuntimeError: does not require grad there",
        "PyTorch's view in inference mode has no node",
    ),
    (
        "second",
        r"F\.(elu|celu)\([^$]*inplace=True[^$]*\.register_hook\(",
        "second derivatives pass the hooks of what a formula reads: here the operand, in PyTorch the result",
    ),
    ("first error", r"sparse_mask\([^$]*gradients here, RuntimeError: other there", MORE_DERIVATIVES),
    (
        "first error",
        r"(view_as_real\(|\.real|\.imag)[^$]*inplace=True[^$]*gradients here, RuntimeError: other there",
        "PyTorch replays a complex view with the shape that it had before",
    ),
]

# PyTorch's behavior is the one that is wanted.
NOT_DONE = [
    ("strides", r"lib\.pow\(1\.5", "PyTorch's power of a number is row-major for exponents of every layout"),
    ("tangent", r"sparse_mask\([^$]*NotImplementedError here", "sparse_mask and to_sparse have no forward mode for some operands"),
    ("tangent", r"to_sparse\([^$]*NotImplementedError here", "sparse_mask and to_sparse have no forward mode for some operands"),
    ("strides", r"vmap\(lambda t: t\[", "the layout of indexed samples; PyTorch's batch is at another place"),
    ("strides", r"\[:, \[0, 0\]\]", "an index behind a slice of a permuted tensor gives another layout"),
    ("strides", r"out=lib\.empty\(0", "an out= tensor that is resized becomes row-major; in PyTorch it may get the layout of the operands"),
    ("strides", r"vmap\(jacrev\(", "strides of a Jacobian of samples; PyTorch's depend on the order of its own steps"),
    (
        "first error",
        r"sparse\.mm\([^$]*inplace operation here, gradients there",
        "a sparse product saves both operands, also if only one gradient is needed",
    ),
    (
        "value",
        r"(F\.\w*(loss|entropy|div)\w*|\.(sum|mean|nansum|norm))\([^$]*-?\binf here, -?inf there",
        "a sum of negative zeros is -0, in PyTorch 0; what follows divides by it",
    ),
    (
        "error",
        r"vmap\(jacrev\([^$]*\.view\(.*\n[^\n]*RuntimeError here, None there",
        "strides of a Jacobian of samples; PyTorch's depend on the order of its own steps",
    ),
    (
        "error",
        r"vmap\(lambda t: t\[[^$]*\.view\(.*\n[^\n]*None here, RuntimeError there",
        "the layout of indexed samples; PyTorch's batch is at another place",
    ),
]


def reason(kind: str, program: Program, description: str) -> str | None:
    """Why a difference is known; None if it is a finding."""
    text = program.text() + "\n" + description
    return next((why for known, pattern, why in INTENDED + NOT_DONE if kind == known and re.search(pattern, text)), None)
