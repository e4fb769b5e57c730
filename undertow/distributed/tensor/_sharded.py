"""The part of a tensor that one process has: an ordinary tensor, with a note about the whole.

Optimizers and formulas see the part. What needs the whole (norms of gradients, checkpoints, `full_tensor`) reads the note. torch has DTensor
here, a class of tensors with rules for every operator.
"""

from __future__ import annotations

from dataclasses import dataclass

import undertow
from undertow import distributed
from undertow.distributed.tensor.placement_types import Shard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from undertow import Tensor
    from undertow.distributed._groups.groups import ProcessGroup
    from undertow.distributed.device_mesh import DeviceMesh
    from undertow.nn import Module, Parameter


def rows_of_rank(total: int, parts: int, rank: int) -> tuple[int, int]:
    """Return the first and the last (excluded) row of a rank: all have ceil(total / parts), the last ones fewer, as torch divides.

    >>> [rows_of_rank(5, 3, rank) for rank in range(3)]
    [(0, 2), (2, 4), (4, 5)]
    """
    length = -(-total // parts)
    return min(rank * length, total), min((rank + 1) * length, total)


@dataclass(frozen=True)
class Sharding:
    """A tensor of `shape` that is divided along one dimension among the processes of a group.

    On a mesh of two dimensions, `first` is the division along the other one, whose parts this one divides again.
    """

    shape: tuple[int, ...]
    dim: int
    group: ProcessGroup
    mesh: DeviceMesh | None = None
    first: Sharding | None = None

    def part_shape(self) -> tuple[int, ...]:
        """Return the shape of this process's part."""
        start, end = self.bounds()
        divided = self.shape if self.first is None else self.first.part_shape()
        return (*divided[: self.dim], end - start, *divided[self.dim + 1 :])

    def bounds(self, rank: int | None = None) -> tuple[int, int]:
        """Return where the part of a rank begins and ends along the dimension, in what is divided here; of this process by default."""
        divided = self.shape if self.first is None else self.first.part_shape()
        return rows_of_rank(divided[self.dim], self.group.size(), self.group.rank() if rank is None else rank)

    def part(self, whole: Tensor) -> Tensor:
        """Return the part of this process, as a view."""
        divided = whole if self.first is None else self.first.part(whole)
        start, end = self.bounds()
        return divided.narrow(self.dim, start, end - start)

    def whole(self, part: Tensor) -> Tensor:
        """Gather the whole tensor on every process."""
        divided = self._gathered(part)
        return divided if self.first is None else self.first.whole(divided)

    def groups(self) -> list[ProcessGroup]:
        """Return the groups that the tensor is divided among."""
        return [self.group, *(self.first.groups() if self.first is not None else ())]

    def placements(self) -> tuple[Shard, ...]:
        """Return torch's description of the divisions, in the order of `device_mesh`'s dimensions."""
        mine = (Shard(self.dim),)
        if self.first is None:
            return mine
        earlier = self.mesh is None or self.first.mesh is None or self.mesh._dim_of_parent < self.first.mesh._dim_of_parent
        return (*mine, *self.first.placements()) if earlier else (*self.first.placements(), *mine)

    def device_mesh(self) -> DeviceMesh | None:
        """Return the mesh of all divisions."""
        return self.mesh if self.first is None or self.mesh is None else self.mesh._parent or self.mesh

    def _gathered(self, part: Tensor) -> Tensor:
        """Gather what is divided here, on every process of the group."""
        divided = self.shape if self.first is None else self.first.part_shape()
        size, length = self.group.size(), self.bounds(0)[1]
        moved = part.detach().movedim(self.dim, 0)
        padded = part.new_zeros(length, *moved.shape[1:])
        padded[: moved.size(0)] = moved
        rows = part.new_empty(size * length, *moved.shape[1:])
        distributed.all_gather_into_tensor(rows, padded, self.group)
        return rows[: divided[self.dim]].movedim(0, self.dim)


def mark(tensor: Tensor, sharding: Sharding) -> Tensor:
    """Note on a tensor how the whole is divided; it gets torch's attributes of distributed tensors. Return it."""
    note: Any = tensor
    note._sharding = sharding
    note.placements = sharding.placements()
    note.device_mesh = sharding.device_mesh()
    note.to_local = _local(tensor)
    note.full_tensor = _whole(tensor)
    return tensor


def divide_parameter(
    module: Module, name: str, dim: int, group: ProcessGroup, mesh: DeviceMesh | None, replicas: ProcessGroup | None = None
) -> Parameter:
    """Replace a parameter of a module by this process's part of it; return the part.

    It has the values of the group's first rank, and of the first of the `replicas`, processes that have the same part. A parameter
    that is a part already is divided again, along another dimension of the mesh.
    """
    whole = module._parameters[name]
    assert whole is not None
    first = sharding_of(whole)
    value = whole.detach().clone(memory_format=undertow.contiguous_format)
    for same in (replicas, group):
        if same is not None:
            distributed.broadcast(value, group=same, group_src=0)
    sharding = Sharding(tuple(whole.shape) if first is None else first.shape, dim, group, mesh, first)
    start, end = sharding.bounds()
    mine = value.narrow(dim, start, end - start).clone(memory_format=undertow.contiguous_format)
    part = undertow.nn.Parameter(mine, requires_grad=whole.requires_grad)
    module._parameters[name] = part
    mark(part, sharding)

    def marked(owner: Module, state: dict[str, Any], prefix: str, metadata: Any) -> None:
        if prefix + name in state:
            mark(state[prefix + name], sharding)  # a checkpoint then knows the whole

    module.register_state_dict_post_hook(marked)
    return part


def _local(tensor: Tensor) -> Callable[[], Tensor]:
    import weakref

    itself = weakref.ref(tensor)
    return lambda: itself().detach()  # type: ignore[union-attr]


def _whole(tensor: Tensor) -> Callable[[], Tensor]:
    import weakref

    itself = weakref.ref(tensor)
    return lambda: full_tensor(itself())  # type: ignore[arg-type]


def sharding_of(tensor: Any) -> Sharding | None:
    """Return how the whole is divided of which this tensor is a part, or None."""
    return getattr(tensor, "_sharding", None)


def full_tensor(tensor: Tensor) -> Tensor:
    """Return the whole tensor of a part; a tensor that is not a part is returned as it is. All processes of its group must call it."""
    sharding = sharding_of(tensor)
    return tensor if sharding is None else sharding.whole(tensor)
