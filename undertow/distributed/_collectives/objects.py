"""Collectives on picklable objects. The processes of a job trust each other: an object is unpickled as it was sent."""

from __future__ import annotations

import pickle

import undertow
from undertow.distributed._collectives.running import root_in_group
from undertow.distributed._collectives.tensors import all_gather_into_tensor, broadcast, gather, scatter
from undertow.distributed._groups.groups import ProcessGroup, chosen, outside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor


def packed(value: Any) -> Tensor:
    """Return an object as bytes."""
    return undertow.frombuffer(bytearray(pickle.dumps(value)), dtype=undertow.uint8)


def unpacked(data: Tensor) -> Any:
    """Return the object of some bytes."""
    return pickle.loads(data.numpy().tobytes())


def _lengths(data: Tensor, group: ProcessGroup) -> list[int]:
    lengths = undertow.zeros(group.size(), dtype=undertow.int64)
    all_gather_into_tensor(lengths, undertow.tensor([data.numel()]), group)
    return lengths.tolist()


def _padded(data: Tensor, length: int) -> Tensor:
    return undertow.cat([data, undertow.zeros(length - data.numel(), dtype=undertow.uint8)])


def all_gather_object(object_list: list[Any], obj: Any, group: ProcessGroup | None = None) -> None:
    """Gather copies of the objects of all processes into a list."""
    if outside(group):
        return
    of, data = chosen(group), packed(obj)
    lengths = _lengths(data, of)
    rows = undertow.empty(of.size(), max(lengths), dtype=undertow.uint8)
    all_gather_into_tensor(rows, _padded(data, max(lengths)), of)
    for rank, (row, length) in enumerate(zip(rows, lengths)):
        object_list[rank] = unpacked(row[:length])


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None, group: ProcessGroup | None = None, group_dst: int | None = None
) -> None:
    """Gather the objects of all processes on process `dst`."""
    if outside(group):
        return
    of, data = chosen(group), packed(obj)
    here = of.rank() == root_in_group(of, dst, group_dst, "gather")
    if here and not object_gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    lengths = _lengths(data, of)
    rows = list(undertow.empty(of.size(), max(lengths), dtype=undertow.uint8)) if here else None
    gather(_padded(data, max(lengths)), rows, dst, of, False, group_dst)
    for rank, row in enumerate(rows or ()):
        assert object_gather_list is not None
        object_gather_list[rank] = unpacked(row[: lengths[rank]])


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: ProcessGroup | None = None, device: Any = None, group_src: int | None = None
) -> None:
    """Copy the objects of process `src` to every process."""
    if outside(group):
        return
    of = chosen(group)
    here = of.rank() == root_in_group(of, src, group_src, "broadcast")
    data = packed(list(object_list)) if here else undertow.empty(0, dtype=undertow.uint8)
    length = undertow.tensor([data.numel()])
    broadcast(length, src, of, False, group_src)
    if not here:
        data = undertow.empty(int(length), dtype=undertow.uint8)
    broadcast(data, src, of, False, group_src)
    if not here:
        object_list[:] = unpacked(data)


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    group_src: int | None = None,
) -> None:
    """Scatter the objects of process `src`: each process gets its object."""
    if outside(group):
        return
    of = chosen(group)
    here = of.rank() == root_in_group(of, src, group_src, "scatter")
    if not isinstance(scatter_object_output_list, list) or len(scatter_object_output_list) < 1:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    if here and (not scatter_object_input_list or len(scatter_object_input_list) != of.size()):
        raise ValueError(f"The list of objects to scatter must have one object per process ({of.size()})")
    parts = [packed(value) for value in scatter_object_input_list or ()] if here else []
    lengths = undertow.tensor([part.numel() for part in parts]) if here else undertow.zeros(of.size(), dtype=undertow.int64)
    broadcast(lengths, src, of, False, group_src)
    longest = int(lengths.max())
    mine = undertow.empty(longest, dtype=undertow.uint8)
    scatter(mine, [_padded(part, longest) for part in parts], src, of, False, group_src)
    scatter_object_output_list[0] = unpacked(mine[: int(lengths[of.rank()])])
