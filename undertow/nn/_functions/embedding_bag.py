"""Embedding bags: torch's checks and options around the core's `embedding_bag`."""

from __future__ import annotations

import warnings

import undertow
from undertow._C import Tensor
from undertow._override import overridable

__all__: list[str] = ["embedding_bag"]

_MODES = {"sum": 0, "mean": 1, "max": 2}


def _in_rows(input: Tensor, offsets: Tensor | None, weights: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
    """Convert a matrix of indices to bags of equal length, one per row."""
    if offsets is not None:
        raise ValueError(
            "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. "
            f"However, found offsets of type {type(offsets)}"
        )
    starts = undertow.arange(0, input.numel(), input.size(1), dtype=input.dtype)
    return input.reshape(-1), starts, None if weights is None else weights.reshape(-1)


@overridable
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Reduce bags of rows of `weight` to their sum, mean or max. A bag is a row of `input`, or starts at one of `offsets`.

    >>> import undertow as ut
    >>> weight = ut.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> embedding_bag(ut.tensor([0, 1, 1]), weight, ut.tensor([0, 2]), mode="sum").tolist()
    [[4.0, 6.0], [3.0, 4.0]]
    """
    if weight.dtype == undertow.int64 and input.is_floating_point():
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is deprecated, "
            "and should now be `embedding_bag(input, weight, ...)`.",
            stacklevel=2,
        )
        weight, input = input, weight
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, "
            f"then it must have the same shape as the input ({input.shape})"
        )
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if input.dim() == 2:
        input, offsets, per_sample_weights = _in_rows(input, offsets, per_sample_weights)
    elif input.dim() == 1:
        if not isinstance(offsets, Tensor):
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if mode not in _MODES:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max":
        if scale_grad_by_freq:
            raise ValueError("max mode does not support scaling the gradient by the frequency")
        if sparse:
            raise ValueError("max mode does not support sparse weights")
    if max_norm is not None:
        with undertow.no_grad():
            weight.embedding_renorm_(input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode={mode!r}). Please open a feature request on GitHub."
        )
    return undertow.embedding_bag(
        weight, input, offsets, scale_grad_by_freq, _MODES[mode], sparse, per_sample_weights, include_last_offset, padding_idx
    )[0]
