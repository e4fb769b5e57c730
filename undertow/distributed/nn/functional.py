"""Collectives that autograd differentiates. The loss is the sum of the losses of all ranks, and each collective's gradient is a collective.

All ranks must run the backward pass, in the same order.
"""

from __future__ import annotations

import undertow
from undertow import distributed
from undertow.autograd import Function
from undertow.distributed import ReduceOp
from undertow.distributed._groups import groups as _groups

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from undertow import Tensor

__all__ = ["all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce", "reduce_scatter", "scatter"]


def _empty(like: Tensor, count: int) -> list[Tensor]:
    return [undertow.empty_like(like, memory_format=undertow.contiguous_format) for _ in range(count)]


def _of_copy(collective: Callable[..., Any], tensor: Tensor, *args: Any) -> Tensor:
    """Return what a collective that works in place makes of a copy."""
    result = tensor.clone(memory_format=undertow.contiguous_format)
    collective(result, *args)
    return result


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.op, ctx.group = op, group
        return _of_copy(distributed.all_reduce, tensor, op, group)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grad)


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        return _of_copy(distributed.broadcast, tensor, src, group)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        total = _Reduce.apply(ctx.src, ReduceOp.SUM, ctx.group, grad)
        return None, None, total if distributed.get_rank() == ctx.src else undertow.zeros_like(total)


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.dst, ctx.group = dst, group
        return _of_copy(distributed.reduce, tensor, dst, op, group)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, None, _Broadcast.apply(ctx.dst, ctx.group, grad)


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Tensor) -> tuple[Tensor, ...]:
        ctx.group = group
        parts = _empty(tensor, distributed.get_world_size(group))
        distributed.all_gather(parts, tensor.contiguous(), group)
        return tuple(parts)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, _ReduceScatter.apply(ReduceOp.SUM, ctx.group, *grads)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, *tensors: Tensor) -> Tensor:
        ctx.group = group
        result = _empty(tensors[0], 1)[0]
        distributed.reduce_scatter(result, [t.contiguous() for t in tensors], op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, *_AllGather.apply(ctx.group, grad)


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, group: Any, tensor: Tensor) -> tuple[Tensor, ...]:
        ctx.dst, ctx.group = dst, group
        here = distributed.get_rank() == dst
        parts = [undertow.zeros_like(tensor) for _ in range(distributed.get_world_size(group))]
        distributed.gather(tensor.contiguous(), parts if here else None, dst, group)
        return tuple(parts)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *grads)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        result = _empty(tensors[0], 1)[0]
        here = distributed.get_rank() == src
        distributed.scatter(result, [t.contiguous() for t in tensors] if here else None, src, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, *_Gather.apply(ctx.src, ctx.group, grad)


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, shapes: list[Any], *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.group, ctx.shapes = group, [t.shape for t in tensors]
        outputs = [tensors[0].new_empty(shape) for shape in shapes]
        distributed.all_to_all(outputs, [t.contiguous() for t in tensors], group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, *_AllToAll.apply(ctx.group, ctx.shapes, *grads)


class _AllToAllSingle(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, shape: Any, output_sizes: Any, input_sizes: Any, tensor: Tensor) -> Tensor:
        ctx.group, ctx.shape, ctx.output_sizes, ctx.input_sizes = group, tensor.shape, output_sizes, input_sizes
        output = tensor.new_empty(shape)
        distributed.all_to_all_single(output, tensor.contiguous(), output_sizes, input_sizes, group)
        return output

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, None, None, _AllToAllSingle.apply(ctx.group, ctx.shape, ctx.input_sizes, ctx.output_sizes, grad)


def _summed(op: Any, call: str) -> Any:
    if op != ReduceOp.SUM:
        raise NotImplementedError(f"distributed.nn.functional.{call}: only ReduceOp.SUM has a derivative here, but got {op}")
    return op


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Return the sum over the group's processes."""
    return _AllReduce.apply(_summed(op, "all_reduce"), _groups.chosen(group), tensor)


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """Return the tensor of process `src`."""
    return _Broadcast.apply(src, _groups.chosen(group), tensor)


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Return the sum, at process `dst`."""
    return _Reduce.apply(dst, _summed(op, "reduce"), _groups.chosen(group), tensor)


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """Return the tensors of all processes, at process `dst`; zeros at the others."""
    return _Gather.apply(dst, _groups.chosen(group), tensor)


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """Return the tensors of all processes."""
    return _AllGather.apply(_groups.chosen(group), tensor)


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """Return this process's tensor of the list at process `src`."""
    return _Scatter.apply(src, _groups.chosen(group), *tensors)


def reduce_scatter(output: Tensor, input_list: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Return this process's part of the sum. `output` is for the shape only."""
    return _ReduceScatter.apply(_summed(op, "reduce_scatter"), _groups.chosen(group), *input_list)


def all_to_all(output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None) -> tuple[Tensor, ...]:
    """Return what each process has sent to this one. `output_tensor_list` is for the shapes only."""
    return _AllToAll.apply(_groups.chosen(group), [t.shape for t in output_tensor_list], *input_tensor_list)


def all_to_all_single(output: Tensor, input: Tensor, output_split_sizes: Any = None, input_split_sizes: Any = None, group: Any = None) -> Tensor:
    """Return what each process has sent to this one, in one tensor. `output` is for the shape only."""
    return _AllToAllSingle.apply(_groups.chosen(group), output.shape, output_split_sizes, input_split_sizes, input)
