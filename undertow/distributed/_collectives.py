"""Collectives of a group of one process: sums have one term, gathered lists have one element. Arguments are checked as in torch."""

from __future__ import annotations

import copy
import enum

import undertow
from undertow._C import Tensor
from undertow.distributed._groups import GroupMember, ProcessGroup, chosen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class ReduceOp(enum.Enum):
    """The reduction of a collective; with one process all reductions return the input."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"


ReduceOp.RedOpType = ReduceOp  # type: ignore[attr-defined]  # torch's name for the type of its members


class Work:
    """The handle of a collective with `async_op=True`; it is already completed."""

    def __init__(self, result: Sequence[Tensor]) -> None:
        self._result = list(result)

    def wait(self, timeout: Any = None) -> bool:
        """Return True immediately."""
        return True

    def is_completed(self) -> bool:
        """Return True."""
        return True

    def is_success(self) -> bool:
        """Return True."""
        return True

    def result(self) -> list[Tensor]:
        """Return the output tensors."""
        return self._result


def _check(tensor: Any, name: str) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor but got {type(tensor)} instead.")


def _check_list(tensors: Any, name: str, call: str) -> None:
    if not isinstance(tensors, (list, tuple)) or not all(isinstance(t, Tensor) for t in tensors):
        raise TypeError(f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor] but got {type(tensors)} instead.")
    if len(tensors) != 1:
        raise RuntimeError(f"ProcessGroupGloo::{call}: invalid {name} at index 0 (expected length 1, got {len(tensors)})")


def _check_root(root: int | None, group_root: int | None, call: str) -> None:
    given = root if root is not None else group_root
    if given not in (None, 0):
        raise RuntimeError(f"ProcessGroupGloo::{call}: invalid root rank: {given}")


def _outside(group: Any) -> bool:
    """Return True if this process is not in the group; a collective then does nothing."""
    if group == GroupMember.NON_GROUP_MEMBER:
        return True
    chosen(group)
    return False


def _moved(to: Tensor, source: Tensor, call: str, *, flat: bool = False) -> None:
    if to.dtype != source.dtype:
        raise RuntimeError(f"ProcessGroupGloo::{call}: invalid tensor type at index 0 (expected {source.dtype}, got {to.dtype})")
    if to.numel() != source.numel() or not (flat or to.shape == source.shape):
        raise RuntimeError(f"ProcessGroupGloo::{call}: invalid tensor size at index 0 (expected {tuple(source.shape)}, got {tuple(to.shape)})")
    with undertow.no_grad():
        to.copy_(source.view(to.shape) if flat else source)


def _ended(async_op: bool, *written: Tensor) -> Work | None:
    return Work(written) if async_op else None


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False) -> Work | None:
    """Reduce `tensor` over all processes, in place; the result is on every process."""
    _check(tensor, "tensor")
    return None if _outside(group) else _ended(async_op, tensor)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Reduce `tensor` over all processes; the result is on process `dst` only."""
    _check(tensor, "tensor")
    if _outside(group):
        return None
    _check_root(dst, group_dst, "reduce")
    return _ended(async_op, tensor)


