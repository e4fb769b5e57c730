"""Collectives that autograd differentiates. A group has one process, so each returns what it was given, and so does its derivative."""

from __future__ import annotations

from undertow.distributed import ReduceOp, get_world_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow import Tensor

__all__ = ["all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce", "reduce_scatter", "scatter"]


def _same(tensor: Tensor, group: Any) -> Tensor:
    get_world_size(group)  # raises if there is no process group
    return tensor.clone()


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Return the sum, or another reduction, over the group's processes."""
    return _same(tensor, group)


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """Return the tensor of process `src`."""
    return _same(tensor, group)


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Return the reduction, at process `dst`."""
    return _same(tensor, group)


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """Return the tensors of all processes, at process `dst`."""
    return (_same(tensor, group),)


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """Return the tensors of all processes."""
    return (_same(tensor, group),)


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """Return this process's tensor of the list at process `src`."""
    (tensor,) = tensors
    return _same(tensor, group)


def reduce_scatter(output: Tensor, input_list: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Return this process's part of the reduction."""
    (tensor,) = input_list
    return _same(tensor, group)


def all_to_all(output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None) -> tuple[Tensor, ...]:
    """Return what each process has sent to this one."""
    return tuple(_same(tensor, group) for tensor in input_tensor_list)


def all_to_all_single(output: Tensor, input: Tensor, output_split_sizes: Any = None, input_split_sizes: Any = None, group: Any = None) -> Tensor:
    """Return what each process has sent to this one, in one tensor."""
    return _same(input, group)
