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
    from undertow.distributed._groups import ProcessGroup
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
    """A tensor of `shape` that is divided along one dimension among the processes of a group."""

    shape: tuple[int, ...]
    dim: int
    group: ProcessGroup
    mesh: DeviceMesh | None = None

    def bounds(self, rank: int | None = None) -> tuple[int, int]:
        """Return where the part of a rank begins and ends along the dimension; of this process by default."""
        return rows_of_rank(self.shape[self.dim], self.group.size(), self.group.rank() if rank is None else rank)

    def part(self, whole: Tensor, rank: int | None = None) -> Tensor:
        """Return the part of a rank, as a view."""
        start, end = self.bounds(rank)
        return whole.narrow(self.dim, start, end - start)

    def whole(self, part: Tensor) -> Tensor:
        """Gather the whole tensor on every process of the group."""
        size, length = self.group.size(), self.bounds(0)[1]
        moved = part.detach().movedim(self.dim, 0)
        padded = part.new_zeros(length, *moved.shape[1:])
        padded[: moved.size(0)] = moved
        rows = part.new_empty(size * length, *moved.shape[1:])
        distributed.all_gather_into_tensor(rows, padded, self.group)
        return rows[: self.shape[self.dim]].movedim(0, self.dim)


def mark(tensor: Tensor, sharding: Sharding) -> Tensor:
    """Note on a tensor how the whole is divided; it gets torch's attributes of distributed tensors. Return it."""
    note: Any = tensor
    note._sharding = sharding
    note.placements = (Shard(sharding.dim),)
    note.device_mesh = sharding.mesh
    note.to_local = _local(tensor)
    note.full_tensor = _whole(tensor)
    return tensor


def divide_parameter(module: Module, name: str, dim: int, group: ProcessGroup, mesh: DeviceMesh | None) -> Parameter:
    """Replace a parameter of a module by this process's part of it, with the values of the group's first rank; return the part."""
    whole = module._parameters[name]
    assert whole is not None
    if sharding_of(whole) is not None:
        raise NotImplementedError(f"the parameter {name} is already divided; dividing it along a second mesh dimension is not supported")
    value = whole.detach().clone(memory_format=undertow.contiguous_format)
    distributed.broadcast(value, group=group, group_src=0)
    sharding = Sharding(tuple(whole.shape), dim, group, mesh)
    part = undertow.nn.Parameter(sharding.part(value).clone(memory_format=undertow.contiguous_format), requires_grad=whole.requires_grad)
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
