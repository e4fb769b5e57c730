"""Derivatives as torch's operators, by the name of the node: what a mode sees in a backward pass.

Only for nodes whose own formula uses other operators, or another order. See Note [Formulas Under A Mode] in core/graph/engine/evaluate.h.
A formula gets the node and its gradients. It returns the gradient, or None, for each edge, or NotImplemented where the node's own formula
is to run. Saved tensors are read first, in torch's order, because reading an output is an operator too.
"""

from __future__ import annotations

import math

from undertow import _C
from undertow._aten._from_core import _call
from undertow.utils._python_dispatch import _DisableTorchDispatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from undertow import Tensor

FORMULAS: dict[str, Callable[..., Any]] = {}


def _formula(*nodes: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        FORMULAS.update(dict.fromkeys(nodes, function))
        return function

    return register


def _do(op: str, *args: Any, **kwargs: Any) -> Any:
    """Call an operator by its name: mul.Tensor, or exp for exp.default."""
    name, _, overload = op.partition(".")
    return _call(name, overload or "default", *args, **kwargs)


def _wants(node: Any, edge: int) -> bool:
    return node.next_functions[edge][0] is not None


def _number(value: float, like: Tensor) -> Tensor:
    return _do("scalar_tensor", value, dtype=like.dtype, device=like.device, pin_memory=False)


def _reshaped(t: Tensor, size: Sequence[int]) -> Tensor:
    """Return a view, or a copy if no view has this size."""
    try:
        with _DisableTorchDispatch():
            _C._below_dispatch(t).view(size)
    except RuntimeError:
        return _do("_unsafe_view", _contiguous(t), size)
    return _do("view", t, size)


def _contiguous(t: Tensor) -> Tensor:
    return t if t.is_contiguous() else _do("clone", t, memory_format=_C.contiguous_format)


def _with_reduced(t: Tensor, shape: Sequence[int], dims: Sequence[int], keepdim: bool) -> Tensor:
    """Return a result of a reduction with dimensions of size 1 where it has none."""
    if keepdim:
        return t
    over = {d % len(shape) for d in dims} if dims else set(range(len(shape)))
    return _reshaped(t, [1 if d in over else n for d, n in enumerate(shape)])


# ---- pointwise ----


@_formula("MaximumBackward0", "MinimumBackward0")
def _extremum(node: Any, grad: Tensor) -> Any:
    other, self = node._saved_other, node._saved_self
    ways = ("gt.Tensor", "lt.Tensor") if node.name() == "MaximumBackward0" else ("lt.Tensor", "gt.Tensor")

    def gradient(loses: str) -> Tensor:
        half = _do("div.Scalar", grad, 2)
        shared = _do("where.self", _do("eq.Tensor", self, other), half, grad)
        return _do("masked_fill_.Scalar", shared, _do(loses, self, other), 0)

    of_other = gradient(ways[0]) if _wants(node, 1) else None
    return [gradient(ways[1]) if _wants(node, 0) else None, of_other]


@_formula("Atan2Backward0")
def _atan2(node: Any, grad: Tensor) -> Any:
    other, self = node._saved_other, node._saved_self
    square = _do("mul.Tensor", other, other)
    total = _do("add.Tensor", _do("mul.Tensor", self, self), square)
    inverse = _do("reciprocal", total)
    inverse = _do("masked_fill.Scalar", inverse, _do("eq.Scalar", total, 0), 0)
    found: list[Any] = [None, None]
    if _wants(node, 0):
        found[0] = _do("mul.Tensor", _do("mul.Tensor", grad, other), inverse)
    if _wants(node, 1):
        found[1] = _do("mul.Tensor", _do("mul.Tensor", grad, _do("neg", self)), inverse)
    return found


@_formula("HypotBackward0")
def _hypot(node: Any, grad: Tensor) -> Any:
    other, self, result = node._saved_other, node._saved_self, node._saved_result
    of_other = _do("div.Tensor", _do("mul.Tensor", grad, other), result) if _wants(node, 1) else None
    return [_do("div.Tensor", _do("mul.Tensor", grad, self), result) if _wants(node, 0) else None, of_other]


@_formula("ErfBackward0")
def _erf(node: Any, grad: Tensor) -> Any:
    bell = _do("exp", _do("neg", _do("pow.Tensor_Scalar", node._saved_self, 2)))
    return [_do("mul.Tensor", _do("mul.Scalar", bell, 2 / math.sqrt(math.pi)), grad)]


@_formula("PowBackward0")
def _power(node: Any, grad: Tensor) -> Any:
    self, exponent = node._saved_self, node._saved_exponent
    if isinstance(exponent, complex) or self.is_complex() or not exponent:
        return NotImplemented
    slope = _do("pow.Tensor_Scalar", self, float(exponent) - 1)
    return [_do("mul.Tensor", grad, _do("mul.Scalar", slope, float(exponent)))]


@_formula("PowBackward1")
def _power_of_tensors(node: Any, grad: Tensor) -> Any:
    exponent, self = node._saved_exponent, node._saved_self
    if self.is_complex() or exponent.is_complex():
        return NotImplemented
    result = node._saved_result
    found: list[Any] = [None, None]
    if _wants(node, 1):
        positive = _do("ge.Scalar", exponent, 0)
        flat = _do("logical_and", _do("eq.Scalar", self, 0), positive)
        rise = _do("mul.Tensor", result, _do("log", self))
        found[1] = _do("mul.Tensor", grad, _do("where.self", flat, _number(0.0, rise), rise))
    if _wants(node, 0):
        slope = _do("pow.Tensor_Tensor", self, _do("sub.Scalar", exponent, 1))
        part = _do("mul.Tensor", grad, _do("mul.Tensor", exponent, slope))
        none = _number(0.0, part)
        found[0] = _do("where.self", _do("eq.Scalar", exponent, 0.0), none, part)
    return found


@_formula("ClampBackward1", "ClampMinBackward0", "ClampMaxBackward0")
def _clamp(node: Any, grad: Tensor) -> Any:
    self, low, high = node._saved_self, getattr(node, "_saved_min", None), getattr(node, "_saved_max", None)
    if isinstance(low, _C.Tensor) or isinstance(high, _C.Tensor):
        return NotImplemented
    none = _number(0.0, grad)
    if low is None:
        inside = _do("le.Scalar", self, high)
    else:
        inside = _do("ge.Scalar", self, low)
        if high is not None:
            inside = _do("logical_and_", inside, _do("le.Scalar", self, high))
    return [_do("where.self", inside, grad, none)]


@_formula("AddcmulBackward0")
def _addcmul(node: Any, grad: Tensor) -> Any:
    tensor1, tensor2, value = node._saved_tensor1, node._saved_tensor2, node._saved_value
    if grad.is_complex():
        return NotImplemented
    found: list[Any] = [grad if _wants(node, 0) else None, None, None]
    for edge, other in ((1, tensor2), (2, tensor1)):
        if _wants(node, edge):
            found[edge] = _do("mul.Tensor", grad, _do("mul.Scalar", other, value))
    return found


@_formula("PreluKernelBackward0")
def _prelu(node: Any, grad: Tensor) -> Any:
    return list(_do("_prelu_kernel_backward", grad, node._saved_self, node._saved_weight))


@_formula("BinaryCrossEntropyWithLogitsBackward0")
def _bce_with_logits(node: Any, grad: Tensor) -> Any:
    if node._saved_weight is not None or node._saved_pos_weight is not None or _wants(node, 1):
        return NotImplemented
    self, target = node._saved_self, node._saved_target
    found = _do("mul.Tensor", _do("sub.Tensor", _do("sigmoid", self), target), grad)
    return [_do("div_.Scalar", found, self.numel()) if node._saved_reduction == 1 else found]


# ---- reductions ----


def _deviation(self: Tensor, grad: Tensor, correction: float) -> Any:
    """The gradient of the variance of all elements."""
    away = _do("sub.Tensor", self, _do("mean", self))
    return [_do("mul.Tensor", _do("mul.Scalar", grad, 2.0 / (self.numel() - correction)), away)]


def _of_all(node: Any) -> bool:
    self, correction = node._saved_self, node._saved_correction
    degrees = self.numel() - (1 if correction is None else correction)
    return bool(node._saved_dim is None and self.dim() and degrees > 0 and not self.is_complex())


@_formula("VarBackward0")
def _var(node: Any, grad: Tensor) -> Any:
    correction = node._saved_correction
    return _deviation(node._saved_self, grad, 1 if correction is None else correction) if _of_all(node) else NotImplemented


@_formula("StdBackward0")
def _std(node: Any, grad: Tensor) -> Any:
    if not _of_all(node):
        return NotImplemented
    result, correction = node._saved_result, node._saved_correction
    grad = _do("div.Tensor", grad, _do("mul.Scalar", result, 2))
    grad = _do("masked_fill_.Scalar", grad, _do("eq.Scalar", result, 0), 0)
    return _deviation(node._saved_self, grad, 1 if correction is None else correction)


@_formula("MaxBackward1", "MinBackward1", "MedianBackward0", "NanmedianBackward0")
def _selected(node: Any, grad: Tensor) -> Any:
    self, result = node._saved_self, node._saved_result
    nan = _do("isnan", self)
    nan = _do("logical_and", nan, _do("isnan", result))
    chosen = _do("logical_or_", _do("eq.Tensor", self, result), nan)
    return [_do("mul.Tensor", chosen, _do("div.Tensor", grad, _do("sum", chosen)))]


@_formula("AmaxBackward0", "AminBackward0")
def _selected_along(node: Any, grad: Tensor) -> Any:
    self, result, dims, keepdim = node._saved_self, node._saved_result, list(node._saved_dim), node._saved_keepdim
    if not self.dim():
        return NotImplemented
    chosen = _do("eq.Tensor", _with_reduced(result, self.shape, dims, keepdim), self)
    grad = _with_reduced(grad, self.shape, dims, keepdim)
    count = _do("sum.dim_IntList", chosen, dims, True)
    return [_do("mul.Tensor", _do("div.Tensor", grad, count), chosen)]


@_formula("ProdBackward0")
def _prod(node: Any, grad: Tensor) -> Any:
    self, _ = node._saved_self, node._saved_result
    if self.is_complex() or self.numel() < 2 or self.dtype is not grad.dtype:
        return NotImplemented
    flat, n = _reshaped(_contiguous(self), [-1]), self.numel()
    one = _do("ones", [1], dtype=grad.dtype, device=grad.device, pin_memory=False)
    before = _do("cumprod", _do("cat", [one, _do("slice.Tensor", flat, 0, 0, n - 1)]), 0)
    behind = _do("flip", _do("slice.Tensor", flat, 0, 1, n), [0])
    after = _do("flip", _do("cumprod", _do("cat", [one, behind]), 0), [0])
    return [_do("view", _do("mul.Tensor", grad, _do("mul.Tensor", before, after)), list(self.shape))]


@_formula("LinalgQrBackward0")
def _qr(node: Any, grad_q: Tensor | None, grad_r: Tensor | None) -> Any:
    Q, R = node._saved_Q, node._saved_R
    if Q.is_complex() or Q.dim() != 2 or node._saved_mode != "reduced" or R.shape[0] != R.shape[1]:
        return NotImplemented
    inner = None if grad_r is None else _do("mm", grad_r, _do("transpose.int", R, -2, -1))
    if grad_q is not None:
        turned = _do("mm", _do("transpose.int", Q, -2, -1), grad_q)
        inner = _do("neg", turned) if inner is None else _do("sub.Tensor", inner, turned)
    inner = _do("triu", inner)
    inner = _do("add.Tensor", inner, _do("transpose.int", inner, -2, -1))
    _do("mul_.Scalar", _do("diagonal", inner, 0, -2, -1), 0.5)
    found = _do("mm", Q, inner)
    if grad_q is not None:
        found = _do("add.Tensor", found, grad_q)
    return [_do("linalg_solve_triangular", _do("transpose.int", R, -2, -1), found, upper=False, left=False)]


# ---- shapes ----


@_formula("StackBackward0")
def _stack(node: Any, grad: Tensor) -> Any:
    return [_do("select.int", grad, node._saved_dim, i) for i in range(len(node.next_functions))]


@_formula("UnbindBackward0")
def _unbind(node: Any, *grads: Tensor | None) -> Any:
    first = next(g for g in grads if g is not None)
    options = {"dtype": first.dtype, "device": first.device, "pin_memory": False}
    parts = [_do("expand", _do("zeros", [], **options), list(first.shape)) if g is None else g for g in grads]
    return [_do("stack", parts, node._saved_dim)]


@_formula("SqueezeBackward0")
def _squeeze(node: Any, grad: Tensor) -> Any:
    for d, n in enumerate(node._saved_self_sym_sizes):
        if n == 1:
            grad = _do("unsqueeze", grad, d)
    return [grad]


@_formula("RepeatBackward0")
def _repeat(node: Any, grad: Tensor) -> Any:
    sizes, repeats = list(node._saved_self_sym_sizes), list(node._saved_repeats)
    if 0 in repeats or len(repeats) != len(sizes) or repeats == [1] * len(repeats):
        return NotImplemented
    shape: list[int] = []
    over = []
    for times, n in zip(repeats, sizes, strict=True):
        if times != 1:
            over.append(len(shape))
            shape.append(times)
        shape.append(n)
    return [_do("sum.dim_IntList", _reshaped(grad, shape), over)]


@_formula("CdistBackward0")
def _cdist(node: Any, grad: Tensor) -> Any:
    x1, x2, p, result = node._saved_x1, node._saved_x2, node._saved_p, node._saved_result
    found: list[Any] = [None, None]
    if _wants(node, 0):
        found[0] = _do("_cdist_backward", _contiguous(grad), x1, x2, p, result)
    if _wants(node, 1):
        distances = _contiguous(_do("transpose.int", result, -2, -1))
        found[1] = _do("_cdist_backward", _contiguous(_do("transpose.int", grad, -2, -1)), x2, x1, p, distances)
    return found