def broadcast(
    tensor: Tensor, src: int | None = None, group: ProcessGroup | None = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Copy the tensor of process `src` to `tensor` on every process."""
    _check(tensor, "tensor")
    if _outside(group):
        return None
    _check_root(src, group_src, "broadcast")
    return _ended(async_op, tensor)


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False) -> Work | None:
    """Gather the tensors of all processes into a list."""
    _check(tensor, "tensor")
    if _outside(group):
        return None
    _check_list(tensor_list, "output tensor list", "allgather")
    _moved(tensor_list[0], tensor, "allgather")
    return _ended(async_op, *tensor_list)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Gather the tensors of all processes, concatenated into one tensor."""
    _check(input_tensor, "input_tensor")
    _check(output_tensor, "output_tensor")
    if _outside(group):
        return None
    _moved(output_tensor, input_tensor, "allgather", flat=True)
    return _ended(async_op, output_tensor)


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Gather the tensors of all processes on process `dst`."""
    _check(tensor, "tensor")
    if _outside(group):
        return None
    _check_root(dst, group_dst, "gather")
    if not gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    _check_list(gather_list, "output tensor list", "gather")
    _moved(gather_list[0], tensor, "gather")
    return _ended(async_op, *gather_list)


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Scatter the list of process `src`: each process gets its tensor."""
    _check(tensor, "tensor")
    if _outside(group):
        return None
    _check_root(src, group_src, "scatter")
    if not scatter_list:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    _check_list(scatter_list, "input tensor list", "scatter")
    _moved(tensor, scatter_list[0], "scatter")
    return _ended(async_op, tensor)


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Reduce lists of tensors over all processes, and scatter the results."""
    _check(output, "output")
    if _outside(group):
        return None
    _check_list(input_list, "input tensor list", "reduce_scatter")
    _moved(output, input_list[0], "reduce_scatter")
    return _ended(async_op, output)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Reduce a tensor over all processes, and scatter its parts."""
    _check(output, "output")
    _check(input, "input")
    if _outside(group):
        return None
    _moved(output, input, "reduce_scatter", flat=True)
    return _ended(async_op, output)


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Send one tensor from every process to every process."""
    if _outside(group):
        return None
    _check_list(output_tensor_list, "output tensor list", "alltoall")
    _check_list(input_tensor_list, "input tensor list", "alltoall")
    _moved(output_tensor_list[0], input_tensor_list[0], "alltoall")
    return _ended(async_op, *output_tensor_list)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Send a part of one tensor from every process to every process."""
    _check(output, "output")
    _check(input, "input")
    if _outside(group):
        return None
    for sizes, tensor in ((output_split_sizes, output), (input_split_sizes, input)):
        if sizes and (len(sizes) != 1 or sum(sizes) != tensor.size(0)):
            raise RuntimeError("Split sizes doesn't match total dim 0 size")
    _moved(output, input, "alltoall_base", flat=True)
    return _ended(async_op, output)


def barrier(group: ProcessGroup | None = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Wait until all processes reach the barrier."""
    return None if _outside(group) else _ended(async_op)


def monitored_barrier(group: ProcessGroup | None = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """Wait like `barrier`, and report processes that do not arrive."""
    _outside(group)


def all_gather_object(object_list: list[Any], obj: Any, group: ProcessGroup | None = None) -> None:
    """Gather copies of the objects of all processes into a list."""
    if not _outside(group):
        object_list[0] = copy.deepcopy(obj)


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None, group: ProcessGroup | None = None, group_dst: int | None = None
) -> None:
    """Gather the objects of all processes on process `dst`."""
    if _outside(group):
        return
    _check_root(dst, group_dst, "gather")
    if not object_gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    object_gather_list[0] = copy.deepcopy(obj)


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: ProcessGroup | None = None, device: Any = None, group_src: int | None = None
) -> None:
    """Copy the objects of process `src` to every process."""
    if not _outside(group):
        _check_root(src, group_src, "broadcast")


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    group_src: int | None = None,
) -> None:
    """Scatter the objects of process `src`: each process gets its object."""
    if _outside(group):
        return
    _check_root(src, group_src, "scatter")
    if not isinstance(scatter_object_output_list, list) or len(scatter_object_output_list) < 1:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    if not scatter_object_input_list or len(scatter_object_input_list) != 1:
        raise ValueError("The list of objects to scatter must have one object per process (1)")
    scatter_object_output_list[0] = copy.deepcopy(scatter_object_input_list[0])


def send(tensor: Tensor, dst: int | None = None, group: ProcessGroup | None = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Raise: there is no other process to send to."""
    _check(tensor, "tensor")
    if not _outside(group):
        raise ValueError("Invalid destination rank: destination rank should not be the same as the rank of the current process.")


def recv(tensor: Tensor, src: int | None = None, group: ProcessGroup | None = None, tag: int = 0, group_src: int | None = None) -> int:
    """Raise: there is no other process to receive from."""
    _check(tensor, "tensor")
    if _outside(group):
        return -1
    raise ValueError("Invalid source rank: source rank should not be the same as the rank of the current process.")


def isend(tensor: Tensor, dst: int | None = None, group: ProcessGroup | None = None, tag: int = 0, group_dst: int | None = None) -> None:
    """See `send`."""
    send(tensor, dst, group, tag, group_dst)


def irecv(tensor: Tensor, src: int | None = None, group: ProcessGroup | None = None, tag: int = 0, group_src: int | None = None) -> int:
    """See `recv`."""
    return recv(tensor, src, group, tag, group_src)
