"""Embedding lookup: torch's checks and options around the core's `embedding`."""

from __future__ import annotations

import undertow
from undertow.overrides import handle_torch_function, has_torch_function_variadic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from undertow import Tensor


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Return the rows of `weight` at the indices `input`.

    The row `padding_idx` gets no gradient. With `max_norm`, the used rows are first rescaled in place to at most that norm.

    >>> import undertow as ut
    >>> weight = ut.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> ut.nn.functional.embedding(ut.tensor([1, 0, 1]), weight).tolist()
    [[3.0, 4.0], [1.0, 2.0], [3.0, 4.0]]
    """
    if has_torch_function_variadic(input, weight):
        return handle_torch_function(
            embedding,
            (input, weight),
            input,
            weight,
            padding_idx=padding_idx,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
        )
    if padding_idx is None:
        padding_idx = -1
    else:
        rows = weight.size(0)
        if not -rows <= padding_idx < rows:
            raise AssertionError(f"Padding_idx must be within num_embeddings: {padding_idx} of {rows}")
        padding_idx %= rows
    if max_norm is not None:
        input = input.contiguous()
        with undertow.no_grad():
            weight.embedding_renorm_(input, max_norm, norm_type)
    return undertow.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)
