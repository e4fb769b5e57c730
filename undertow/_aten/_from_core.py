"""The operators of the tables as torch's: for each key of the core, the calls that torch's dispatcher makes at the same point.

Most operators have torch's name and arguments; `_OVERLOADS` has the names of their overloads. The others have a function below. It gets
the arguments in the order of the table, and returns the result that the table declares.
"""

from __future__ import annotations

import sys
from functools import partial

import undertow
from undertow import _C
from undertow._aten import call
from undertow._vmap._dispatch import OPERATORS
from undertow.autograd import graph
from undertow.ops import aten
from undertow.utils._python_dispatch import _DisableTorchDispatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from undertow import Tensor
    from undertow._ops import OpOverload

# key:overload, where the overload is not the default one. An in-place form has the overload of its plain form, unless it is listed.
_OVERLOADS = """
add:Tensor add#1:Scalar sub:Tensor sub#1:Scalar rsub:Tensor rsub#1:Scalar mul:Tensor mul#1:Scalar div:Tensor div#1:Scalar div.mode:Tensor_mode
div.mode#1:Scalar_mode floor_divide_:Tensor floor_divide#1:Scalar remainder:Tensor remainder#1:Scalar remainder.self:Scalar_Tensor fmod:Tensor
fmod#1:Scalar pow:Tensor_Tensor pow_:Tensor pow.scalar:Tensor_Scalar pow.scalar_:Scalar pow.self:Scalar lerp:Tensor lerp#1:Scalar copysign:Tensor
copysign#1:Scalar ldexp:Tensor frexp:Tensor eq:Tensor eq#1:Scalar ne:Tensor ne#1:Scalar lt:Tensor lt#1:Scalar le:Tensor le#1:Scalar gt:Tensor
gt#1:Scalar ge:Tensor ge#1:Scalar clamp:Tensor clamp_min:Tensor clamp_max:Tensor where:self fill:Scalar fill.Tensor:Tensor empty:memory_format
arange.start_step:start_step range:step linspace.tensor_tensor:Tensor_Tensor linspace.tensor_number:Tensor_Scalar
linspace.number_tensor:Scalar_Tensor logspace.tensor_tensor:Tensor_Tensor logspace.tensor_number:Tensor_Scalar
logspace.number_tensor:Scalar_Tensor eye.m:m xlogy:Tensor xlogy#1:Scalar_Other xlogy#2:Scalar_Self index:Tensor
index_fill.int_Tensor:int_Tensor index_fill.int_Scalar:int_Scalar scatter.src:src scatter.value:value scatter_reduce:two
masked_fill.Tensor:Tensor masked_fill.Scalar:Scalar bitwise_and:Tensor bitwise_and#1:Scalar bitwise_and.self:Scalar_Tensor bitwise_or:Tensor
bitwise_or#1:Scalar bitwise_or.self:Scalar_Tensor bitwise_xor:Tensor bitwise_xor#1:Scalar bitwise_xor.self:Scalar_Tensor
bitwise_left_shift:Tensor bitwise_left_shift#1:Tensor_Scalar bitwise_left_shift.self:Scalar_Tensor bitwise_right_shift:Tensor
bitwise_right_shift#1:Tensor_Scalar bitwise_right_shift.self:Scalar_Tensor rand:generator randn:generator randint:generator
randint.low:low_generator randperm:generator rand_like:generator randn_like:generator randint_like:generator
randint_like.low:low_generator_dtype normal.tensor_tensor:Tensor_Tensor normal.tensor_number:Tensor_float normal.number_tensor:float_Tensor
normal.size:float_float random.to:to random.from:from bernoulli.tensor:Tensor bernoulli.p:p bernoulli.p_:float sum.dim:dim_IntList mean.dim:dim
prod.dim:dim_int max.dim:dim min.dim:dim median.dim:dim nanmedian.dim:dim any.dim:dim any.dims:dims all.dim:dim all.dims:dims
count_nonzero.dims:dim_IntList var.correction:correction std.correction:correction var_mean.correction:correction
std_mean.correction:correction round.decimals:decimals transpose:int squeeze.dim:dim squeeze.dims:dims select:int slice:Tensor unbind:int
split:Tensor sort.stable:stable searchsorted:Tensor searchsorted.number:Scalar bucketize:Tensor bucketize.number:Scalar isin:Tensor_Tensor
isin.number:Tensor_Scalar isin.in_tensor:Scalar_Tensor
"""
OVERLOADS: dict[str, str] = dict(pair.split(":") for pair in _OVERLOADS.split())
# Here a number that Python gives counts as a tensor, as in torch: x * 2 is mul.Tensor, while a formula's x * 2 is mul.Scalar.
_NUMBERS_AS_TENSORS = {
    "add#1": "Tensor", "sub#1": "Tensor", "mul#1": "Tensor", "div#1": "Tensor", "div.mode#1": "Tensor_mode",
    "floor_divide#1": "default", "floor_divide#1_": "Tensor",
}  # fmt: skip
_NOT_PYTHON_IN_TORCH = {"undertow.nn._functions.dropout_core"}  # modules whose numbers stay numbers
_SAVES_NUMBER = ("MulBackward0", "DivBackward0")  # of x * 2: torch keeps the number as a tensor
_WITHOUT_GENERATOR = {"generator": "default", "low_generator": "low", "low_generator_dtype": "low_dtype"}
_FACTORIES = {
    "zeros", "ones", "full", "empty", "empty_strided", "rand", "randn", "randint", "randperm", "arange", "eye", "linspace", "logspace",
    "scalar_tensor",
}  # fmt: skip

