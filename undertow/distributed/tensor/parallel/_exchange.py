"""What tensor parallel layers exchange: pairs of a forward and a backward message, as functions that autograd differentiates."""

from __future__ import annotations

import undertow
from undertow import distributed
from undertow.autograd import Function
from undertow.distributed.tensor._sharded import rows_of_rank

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor


def _sum(tensor: Tensor, group: Any) -> Tensor:
    total = tensor.clone(memory_format=undertow.contiguous_format)
    distributed.all_reduce(total, group=group)
    return total


def _split(tensor: Tensor, group: Any) -> Tensor:
    start, end = rows_of_rank(tensor.size(-1), group.size(), group.rank())
    return tensor[..., start:end].contiguous()


def _join(tensor: Tensor, group: Any, length: int) -> Tensor:
    longest = rows_of_rank(length, group.size(), 0)[1]
    padded = tensor.new_zeros(*tensor.shape[:-1], longest)
    padded[..., : tensor.size(-1)] = tensor
    parts = [undertow.empty_like(padded) for _ in range(group.size())]
    distributed.all_gather(parts, padded, group)
    bounds = [rows_of_rank(length, group.size(), rank) for rank in range(group.size())]
    return undertow.cat([part[..., : end - start] for part, (start, end) in zip(parts, bounds)], -1)


class Copied(Function):
    """The same input on all ranks: gradients are summed."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, group: Any) -> Tensor:
        ctx.group = group
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _sum(grad, ctx.group), None


class Summed(Function):
    """Partial outputs of all ranks: they are summed, and every rank gets the gradient of the sum."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, group: Any) -> Tensor:
        return _sum(tensor, group)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad, None


class Joined(Function):
    """Parts along the last dimension: they are concatenated; each rank takes its part of the gradient."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, group: Any, length: int) -> Tensor:
        ctx.group = group
        return _join(tensor, group, length)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _split(grad, ctx.group), None, None


class Divided(Function):
    """The same input on all ranks, of which each takes its part along the last dimension: gradients are concatenated."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, group: Any) -> Tensor:
        ctx.group, ctx.length = group, tensor.size(-1)
        return _split(tensor, group)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _join(grad, ctx.group, ctx.length), None
