"""DeviceMesh: the processes of a job as an array with named dimensions, and the group of each line through it."""

from __future__ import annotations

import math

import undertow
from undertow.distributed._groups import groups as _groups

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Any

    from undertow import Tensor
    from undertow.distributed._groups.groups import ProcessGroup

__all__ = ["DeviceMesh", "init_device_mesh"]
_current: list[DeviceMesh] = []


class DeviceMesh:
    """Ranks in an array. `mesh["dp"]` is this process's part along one dimension, and `get_group("dp")` its process group.

    Every process of the job must create the same meshes in the same order.
    """

    device_type: str
    mesh: Tensor
    mesh_dim_names: tuple[str, ...] | None

    def __init__(
        self,
        device_type: str,
        mesh: Tensor | Sequence[Any],
        *,
        mesh_dim_names: Sequence[str] | None = None,
        _groups_of_dims: list[ProcessGroup] | None = None,
        _init_backend: bool = True,
    ) -> None:
        self.device_type = device_type
        self.mesh = (mesh if isinstance(mesh, undertow.Tensor) else undertow.tensor(mesh)).to(undertow.int64)
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        if self.mesh_dim_names is not None and len(set(self.mesh_dim_names)) != self.mesh.dim():
            raise RuntimeError(f"DeviceMesh: {self.mesh.dim()} dimensions need as many different names, but mesh_dim_names is {self.mesh_dim_names}")
        if self.mesh.unique().numel() != self.mesh.numel():
            raise RuntimeError(f"DeviceMesh cannot contain duplicate values, but found {self.mesh.tolist()}")
        here = (self.mesh == _groups.get_rank()).nonzero()
        self._coordinate: list[int] | None = here[0].tolist() if len(here) else None
        self._parent: DeviceMesh | None = None  # the mesh that this one is a part of, and its first dimension there
        self._dim_of_parent = 0
        self._dims = _groups_of_dims if _groups_of_dims is not None else self._make_groups()

    def _make_groups(self) -> list[ProcessGroup]:
        """Create the group of each line; every process takes part in all of them."""
        found: list[Any] = []
        for dim in range(self.mesh.dim()):
            lines = self.mesh.movedim(dim, -1).reshape(-1, self.mesh.size(dim))
            made = [_groups.new_group(line.tolist()) for line in lines]
            found.append(next((group for group in made if not _groups.outside(group)), None))
        return found

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.mesh.dim()

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each dimension."""
        return tuple(self.mesh.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """Return the number of processes, or the size of one dimension."""
        return self.mesh.numel() if mesh_dim is None else self.mesh.size(mesh_dim)

    def _dim(self, name: str | int | None) -> int:
        if name is None:
            if self.ndim != 1:
                raise RuntimeError(f"Found the DeviceMesh have {self.ndim} dimensions; mesh_dim must be given")
            return 0
        if isinstance(name, int):
            return name
        if self.mesh_dim_names is None or name not in self.mesh_dim_names:
            raise KeyError(f"Mesh dimension '{name}' does not exist: the mesh has {self.mesh_dim_names}")
        return self.mesh_dim_names.index(name)

    def get_group(self, mesh_dim: str | int | None = None) -> ProcessGroup:
        """Return the group of the line through this process along a dimension."""
        return self._dims[self._dim(mesh_dim)]

    def get_all_groups(self) -> list[ProcessGroup]:
        """Return the groups of all dimensions."""
        return list(self._dims)

    def get_rank(self) -> int:
        """Return the rank of this process in the job."""
        return _groups.get_rank()

    def get_local_rank(self, mesh_dim: str | int | None = None) -> int:
        """Return the position of this process along a dimension."""
        return _groups.get_rank(self.get_group(mesh_dim))

    def get_coordinate(self) -> list[int] | None:
        """Return the position of this process, or None if it is not in the mesh."""
        return self._coordinate

    def __getitem__(self, names: str | tuple[str, ...]) -> DeviceMesh:
        """Return the part of the mesh along one or more dimensions that this process is in."""
        wanted = [self._dim(name) for name in ((names,) if isinstance(names, str) else names)]
        if wanted == list(range(self.ndim)):
            return self
        if self._coordinate is None:
            raise RuntimeError("DeviceMesh: this process is not in the mesh, so it has no part of it")
        place = tuple(slice(None) if dim in wanted else self._coordinate[dim] for dim in range(self.ndim))
        part = self.mesh[place]
        kept = [dim for dim in range(self.ndim) if dim in wanted]
        if wanted != kept:
            part = part.permute([kept.index(dim) for dim in wanted])
        assert self.mesh_dim_names is not None
        part_names = [self.mesh_dim_names[dim] for dim in wanted]
        made = DeviceMesh(self.device_type, part, mesh_dim_names=part_names, _groups_of_dims=[self._dims[dim] for dim in wanted])
        made._parent, made._dim_of_parent = self, wanted[0]
        return made

    @staticmethod
    def from_group(group: ProcessGroup, device_type: str, mesh: Any = None, *, mesh_dim_names: Sequence[str] | None = None) -> DeviceMesh:
        """Return the mesh of one dimension over an existing group."""
        return DeviceMesh(device_type, _groups.get_process_group_ranks(group), mesh_dim_names=mesh_dim_names, _groups_of_dims=[group])

    def __enter__(self) -> DeviceMesh:
        _current.append(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        _current.pop()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and (self.device_type, self.mesh.tolist(), self.mesh_dim_names) == (
            other.device_type,
            other.mesh.tolist(),
            other.mesh_dim_names,
        )

    def __hash__(self) -> int:
        return hash((self.device_type, str(self.mesh.tolist()), self.mesh_dim_names))

    def __repr__(self) -> str:
        names = self.mesh_dim_names or tuple(str(dim) for dim in range(self.ndim))
        return f"DeviceMesh(({', '.join(f'{name}={size}' for name, size in zip(names, self.shape))}), '{self.device_type}')"


def init_device_mesh(
    device_type: str, mesh_shape: tuple[int, ...], *, mesh_dim_names: tuple[str, ...] | None = None, backend_override: Any = None
) -> DeviceMesh:
    """Return a mesh of all processes: rank r is at the r-th place in row-major order."""
    if mesh_dim_names is not None and len(mesh_dim_names) != len(mesh_shape):
        raise RuntimeError(f"mesh_shape and mesh_dim_names should have same length, but got {mesh_shape} and {mesh_dim_names}")
    if not device_type.isalpha():
        raise RuntimeError(f"Device type with index is not supported but got {device_type}.")
    if not _groups.is_initialized():
        from undertow.distributed._groups.rendezvous import init_process_group

        init_process_group()
    if math.prod(mesh_shape) > _groups.get_world_size():
        raise RuntimeError(f"Mesh should not be bigger than default world size {_groups.get_world_size()}, but found {math.prod(mesh_shape)} ranks!")
    return DeviceMesh(device_type, undertow.arange(math.prod(mesh_shape)).view(mesh_shape), mesh_dim_names=mesh_dim_names)