_translations: dict[str, Callable[..., Any]] = {}


def translation(key: str) -> Callable[..., Any]:
    """Return the function that makes torch's calls for a key."""
    found = _translations.get(key)
    if found is None:
        found = _translations[key] = _direct(key)
    return found


def aten_name(key: str) -> tuple[str, str]:
    """Return torch's names of the operator and the overload, for a key that needs no function.

    >>> aten_name("mul#1_"), aten_name("sum.dim"), aten_name("relu")
    (('mul_', 'Scalar'), ('sum', 'dim_IntList'), ('relu', 'default'))
    """
    plain = key[:-1] if key.endswith("_") and key in OPERATORS and OPERATORS[key].inplace else key
    name = plain.partition("#")[0].partition(".")[0] + "_" * (plain is not key)
    return name, OVERLOADS.get(key) or OVERLOADS.get(plain, "default")


def _translates(*keys: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for key in keys:
            _translations[key] = function
        return function

    return register


def _is_formula() -> bool:
    """Return True if the engine, or what is C++ in torch, called the operator that is being translated, not a Python function."""
    caller = sys._getframe(2).f_back
    if caller is not None and caller.f_code is not graph._engine_run_backward.__code__:
        return caller.f_globals.get("__name__") in _NOT_PYTHON_IN_TORCH
    node = _C._current_autograd_node()
    return node is None or node.name() not in _SAVES_NUMBER


def _value(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _direct(key: str) -> Callable[..., Any]:
    if key.startswith("aten::"):  # a formula that is one operator of torch's; the arguments are those of its schema
        name, _, overload = key[6:].partition(".")
        return partial(_call, name, overload or "default")
    name, overload = aten_name(key)
    names = OPERATORS[key].names
    packet = getattr(aten, name, None)
    if packet is None or overload not in packet.overloads() or not packet._texts:
        return _unknown(key)
    op: OpOverload = getattr(packet, overload)
    schema = op._schema
    known = {a.name for a in schema.arguments}
    if not known.issuperset(names):
        return _unknown(key)
    other = _NUMBERS_AS_TENSORS.get(key) or _NUMBERS_AS_TENSORS.get(key.rstrip("_"))
    from_python = getattr(packet, other) if other else None
    without = _WITHOUT_GENERATOR.get(overload)
    ungenerated = getattr(packet, without) if without else None
    defaults = {a.name: a.default_value for a in schema.arguments if a.name not in names}
    is_factory = name in _FACTORIES

    def translated(*args: Any) -> Any:
        values = defaults | {n: _value(v) for n, v in zip(names, args, strict=True)}
        chosen = op
        if from_python is not None and not _is_formula():
            chosen = from_python
            values = {a.name: values.get(a.name, a.default_value) for a in chosen._schema.arguments}
        elif ungenerated is not None and values["generator"] is None:
            chosen = ungenerated
            del values["generator"]
        if is_factory:
            values["pin_memory"] = False
            if values.get("device") is None:
                values["device"] = undertow.device("cpu")
        return call(chosen, *chosen._schema.unbind(values))

    return translated


def _unknown(key: str) -> Callable[..., Any]:
    """For an operator that torch does not have: the same name, with the arguments of the table."""
    from undertow._ops import OpOverload, OpOverloadPacket

    operator = OPERATORS[key]
    packet = OpOverloadPacket("undertow", key.partition("#")[0].replace(".", "_").lstrip("_") or key, operator, {})
    op = OpOverload(packet, "default", None)
    op._core = operator  # type: ignore[attr-defined]  # what _to_core.run calls
    return lambda *args: call(op, args, {})


def _call(name: str, overload: str, *args: Any, **kwargs: Any) -> Any:
    op: OpOverload = getattr(getattr(aten, name), overload)
    values = op._schema.bind([_value(a) for a in args], kwargs)
    return call(op, *op._schema.unbind(values))


def _like(sizes: Sequence[int], t: Tensor) -> Tensor:
    """Return a tensor of which only the sizes matter."""
    with _DisableTorchDispatch():
        return undertow.empty(1, dtype=t.dtype, device=t.device).expand(*sizes) if len(sizes) else undertow.empty((), dtype=t.dtype)


def _mask(bits: int, count: int) -> list[bool]:
    return [bool(bits >> i & 1) for i in range(count)]


# -- other names -------------------------------------------------------------------------------------------------------

for _key, _target in {
    "angle_kernel": "angle.default", "conj_kernel": "_conj_physical.default",
    "nextafter_kernel": "nextafter.default", "prelu_kernel": "_prelu_kernel.default", "view_alias": "alias.default", "_alias": "alias.default",
    "item": "_local_scalar_dense.default", "_view_dtype": "view.dtype", "_unsafe_split": "unsafe_split.Tensor",
    "_unsafe_split_with_sizes": "unsafe_split_with_sizes.default", "_unique_dim": "unique_dim.default",
    "_unique_consecutive": "unique_consecutive.default", "_block_diag": "block_diag.default", "power": "pow.Tensor_Tensor",
    "power#1": "pow.Tensor_Scalar", "power#2": "pow.Scalar", "floor_divide.self": "floor_divide.default",
    "_ctc_backward": "_ctc_loss_backward.default",
    "shrink_backward": "hardshrink_backward.default", "pdist": "_pdist_forward.default", "xlog1py": "special_xlog1py.default",
    "xlog1py#1": "special_xlog1py.other_scalar", "xlog1py#2": "special_xlog1py.self_scalar", "zeta": "special_zeta.default",
    "zeta#1": "special_zeta.other_scalar", "zeta#2": "special_zeta.self_scalar",
    **{name: f"special_{name}.default" for name in ["i0e", "i1", "i1e", "entr", "erfcx", "ndtr", "ndtri", "log_ndtr"]},
}.items():  # fmt: skip
    _translations[_key] = partial(_call, *_target.split("."))


@_translates("gelu_erf")
def _gelu(self: Tensor) -> Any:
    return _call("gelu", "default", self)


@_translates("gelu_tanh")
def _gelu_tanh(self: Tensor) -> Any:
    return _call("gelu", "default", self, approximate="tanh")


@_translates("gelu_erf_backward")
def _gelu_backward(grad: Tensor, self: Tensor) -> Any:
    return _call("gelu_backward", "default", grad, self)


@_translates("gelu_tanh_backward")
def _gelu_tanh_backward(grad: Tensor, self: Tensor) -> Any:
    return _call("gelu_backward", "default", grad, self, approximate="tanh")


@_translates("elu_backward")
def _elu_backward(grad: Tensor, alpha: Any, scale: Any, input_scale: Any, self: Tensor) -> Any:
    return _call("elu_backward", "default", grad, alpha, scale, input_scale, False, self)


@_translates("leaky_relu_backward")
def _leaky_relu_backward(grad: Tensor, self: Tensor, slope: Any) -> Any:
    return _call("leaky_relu_backward", "default", grad, self, slope, False)


@_translates("logsigmoid")
def _log_sigmoid(self: Tensor) -> Any:
    return _call("log_sigmoid_forward", "default", self)[0]


@_translates("log_sigmoid_backward")
def _log_sigmoid_backward(grad: Tensor, self: Tensor) -> Any:
    return _call("log_sigmoid_backward", "default", grad, self, _like([0], self))


@_translates("trunc_divide", "trunc_divide#1")
def _trunc_divide(self: Tensor, other: Any) -> Any:
    return _call("div", "Tensor_mode", self, other, rounding_mode="trunc")


@_translates("square_kernel")
def _square(self: Tensor) -> Any:
    return _call("pow", "Tensor_Scalar", self, 2)


@_translates("cube_kernel")
def _cube(self: Tensor) -> Any:
    return _call("pow", "Tensor_Scalar", self, 3)


@_translates("nan_to_num_kernel")
def _nan_to_num(self: Tensor, nan: float, high: float, low: float) -> Any:
    return _call("nan_to_num", "default", self, nan, high, low)


@_translates("clamp_kernel", "clamp_kernel#1", "clamp_kernel#2", "clamp_kernel#3")
def _clamp(self: Tensor, low: Any, high: Any) -> Any:
    tensors = isinstance(low, _C.Tensor) or isinstance(high, _C.Tensor)
    return _call("clamp", "Tensor" if tensors else "default", self, low, high)


@_translates("where#1", "where#2", "where#3")
def _where(condition: Tensor, self: Any, other: Any) -> Any:
    tensor = next((t for t in (self, other) if isinstance(t, _C.Tensor)), None)
    options = {"dtype": tensor.dtype if tensor is not None else None, "device": condition.device, "pin_memory": False}
    parts = [t if isinstance(t, _C.Tensor) else _call("scalar_tensor", "default", t, **options) for t in (self, other)]
    return _call("where", "self", condition, *parts)


@_translates("one_hot")
def _one_hot(self: Tensor, num_classes: int) -> Any:
    low, high = _call("aminmax", "default", self)
    low, high = (_call("_local_scalar_dense", "default", t) for t in (low, high))
    if low < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes >= 0 and high >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    size = [*self.shape, high + 1 if num_classes < 0 else num_classes]
    found = _call("zeros", "default", size, dtype=self.dtype, device=self.device, pin_memory=False)
    return _call("scatter_", "value", found, -1, _call("unsqueeze", "default", self, -1), 1)


@_translates("isfinite")
def _isfinite(self: Tensor) -> Any:
    small = _call("ne", "Scalar", _call("abs", "default", self), float("inf"))
    return _call("mul", "Tensor", _call("eq", "Tensor", self, self), small)


@_translates("conj")
def _conj(self: Tensor) -> Any:
    return _call("_conj", "default", self) if self.is_complex() else self


@_translates("conj_physical")
def _conj_physical(self: Tensor) -> Any:
    return _call("_conj_physical", "default", self) if self.is_complex() else self


# -- softmax, losses, normalization ----------------------------------------------------------------------------------------


def _softmax_of(name: str, self: Tensor, dim: int, dtype: Any) -> Any:
    if dtype is not None and dtype is not self.dtype:
        self = _call("_to_copy", "default", self, dtype=dtype)
    return _call(name, "default", self, dim, False)


_translations["softmax"] = partial(_softmax_of, "_softmax")
_translations["log_softmax"] = partial(_softmax_of, "_log_softmax")


@_translates("nll_loss_backward")
def _nll_loss_backward(grad: Tensor, sizes: Sequence[int], target: Tensor, weight: Any, reduction: int, ignore_index: int, total: Tensor) -> Any:
    name = "nll_loss2d_backward" if len(sizes) == 4 else "nll_loss_backward"
    return _call(name, "default", grad, _like(sizes, grad), target, weight, reduction, ignore_index, total)


@_translates("_layer_norm_backward")
def _layer_norm_backward(dy: Tensor, input: Tensor, shape: Any, mean: Tensor, rstd: Tensor, weight: Any, eps: float, mask: int) -> Any:
    return _call("native_layer_norm_backward", "default", dy, input, shape, mean, rstd, weight, None, _mask(mask, 3))


@_translates("_rms_norm_backward")
def _rms_norm_backward(dy: Tensor, input: Tensor, shape: Any, rstd: Tensor, weight: Any, eps: Any, mask: int) -> Any:
    return _call("_fused_rms_norm_backward", "default", dy, input, shape, rstd, weight, _mask(mask, 2))


@_translates("native_batch_norm")
def _batch_norm(*args: Any) -> Any:
    # torch's batch_norm allocates space that only other kernels use.
    _call("empty", "memory_format", [0], dtype=undertow.uint8, device=args[0].device, pin_memory=False)
    return _call("native_batch_norm", "default", *args)


@_translates("_batch_norm_backward")
def _batch_norm_backward(
    dy: Tensor, input: Tensor, weight: Any, mean: Any, var: Any, save_mean: Tensor, save_rstd: Tensor, training: bool, eps: float, mask: int
) -> Any:
    return _call("native_batch_norm_backward", "default", dy, input, weight, mean, var, save_mean, save_rstd, training, eps, _mask(mask, 3))


@_translates("_group_norm_backward")
def _group_norm_backward(
    dy: Tensor, input: Tensor, mean: Tensor, rstd: Tensor, weight: Any, n: int, c: int, size: int, group: int, eps: float, mask: int
) -> Any:
    return _call("native_group_norm_backward", "default", dy, input, mean, rstd, weight, n, c, size, group, _mask(mask, 3))


# -- convolution, attention, images ------------------------------------------------------------------------------------------


@_translates("convolution_backward")
def _convolution_backward(
    grad: Tensor, input: Tensor, weight: Tensor, stride: Any, padding: Any, dilation: Any, transposed: bool, groups: int, wanted: int
) -> Any:
    mask = _mask(wanted, 3)
    bias = [grad.shape[1]] if mask[2] else None
    zeros = [0] * (weight.dim() - 2)
    return _call("convolution_backward", "default", grad, input, weight, bias, stride, padding, dilation, transposed, zeros, groups, mask)


@_translates("convolution_input")
def _convolution_input(grad: Tensor, weight: Tensor, size: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    zeros, mask = [0] * (weight.dim() - 2), [True, False, False]
    input = _like(size, grad)
    return _call("convolution_backward", "default", grad, input, weight, None, stride, padding, dilation, False, zeros, groups, mask)[0]


@_translates("convolution_weight")
def _convolution_weight(input: Tensor, grad: Tensor, size: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    zeros, mask = [0] * (len(size) - 2), [False, True, False]
    weight = _like(size, grad)
    return _call("convolution_backward", "default", grad, input, weight, None, stride, padding, dilation, False, zeros, groups, mask)[1]


@_translates("_flash_attention_backward")
def _attention_backward(dy: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, causal: bool, mask: Any, scale: Any) -> Any:
    name = "_scaled_dot_product_flash_attention_for_cpu_backward"
    return _call(name, "default", dy, q, k, v, out, lse, 0.0, causal, attn_mask=mask, scale=scale)


@_translates("_pad_indexed")
def _pad(self: Tensor, padding: Any, mode: int) -> Any:
    if mode == 2:
        return _unknown("_pad_indexed")(self, padding, mode)
    return _call(f"{('reflection', 'replication')[mode]}_pad{len(padding) // 2}d", "default", self, padding)


@_translates("_pad_indexed_backward")
def _pad_backward(grad: Tensor, sizes: Any, padding: Any, mode: int) -> Any:
    if mode == 2:
        return _unknown("_pad_indexed_backward")(grad, sizes, padding, mode)
    return _call(f"{('reflection', 'replication')[mode]}_pad{len(padding) // 2}d_backward", "default", grad, _like(sizes, grad), padding)


@_translates("_max_pool_scatter")
def _max_pool_backward(grad: Tensor, indices: Tensor, sizes: Any, spatial: int) -> Any:
    if spatial == 1:
        return _unknown("_max_pool_scatter")(grad, indices, sizes, spatial)
    # The sizes of the window are not kept: the indices already say where each maximum was.
    one, zero = [1] * spatial, [0] * spatial
    return _call(f"max_pool{spatial}d_with_indices_backward", "default", grad, _like(sizes, grad), one, one, zero, one, False, indices)


@_translates("_avg_unpool")
def _avg_pool_backward(grad: Tensor, sizes: Any, kernel: Any, stride: Any, padding: Any, include_pad: bool, divisor: Any) -> Any:
    if len(kernel) == 1:
        return _unknown("_avg_unpool")(grad, sizes, kernel, stride, padding, include_pad, divisor)
    return _call(f"avg_pool{len(kernel)}d_backward", "default", grad, _like(sizes, grad), kernel, stride, padding, False, include_pad, divisor)


@_translates("_adaptive_avg_unpool")
def _adaptive_backward(grad: Tensor, sizes: Any, spatial: int) -> Any:
    if spatial == 1:
        return _unknown("_adaptive_avg_unpool")(grad, sizes, spatial)
    return _call(f"_adaptive_avg_pool{spatial}d_backward", "default", grad, _like(sizes, grad))


def _resample_call(kind: str, first: Sequence[Any], align: bool, scales: Sequence[Any], suffix: str) -> Any:
    name = f"upsample_{kind.lower()}{suffix}"
    if not hasattr(aten, name) or "default" not in getattr(aten, name)._texts:
        return None
    given = [] if "nearest" in name else [align]
    dims = int(kind.removesuffix("Aa")[-2])
    return _call(name, "default", *first, *given, *scales[3 - dims :])


@_translates("_resample")
def _resample(self: Tensor, size: Any, kind: str, align: bool, d: Any, h: Any, w: Any) -> Any:
    found = None if kind.endswith("Aa") else _resample_call(kind, (self, size), align, (d, h, w), "")
    return _unknown("_resample")(self, size, kind, align, d, h, w) if found is None else found


@_translates("_resample_backward")
def _resample_backward(grad: Tensor, sizes: Any, kind: str, align: bool, d: Any, h: Any, w: Any) -> Any:
    first = (grad, list(grad.shape[2:]), list(sizes))
    found = None if kind.endswith("Aa") else _resample_call(kind, first, align, (d, h, w), "_backward")
    return _unknown("_resample_backward")(grad, sizes, kind, align, d, h, w) if found is None else found


@_translates("_embedding_bag")
def _embedding_bag(
    weight: Tensor, indices: Tensor, offsets: Tensor, by_freq: bool, mode: int, scales: Any, last: bool, padding: int, sparse: bool
) -> Any:
    return _call("_embedding_bag", "default", weight, indices, offsets, by_freq, mode, sparse, scales, last, padding)


# -- linear algebra, indices ---------------------------------------------------------------------------------------------------


@_translates("cdist")
def _cdist(x1: Tensor, x2: Tensor, p: float, mode: str) -> Any:
    return _call("_cdist_forward", "default", x1, x2, p, {"use_mm_for_euclid_dist": 1, "donot_use_mm_for_euclid_dist": 2}.get(mode))


@_translates("linalg_det")
def _det(A: Tensor) -> Any:
    return _call("_linalg_det", "default", A)[0]


@_translates("linalg_slogdet")
def _slogdet(A: Tensor) -> Any:
    return _call("_linalg_slogdet", "default", A)[:2]


@_translates("linalg_solve_ex")
def _solve_ex(A: Tensor, B: Tensor, left: bool, check_errors: bool) -> Any:
    results = _call("_linalg_solve_ex", "default", A, B, left=left, check_errors=check_errors)
    return results[0], results[3]


@_translates("_linalg_pinv")
def _pinv(self: Tensor, atol: Tensor, rtol: Tensor, hermitian: bool) -> Any:
    return _call("linalg_pinv", "atol_rtol_tensor", self, atol=atol, rtol=rtol, hermitian=hermitian)


@_translates("nonzero")
def _nonzero(self: Tensor, as_tuple: bool) -> Any:
    return _call("nonzero", "default", self)


@_translates("nonzero.numpy")
def _nonzero_numpy(self: Tensor, as_tuple: bool) -> Any:
    found = _call("nonzero", "default", self)
    return _call("unbind", "int", found, 1)


@_translates("max_unpool3d")
def _max_unpool3d(self: Tensor, indices: Tensor, output_size: Any) -> Any:
    return _call("max_unpool3d", "default", self, indices, output_size, [], [])

