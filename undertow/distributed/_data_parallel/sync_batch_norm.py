"""Batch normalisation with the statistics of all ranks, from collectives that autograd differentiates."""

from __future__ import annotations

import undertow
from undertow.distributed.nn.functional import all_reduce

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor


def normalized(
    x: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    average: float,
    eps: float,
    group: Any,
) -> Tensor:
    """Return (x - mean) / sqrt(var + eps) * weight + bias for each channel, and update the running statistics.

    The variance is the mean square of what is left after the mean is subtracted, which needs a second message and loses no digits.
    """
    dims = [dim for dim in range(x.dim()) if dim != 1]
    shape = [1, -1, *[1] * (x.dim() - 2)]
    wide = x.float() if x.dtype in (undertow.float16, undertow.bfloat16) else x
    count = wide.new_full((1,), x.numel() / x.size(1))
    sums = all_reduce(undertow.cat([wide.sum(dims), count]), group=group)
    total = float(sums[-1])
    if total <= 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {tuple(x.shape)}")
    mean = sums[:-1] / total
    centered = wide - mean.view(shape)
    variance = all_reduce(centered.square().sum(dims), group=group) / total
    with undertow.no_grad():
        if running_mean is not None and running_var is not None:
            running_mean.lerp_(mean.detach().to(running_mean.dtype), average)
            running_var.lerp_((variance.detach() * (total / (total - 1))).to(running_var.dtype), average)
    result = centered * (variance + eps).rsqrt().view(shape)
    if weight is not None:
        result = result * weight.view(shape)
    if bias is not None:
        result = result + bias.view(shape)
    return result.to(x.dtype)
