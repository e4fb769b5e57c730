"""Operators of torch's that the tables have under another name or with other arguments.

Each function computes the operator of its name, without the prefix `c_`, from arguments with torch's names.
"""

from __future__ import annotations

import inspect

import undertow
from undertow._vmap._dispatch import OPERATORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from undertow import Tensor

COMPUTED: dict[str, Callable[..., Any]] = {}


def _computes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a function for the operator of its name; it may leave out arguments."""
    taken = list(inspect.signature(function).parameters)

    def chosen(**values: Any) -> Any:
        return function(*(values[name] for name in taken))

    COMPUTED[function.__name__.removeprefix("c_")] = chosen
    return function


def _core(key: str, *args: Any) -> Any:
    return OPERATORS[key](*args)


def _bits(mask: Sequence[bool]) -> int:
    return sum(bool(on) << i for i, on in enumerate(mask))


def _masked(results: Sequence[Any], mask: Sequence[bool]) -> tuple[Any, ...]:
    return tuple(r if on else None for r, on in zip(results, mask, strict=True))


# -- pointwise -----------------------------------------------------------------------------------------------------------------


@_computes
def c_gelu(self: Tensor, approximate: str) -> Any:
    return _core("gelu_tanh" if approximate == "tanh" else "gelu_erf", self)


@_computes
def c_gelu_backward(grad_output: Tensor, self: Tensor, approximate: str) -> Any:
    return _core("gelu_tanh_backward" if approximate == "tanh" else "gelu_erf_backward", grad_output, self)


@_computes
def c_elu_backward(grad_output: Tensor, alpha: Any, scale: Any, input_scale: Any, is_result: bool, self_or_result: Tensor) -> Any:
    if is_result:
        slope = undertow.where(self_or_result <= 0, (self_or_result + alpha * scale) * input_scale, scale)
        return grad_output * slope
    return _core("elu_backward", grad_output, alpha, scale, input_scale, self_or_result)


@_computes
def c_leaky_relu_backward(grad_output: Tensor, self: Tensor, negative_slope: Any) -> Any:
    return _core("leaky_relu_backward", grad_output, self, negative_slope)


@_computes
def c_log_sigmoid_forward(self: Tensor) -> Any:
    return _core("logsigmoid", self), self.new_empty(0)


@_computes
def c_log_sigmoid_backward(grad_output: Tensor, self: Tensor) -> Any:
    return _core("log_sigmoid_backward", grad_output, self)


@_computes
def c_hardshrink_backward(grad_out: Tensor, self: Tensor, lambd: Any) -> Any:
    return _core("shrink_backward", grad_out, self, lambd)


@_computes
def c_softshrink_backward(grad_output: Tensor, self: Tensor, lambd: Any) -> Any:
    return _core("shrink_backward", grad_output, self, lambd)


@_computes
def c__prelu_kernel(self: Tensor, weight: Tensor) -> Any:
    return _core("prelu_kernel", self, weight)


@_computes
def c__prelu_kernel_backward(grad_output: Tensor, self: Tensor, weight: Tensor) -> Any:
    positive, none = self > 0, grad_output.new_zeros(())
    return undertow.where(positive, grad_output, weight * grad_output), undertow.where(positive, none, self * grad_output)


@_computes
def c__conj_physical(self: Tensor) -> Any:
    return _core("conj_physical", self)


@_computes
def c__conj(self: Tensor) -> Any:
    return _core("conj", self)


@_computes
def c_nan_to_num(self: Tensor, nan: Any, posinf: Any, neginf: Any) -> Any:
    return undertow.nan_to_num(self, nan if nan is not None else 0.0, posinf, neginf)


# -- memory and views ------------------------------------------------------------------------------------------------------------


@_computes
def c_detach(self: Tensor) -> Tensor:
    return self.detach()


@_computes
def c_alias(self: Tensor) -> Tensor:
    return _core("_alias", self)


@_computes
def c_lift_fresh(self: Tensor) -> Tensor:
    return self


@_computes
def c__local_scalar_dense(self: Tensor) -> Any:
    return self.item()


@_computes
def c__to_copy(self: Tensor, dtype: Any, device: Any, memory_format: Any) -> Tensor:
    return _core("_to_copy", self, self.dtype if dtype is None else dtype, memory_format, device)


@_computes
def c_clone(self: Tensor, memory_format: Any) -> Tensor:
    return _core("clone", self, memory_format)


@_computes
def c_zero_(self: Tensor) -> Tensor:
    return self.zero_()


@_computes
def c_unsafe_split(self: Tensor, split_size: int, dim: int) -> Any:
    return _core("_unsafe_split", self, split_size, dim)


@_computes
def c_unsafe_split_with_sizes(self: Tensor, split_sizes: Any, dim: int) -> Any:
    return _core("_unsafe_split_with_sizes", self, split_sizes, dim)


COMPUTED["view.dtype"] = lambda self, dtype: _core("_view_dtype", self, dtype)


@_computes
def c_unfold_backward(grad_in: Tensor, input_sizes: Any, dim: int, size: int, step: int) -> Tensor:
    return _gradient(lambda x: x.unfold(dim, size, step), grad_in.new_empty(input_sizes), grad_in)


# -- losses, normalization ---------------------------------------------------------------------------------------------------------


@_computes
def c__softmax(self: Tensor, dim: int, half_to_float: bool) -> Any:
    return _core("softmax", self, dim, undertow.float32 if half_to_float else None)


@_computes
def c__log_softmax(self: Tensor, dim: int, half_to_float: bool) -> Any:
    return _core("log_softmax", self, dim, undertow.float32 if half_to_float else None)


def _gradient(function: Callable[..., Tensor], self: Tensor, grad: Tensor) -> Tensor:
    """Return the gradient of a function of one tensor."""
    with undertow.enable_grad():
        x = self.detach().requires_grad_()
        (result,) = undertow.autograd.grad(function(x), x, grad.detach())
    return result


_REDUCTIONS = ("none", "mean", "sum")


@_computes
def c_mse_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    return _gradient(lambda x: undertow.nn.functional.mse_loss(x, target, reduction=_REDUCTIONS[reduction]), self, grad_output)


@_computes
def c_smooth_l1_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, beta: float) -> Tensor:
    return _gradient(lambda x: undertow.nn.functional.smooth_l1_loss(x, target, reduction=_REDUCTIONS[reduction], beta=beta), self, grad_output)


@_computes
def c_huber_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, delta: float) -> Tensor:
    return _gradient(lambda x: undertow.nn.functional.huber_loss(x, target, _REDUCTIONS[reduction], delta), self, grad_output)


@_computes
def c_soft_margin_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    return _gradient(lambda x: undertow.nn.functional.soft_margin_loss(x, target, reduction=_REDUCTIONS[reduction]), self, grad_output)


@_computes
def c_binary_cross_entropy_backward(grad_output: Tensor, self: Tensor, target: Tensor, weight: Any, reduction: int) -> Tensor:
    function = undertow.nn.functional.binary_cross_entropy
    return _gradient(lambda x: function(x, target, weight, reduction=_REDUCTIONS[reduction]), self, grad_output)


@_computes
def c_nll_loss_backward(
    grad_output: Tensor, self: Tensor, target: Tensor, weight: Any, reduction: int, ignore_index: int, total_weight: Tensor
) -> Any:
    return _core("nll_loss_backward", grad_output, self.shape, target, weight, reduction, ignore_index, total_weight)


COMPUTED["nll_loss2d_backward"] = COMPUTED["nll_loss_backward"]


@_computes
def c_native_layer_norm_backward(
    grad_out: Tensor, input: Tensor, normalized_shape: Any, mean: Tensor, rstd: Tensor, weight: Any, output_mask: Any
) -> Any:
    found = _core("_layer_norm_backward", grad_out, input, normalized_shape, mean, rstd, weight, 0.0, _bits(output_mask))
    return _masked(found, output_mask)


@_computes
def c__fused_rms_norm_backward(grad_out: Tensor, input: Tensor, normalized_shape: Any, rstd: Tensor, weight: Any, output_mask: Any) -> Any:
    found = _core("_rms_norm_backward", grad_out, input, normalized_shape, rstd, weight, None, _bits(output_mask))
    return _masked(found, output_mask)


@_computes
def c_native_batch_norm_backward(
    grad_out: Tensor, input: Tensor, weight: Any, running_mean: Any, running_var: Any, save_mean: Any, save_invstd: Any, train: bool, eps: float,
    output_mask: Any,
) -> Any:  # fmt: skip
    parts = (grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, _bits(output_mask))
    return _masked(_core("_batch_norm_backward", *parts), output_mask)


@_computes
def c_native_group_norm_backward(
    grad_out: Tensor, input: Tensor, mean: Tensor, rstd: Tensor, weight: Any, N: int, C: int, HxW: int, group: int, output_mask: Any
) -> Any:
    found = _core("_group_norm_backward", grad_out, input, mean, rstd, weight, N, C, HxW, group, 0.0, _bits(output_mask))
    return _masked(found, output_mask)


# -- convolution, attention, images -------------------------------------------------------------------------------------------------


@_computes
def c_convolution_backward(
    grad_output: Tensor, input: Tensor, weight: Tensor, stride: Any, padding: Any, dilation: Any, transposed: bool, groups: int, output_mask: Any
) -> Any:
    places = stride, padding, dilation, groups
    into_input = into_weight = into_bias = None
    if output_mask[0]:
        if transposed:
            into_input = _core("convolution", grad_output, weight.conj(), None, stride, padding, dilation, False, [0], groups)
            for d in range(2, input.dim()):
                into_input = into_input.narrow(d, 0, input.shape[d])
        else:
            into_input = _core("convolution_input", grad_output, weight.conj(), input.shape, *places)
    if output_mask[1]:
        small, large = (grad_output, input.conj()) if transposed else (input.conj(), grad_output)
        into_weight = _core("convolution_weight", small, large, weight.shape, *places)
    if output_mask[2]:
        into_bias = grad_output.sum([0, *range(2, grad_output.dim())])
    return into_input, into_weight, into_bias


@_computes
def c__scaled_dot_product_flash_attention_for_cpu_backward(
    grad_out: Tensor, query: Tensor, key: Tensor, value: Tensor, out: Tensor, logsumexp: Tensor, is_causal: bool, attn_mask: Any, scale: Any
) -> Any:
    return _core("_flash_attention_backward", grad_out, query, key, value, out, logsumexp, is_causal, attn_mask, scale)


def _pads(kind: str, mode: int) -> None:
    for n in (1, 2, 3):
        COMPUTED[f"{kind}_pad{n}d"] = lambda self, padding: _core("_pad_indexed", self, padding, mode)
        COMPUTED[f"{kind}_pad{n}d_backward"] = lambda grad_output, self, padding: _core(
            "_pad_indexed_backward", grad_output, self.shape, padding, mode
        )


_pads("reflection", 0)
_pads("replication", 1)


@_computes
def c_max_pool2d_with_indices_backward(grad_output: Tensor, self: Tensor, indices: Tensor) -> Any:
    return _core("_max_pool_scatter", grad_output, indices, self.shape, 2)


@_computes
def c_max_pool3d_with_indices_backward(grad_output: Tensor, self: Tensor, indices: Tensor) -> Any:
    return _core("_max_pool_scatter", grad_output, indices, self.shape, 3)


@_computes
def c_avg_pool2d_backward(
    grad_output: Tensor, self: Tensor, kernel_size: Any, stride: Any, padding: Any, count_include_pad: bool, divisor_override: Any
) -> Any:
    return _core("_avg_unpool", grad_output, self.shape, kernel_size, stride, padding, count_include_pad, divisor_override)


COMPUTED["avg_pool3d_backward"] = COMPUTED["avg_pool2d_backward"]


@_computes
def c__adaptive_avg_pool2d_backward(grad_output: Tensor, self: Tensor) -> Any:
    return _core("_adaptive_avg_unpool", grad_output, self.shape, 2)


@_computes
def c__adaptive_avg_pool3d_backward(grad_output: Tensor, self: Tensor) -> Any:
    return _core("_adaptive_avg_unpool", grad_output, self.shape, 3)


def _resamples() -> None:
    for kind in ("Nearest1D", "Nearest2D", "Nearest3D", "Linear1D", "Bilinear2D", "Trilinear3D", "Bicubic2D"):

        def forward(self: Tensor, output_size: Any, align_corners: bool = False, kind: str = kind, **scales: Any) -> Any:
            return _core("_resample", self, output_size, kind, align_corners, *_scales(scales))

        def backward(grad_output: Tensor, output_size: Any, input_size: Any, align_corners: bool = False, kind: str = kind, **scales: Any) -> Any:
            return _core("_resample_backward", grad_output, input_size, kind, align_corners, *_scales(scales))

        COMPUTED[f"upsample_{kind.lower()}.default"] = forward
        COMPUTED[f"upsample_{kind.lower()}_backward.default"] = backward


def _scales(scales: dict[str, Any]) -> tuple[Any, Any, Any]:
    return scales.get("scales_d"), scales.get("scales_h"), scales.get("scales_w", scales.get("scales"))


_resamples()


@_computes
def c__embedding_bag(
    weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool, mode: int, sparse: bool, per_sample_weights: Any,
    include_last_offset: bool, padding_idx: int,
) -> Any:  # fmt: skip
    return _core("_embedding_bag", weight, indices, offsets, scale_grad_by_freq, mode, per_sample_weights, include_last_offset, padding_idx, sparse)


@_computes
def c_embedding_dense_backward(grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool) -> Tensor:
    rows = grad_output.reshape(-1, grad_output.shape[-1])
    at = indices.reshape(-1)
    if padding_idx >= 0:
        rows = rows.masked_fill((at == padding_idx).unsqueeze(1), 0)
    if scale_grad_by_freq:
        rows = rows / undertow.bincount(at, minlength=num_weights)[at].unsqueeze(1).to(rows.dtype)
    return rows.new_zeros(num_weights, rows.shape[1]).index_add_(0, at, rows)


# -- linear algebra, indices ----------------------------------------------------------------------------------------------------------


@_computes
def c__cdist_forward(x1: Tensor, x2: Tensor, p: float, compute_mode: Any) -> Any:
    modes = {1: "use_mm_for_euclid_dist", 2: "donot_use_mm_for_euclid_dist"}
    return _core("cdist", x1, x2, p, modes.get(compute_mode, "use_mm_for_euclid_dist_if_necessary"))


@_computes
def c__cdist_backward(grad: Tensor, x1: Tensor, x2: Tensor, p: float) -> Tensor:
    return _gradient(lambda x: undertow.cdist(x, x2, p), x1, grad)


@_computes
def c__pdist_forward(self: Tensor, p: float) -> Any:
    return _core("pdist", self, p)


@_computes
def c__linalg_det(A: Tensor) -> Any:
    lu, pivots = undertow.linalg.lu_factor(A)
    return _core("linalg_det", A), lu, pivots


@_computes
def c__linalg_slogdet(A: Tensor) -> Any:
    lu, pivots = undertow.linalg.lu_factor(A)
    return (*_core("linalg_slogdet", A), lu, pivots)


@_computes
def c__linalg_check_errors(info: Tensor) -> None:
    """Nothing: the core has its own check, with a message that names the element."""


@_computes
def c__linalg_solve_ex(A: Tensor, B: Tensor, left: bool, check_errors: bool) -> Any:
    result, info = _core("linalg_solve_ex", A, B, left, check_errors)
    return (result, *undertow.linalg.lu_factor(A), info)


@_computes
def c_nonzero(self: Tensor) -> Any:
    return _core("nonzero", self, False)


@_computes
def c_max_unpool3d(self: Tensor, indices: Tensor, output_size: Any) -> Any:
    return _core("max_unpool3d", self, indices, output_size)


@_computes
def c_unique_dim(self: Tensor, dim: int, sorted: bool, return_inverse: bool, return_counts: bool) -> Any:
    return _core("_unique_dim", self, dim, sorted, return_inverse, return_counts)


@_computes
def c_unique_consecutive(self: Tensor, return_inverse: bool, return_counts: bool, dim: Any) -> Any:
    return _core("_unique_consecutive", self, return_inverse, return_counts, dim)


@_computes
def c_block_diag(tensors: Sequence[Tensor]) -> Any:
    return _core("_block_diag", tensors)


@_computes
def c__ctc_loss_backward(
    grad: Tensor, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, neg_log_likelihood: Tensor, log_alpha: Tensor,
    blank: int, zero_infinity: bool,
) -> Any:  # fmt: skip
    return _core("_ctc_backward", grad, log_probs, targets, input_lengths, target_lengths, neg_log_likelihood, log_alpha, blank, zero_infinity)


for _name in ["i0e", "i1", "i1e", "entr", "erfcx", "ndtr", "ndtri", "log_ndtr"]:
    COMPUTED[f"special_{_name}"] = lambda self, _name=_name: _core(_name, self)
