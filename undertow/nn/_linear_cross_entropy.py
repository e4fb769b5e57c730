"""The cross entropy of a linear layer's outputs, computed in chunks to save memory."""

from __future__ import annotations

import dataclasses
import math
import warnings

import undertow as ut
from undertow._C import Tensor
from undertow._override import overridable
from undertow.nn._functions.losses import cross_entropy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["linear_cross_entropy"]


@dataclasses.dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """Sets how many rows of logits are in memory at once; each chunk is recomputed in the backward pass.

    Given by `batch_chunk_size`, or by `chunking_method`: "aspect_ratio" (the logits of a chunk use about as much memory as the input),
    "aspect_ratio:N" (one N-th of that), "auto". The accumulation options are checked and have no effect: sums have the input's dtype or a
    wider one.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        if self.acc_policy not in ("auto", "accurate", "balanced", "compact"):
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method not in (None, "auto"):
            name, colon, factor = str(self.chunking_method).partition(":")
            if name != "aspect_ratio" or (colon and not (factor.isdigit() and int(factor))):
                raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        if not (self.batch_chunk_size is None or (isinstance(self.batch_chunk_size, int) and self.batch_chunk_size > 0)):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {self.batch_chunk_size!r}")
        if self.acc_dtype not in (None, ut.float16, ut.bfloat16, ut.float32, ut.float64):
            raise ValueError(f"acc_dtype must be None or a floating-point dtype, got {self.acc_dtype!r}")


def _rows(options: LinearCrossEntropyOptions, batches: int, in_features: int, classes: int) -> int:
    """Return the number of rows in one chunk."""
    size, method = options.batch_chunk_size, options.chunking_method
    if method == "auto":
        method = "aspect_ratio:2" if size is None else None
    if method is None:
        return max(1, min(size or batches, batches))
    wanted = math.ceil(batches / math.ceil(classes / max(1, in_features)))
    found = min((1 << (wanted - 1).bit_length()) // int(method.partition(":")[2] or 1), batches)
    if size not in (None, found):
        raise ValueError(
            f"batch_chunk_size (={size}) and chunking_method ({method!r}) give different chunk sizes ({size} vs {found}); pass only one."
        )
    return max(1, found)


def _check(input: Tensor, linear_weight: Tensor, linear_bias: Tensor | None) -> None:
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError(
            f"expected equal input and linear_weight last dimensions (in_features), got {input.shape[-1]} and {linear_weight.shape[-1]}, respectively"
        )
    outputs = tuple(linear_weight.shape[:-1])
    if linear_bias is not None and tuple(linear_bias.shape) != outputs:
        raise RuntimeError(f"expected linear_bias shape {outputs}, got {tuple(linear_bias.shape)}")
    if len(outputs) > 1 and input.dim() == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, (N, {input.shape[-1]}), "
            f"got unbatched input with shape {tuple(input.shape)}"
        )


def _logits(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    flat = ut.nn.functional.linear(input, weight.reshape(-1, weight.shape[-1]), None if bias is None else bias.reshape(-1))
    return flat.reshape((*input.shape[:-1], *weight.shape[:-1]))


def _in_chunks(
    input: Tensor, linear_weight: Tensor, target: Tensor, linear_bias: Tensor | None, weight: Tensor | None, reduction: str, ignore: int, rows: int
) -> Tensor:
    def losses(x: Tensor, y: Tensor) -> Tensor:
        return cross_entropy(_logits(x, linear_weight, linear_bias), y, weight=weight, reduction="none", ignore_index=ignore)

    single = input.dim() == 1
    x, y = (input.unsqueeze(0), target.reshape(1)) if single else (input, target)
    from undertow.utils.checkpoint import checkpoint

    parts = [checkpoint(losses, a, b, use_reentrant=False) for a, b in zip(x.split(rows), y.split(rows), strict=True)]
    each = ut.cat(parts)
    if reduction == "none":
        return each[0] if single else each
    if reduction == "sum":
        return each.sum()
    counted = y != ignore
    return each.sum() / (counted.sum() if weight is None else (weight[ut.where(counted, y, 0)] * counted).sum())


@overridable
def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """Compute cross_entropy(linear(input, linear_weight, linear_bias), target); with `options`, one chunk of rows at a time.

    >>> import undertow as ut
    >>> linear_cross_entropy(ut.zeros(2, 3), ut.ones(4, 3), ut.tensor([0, 1]))
    tensor(1.3863)
    """
    _check(input, linear_weight, linear_bias)
    if target.shape == (*input.shape[:-1], *linear_weight.shape[:-1]) and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    ignore = -100 if ignore_index is None else ignore_index
    if options is not None:
        if linear_weight.dim() == 2 and reduction in ("mean", "sum", "none") and label_smoothing == 0.0 and target.dtype == ut.int64:
            rows = _rows(options, input.shape[0] if input.dim() == 2 else 1, input.shape[-1], linear_weight.shape[0])
            return _in_chunks(input, linear_weight, target, linear_bias, weight, reduction, ignore, rows)
        warnings.warn(
            "linear_cross_entropy: ``options`` ignored; chunks need reduction in {'mean','sum','none'}, label_smoothing == 0, int64 targets and a "
            f"weight of two dimensions. Got reduction={reduction!r}, label_smoothing={label_smoothing}, target.dtype={target.dtype}, "
            f"linear_weight of shape {tuple(linear_weight.shape)}.",
            stacklevel=3,
        )
    logits = _logits(input, linear_weight, linear_bias)
    return cross_entropy(logits, target, weight=weight, reduction=reduction, ignore_index=ignore, label_smoothing=label_smoothing)
