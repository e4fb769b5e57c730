"""Internal functions of torch's core that are visible in torch itself or in torch.ops.aten."""

from __future__ import annotations

import undertow
from undertow._C import Tensor, _ops
from undertow._functions.out_argument import write_each_out, write_out
from undertow.as_torch.shims._graph_internals import same_feature_meta_zeros

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_ALL = slice(None)


def _chunk_cat(tensors: Sequence[Tensor], dim: int, num_chunks: int, out: Tensor | None = None) -> Tensor:
    """Split each tensor into chunks along `dim`, pad the last chunk with zeros, and concatenate chunks with the same index."""
    if not tensors:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    if num_chunks < 1:
        raise RuntimeError(f"_chunk_cat expects positive num_chunks, got {num_chunks}")
    dims = {t.dim() for t in tensors}
    if len(dims) > 1 and dim < 0:
        raise RuntimeError("_chunk_cat expects non-negative dim when input tensors have different ndims")
    if dim >= min(dims) or dim < -min(dims):
        raise RuntimeError(f"_chunk_cat expects dim < ndim for all input tensors, got dim={dim}")
    if any(t.numel() == 0 for t in tensors):
        raise RuntimeError("_chunk_cat expects non-empty tensor")
    dim = dim % min(dims)
    front = tensors[0].shape[:dim]
    if any(t.shape[:dim] != front for t in tensors):
        raise RuntimeError("_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors")
    parts = []
    for t in tensors:
        size = -(-t.shape[dim] // num_chunks)
        padded = undertow.nn.functional.pad(t, [0, 0] * (t.dim() - dim - 1) + [0, size * num_chunks - t.shape[dim]])
        parts.append(padded.reshape(*front, num_chunks, -1))
    return write_out("_chunk_cat", undertow.cat(parts, dim + 1), out)


def _inside(mask: Tensor, indices: Sequence[Tensor | None]) -> tuple[Tensor | None, ...]:
    """Return the indices, with zero where the mask is False: there they may be out of range."""
    return tuple(i if i is None else undertow.where(mask, i, 0) for i in indices)


def _unsafe_masked_index(input: Tensor, mask: Tensor, indices: Sequence[Tensor | None], fill: Any) -> Tensor:
    """Return the elements at `indices` where the mask is True, otherwise `fill`."""
    chosen = input[tuple(_ALL if i is None else i for i in _inside(mask, indices))]
    return chosen.masked_fill(~mask, fill)


def _unsafe_masked_index_put_accumulate(input: Tensor, mask: Tensor, indices: Sequence[Tensor | None], values: Tensor) -> Tensor:
    """Return `input` with the values added at `indices` where the mask is True."""
    return input.index_put(_inside(mask, indices), values.masked_fill(~mask, 0), accumulate=True)


def _embedding_bag_forward_only(
    weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool = False, mode: int = 0, sparse: bool = False,
    per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int = -1,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Return the result of `embedding_bag`, the bag of each index, the size of each bag, and a tensor of zeros, without recording."""
    with undertow.no_grad():
        result = undertow.nn.functional.embedding_bag(
            indices, weight, offsets, mode=("sum", "mean", "max")[mode], per_sample_weights=per_sample_weights,
            include_last_offset=include_last_offset, padding_idx=None if padding_idx < 0 else padding_idx,
        )  # fmt: skip
        ends = offsets[1:] if include_last_offset else undertow.cat([offsets[1:], offsets.new_tensor([indices.numel()])])
        sizes = ends - offsets[: ends.numel()]
        bags = undertow.repeat_interleave(undertow.arange(ends.numel(), dtype=offsets.dtype), sizes)
        return result, bags, sizes, undertow.zeros_like(sizes)


def _native_batch_norm_legit(input: Tensor, weight: Tensor | None, bias: Tensor | None, *rest: Any, out: Any = None) -> tuple[Tensor, ...]:
    """Call `native_batch_norm`, with or without running statistics."""
    mean, var = rest[:2] if len(rest) == 5 else (None, None)
    training, momentum, eps = rest[-3:]
    return write_each_out("_native_batch_norm_legit", undertow.native_batch_norm(input, weight, bias, mean, var, training, momentum, eps), out)


def _batch_norm_with_update(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor, running_var: Tensor, momentum: float, eps: float,
    *, out: Any = None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Call `native_batch_norm` in training mode; also return an empty reserve tensor."""
    results = undertow.native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return write_each_out("_batch_norm_with_update", (*results, undertow.empty(0, dtype=undertow.uint8)), out)


def _upsample_bilinear2d_aa(
    input: Tensor, output_size: Any = None, align_corners: bool = False, scales_h: Any = None, scales_w: Any = None, *, scale_factors: Any = None
) -> Tensor:
    """Resize bilinearly with antialiasing."""
    return undertow.nn.functional.interpolate(
        input, output_size, scale_factors if output_size is None else None, "bilinear", align_corners, antialias=True
    )


def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    """Return the gradient of `native_dropout`."""
    return grad_output * (mask.to(grad_output.dtype) * scale)


def max_pool2d_with_indices_backward(
    grad_output: Tensor, input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, indices: Tensor
) -> Tensor:
    """Return the gradient of `max_pool2d_with_indices`: each element of `grad_output` goes to the position of its maximum."""
    planes = undertow.zeros(input.shape, dtype=input.dtype).flatten(-2)
    return planes.scatter_add(-1, indices.flatten(-2), grad_output.flatten(-2)).reshape(input.shape)


def convolution_backward(
    grad_output: Tensor, input: Tensor, weight: Tensor, bias_sizes: Sequence[int] | None, stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], transposed: bool, output_padding: Sequence[int], groups: int, output_mask: Sequence[bool],
) -> tuple[Tensor | None, ...]:  # fmt: skip
    """Return the gradients of `convolution` for its input, weight and bias, None where `output_mask` is False."""
    channels = weight.shape[1] * groups if transposed else weight.shape[0]
    bias = undertow.zeros(list(bias_sizes) if bias_sizes and bias_sizes[0] else [channels], dtype=weight.dtype)
    with undertow.enable_grad():
        x, w, b = leaves = [t if t.requires_grad else t.detach().requires_grad_() for t in (input, weight, bias)]
        result = undertow.convolution(x, w, b, stride, padding, dilation, transposed, output_padding, groups)
    wanted = [leaf for leaf, on in zip(leaves, output_mask, strict=True) if on]
    found = iter(undertow.autograd.grad(result, wanted, grad_output, create_graph=undertow.is_grad_enabled()) if wanted else ())
    return tuple(next(found) if on else None for on in output_mask)


_new_zeros_with_same_feature_meta = same_feature_meta_zeros


def slice(input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """Return `input[start:end:step]` along one dimension."""
    from undertow.as_torch.shims._view_copies import _slice

    return _slice(input, dim, start, end, step)


def _safe_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """Return the softmax, with zeros for rows where all elements are -inf."""
    return _ops["_safe_softmax"](input if dtype is None else input.to(dtype), dim)


def _int_mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the product of two int8 matrices, in int32."""
    if input.dtype is not undertow.int8 or mat2.dtype is not undertow.int8:
        raise RuntimeError(f"Expected both matrices to be of int8, but got {input.dtype} and {mat2.dtype}")
    return write_out("_int_mm", input.int() @ mat2.int(), out)


def _has_compatible_shallow_copy_type(input: Tensor, from_: Tensor) -> bool:
    """Return True if one tensor could take the other's place: both are dense."""
    return isinstance(input, Tensor) and isinstance(from_, Tensor) and input.layout == from_.layout


def _is_all_true(input: Tensor) -> Tensor:
    """Return whether all elements of a boolean tensor are True; inside of vmap, those of all samples."""
    return undertow.all(_physical(input))


def _is_any_true(input: Tensor) -> Tensor:
    """Return whether an element of a boolean tensor is True; inside of vmap, that of any sample."""
    return undertow.any(_physical(input))


def _physical(input: Tensor) -> Tensor:
    if input.dtype is not undertow.bool:
        raise RuntimeError(f"Expected a tensor of torch.bool, got {input.dtype}")
    while undertow._C._batched_level(input) >= 0:
        input = undertow._C._batched_value(input)
    return input


def _to_copy(input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, memory_format: Any = None, **more: Any) -> Tensor:
    """Return a copy with another dtype, device or memory format."""
    return input.to(device, dtype, copy=True, memory_format=undertow.preserve_format if memory_format is None else memory_format)


def _pin_memory(input: Tensor, device: Any = None) -> Tensor:
    """Return a copy in memory of the host that a GPU can copy directly; raise if there is none."""
    return input.pin_memory()


def alias(input: Tensor) -> Tensor:
    """Return a view of the whole tensor."""
    return input.view(input.shape) if input.is_contiguous() else input[...]


def _unsafe_view(input: Tensor, size: Sequence[int]) -> Tensor:
    """Return the tensor in another shape."""
    return input.reshape(size)


def lift_fresh(input: Tensor) -> Tensor:
    """Return the tensor."""
    return input


def sym_size(input: Tensor, dim: int | None = None) -> Any:
    """Return the shape, or one size."""
    return input.size() if dim is None else input.size(dim)


def sym_numel(input: Tensor) -> int:
    """Return the number of elements."""
    return input.numel()


def is_non_overlapping_and_dense(input: Tensor) -> bool:
    """Return True if the elements fill their memory without gaps, in some order of dimensions."""
    expected = 1
    for stride, size in sorted((stride, size) for stride, size in zip(input.stride(), input.shape, strict=True) if size != 1):
        if stride != expected:
            return input.numel() == 0
        expected *= size
    return True


def _gradient(function: Any, input: Tensor, grad_output: Tensor) -> Tensor:
    """Return the gradient of a function of one tensor."""
    if undertow._C._batched_level(input) >= 0 or undertow._C._batched_level(grad_output) >= 0:  # inside of vmap
        return undertow.func.vjp(function, input.expand_as(grad_output))[1](grad_output.expand_as(input))[0]
    with undertow.enable_grad():
        x = input if input.requires_grad else input.detach().requires_grad_()
        (result,) = undertow.autograd.grad(function(x), x, grad_output, create_graph=grad_output.requires_grad or input.requires_grad)
    return result


def gelu_backward(grad_output: Tensor, input: Tensor, *, approximate: Any = "none") -> Tensor:
    """Return the gradient of `gelu`."""
    return _gradient(lambda x: undertow.nn.functional.gelu(x, approximate=approximate), input, grad_output)


def silu_backward(grad_output: Tensor, input: Tensor) -> Tensor:
    """Return the gradient of `silu`."""
    return _gradient(undertow.nn.functional.silu, input, grad_output)


def threshold_backward(grad_output: Tensor, input: Tensor, threshold: float) -> Tensor:
    """Return the gradient of `threshold`, and of `relu` for a threshold of 0."""
    return undertow.where(input > threshold, grad_output, 0)


def _softmax(input: Tensor, dim: int, half_to_float: bool = False) -> Tensor:
    """Return the softmax."""
    return undertow.softmax(input, dim, dtype=undertow.float32 if half_to_float else None)


def is_vulkan_available() -> bool:
    """Return False: Vulkan is not supported."""
    return False


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Enable or disable anomaly detection; see `autograd.set_detect_anomaly`."""
    undertow.autograd.set_detect_anomaly(mode, check_nan)


_segment_reduce = undertow.segment_reduce  # the name that torch's own tests use


def _validate_sparse_coo_tensor_args(
    indices: Tensor, values: Tensor, size: Sequence[int], is_coalesced: bool | None = None, check_pinning: bool | None = None
) -> None:
    """Raise unless a sparse COO tensor can be made of these parts."""
    undertow.sparse_coo_tensor(indices, values.detach(), size, is_coalesced=is_coalesced, check_invariants=True)


def _validate_sparse_compressed_tensor_args(
    compressed_indices: Tensor, plain_indices: Tensor, values: Tensor, size: Sequence[int], layout: Any, check_pinning: bool | None = None
) -> None:
    """Raise unless a tensor of a compressed sparse layout can be made of these parts.

    >>> bounds, columns = undertow.tensor([0, 1, 2]), undertow.tensor([1, 5])
    >>> _validate_sparse_compressed_tensor_args(bounds, columns, undertow.ones(2), (2, 2), undertow.sparse_csr)
    Traceback (most recent call last):
    RuntimeError: ...
    """
    parts = compressed_indices, plain_indices, values.detach()
    undertow.sparse_compressed_tensor(*parts, size, layout=layout, check_invariants=True)


def _unique(input: Tensor, sorted: bool = True, return_inverse: bool = False) -> tuple[Tensor, Tensor]:
    """Return the unique elements, and the index of each element among them (empty unless it is requested)."""
    values, inverse, _ = _ops["_unique2"](input, sorted, return_inverse)
    return values, inverse


def _convert_indices_from_coo_to_csr(self: Tensor, size: int, *, out_int32: bool = False, out: Tensor | None = None) -> Tensor:
    """Return the bounds of the rows in a list of sorted row indices.

    >>> _convert_indices_from_coo_to_csr(undertow.tensor([0, 0, 2]), 3)
    tensor([0, 2, 2, 3])
    """
    counts = undertow.bincount(self, minlength=size).cumsum(0)
    bounds = undertow.cat([counts.new_zeros(1), counts]).to(undertow.int32 if out_int32 else undertow.int64)
    return write_out("_convert_indices_from_coo_to_csr", bounds, out)


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False, out: Tensor | None = None
) -> Tensor:
    """Return the indices of rows and columns as two rows, from the bounds of the rows and the columns.

    >>> _convert_indices_from_csr_to_coo(undertow.tensor([0, 2, 2, 3]), undertow.tensor([1, 2, 0]))
    tensor([[0, 0, 2],
            [1, 2, 0]])
    """
    lengths = crow_indices.diff()
    rows = undertow.repeat_interleave(undertow.arange(lengths.numel(), dtype=col_indices.dtype), lengths.long())
    both = undertow.stack([col_indices, rows] if transpose else [rows, col_indices])
    return write_out("_convert_indices_from_csr_to_coo", both.to(undertow.int32 if out_int32 else undertow.int64), out)
