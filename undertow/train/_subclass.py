"""Which method of a subclass of `Optimizer` updates a variable: TensorFlow has several, for kinds of variables that are one kind here.

The method of the nearest class counts. Within one class: that for repeated indices, then `_apply_*`, then `_resource_apply_*`.
"""

from __future__ import annotations

from undertow.train._slices import IndexedSlices, _deduplicate_indexed_slices
from undertow.train._state import StateHolder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from undertow._C import Tensor

_DENSE = ("_apply_dense", "_resource_apply_dense")
_ROWS = ("_apply_sparse_duplicate_indices", "_resource_apply_sparse_duplicate_indices", "_apply_sparse", "_resource_apply_sparse")


def _nearest(cls: type, names: tuple[str, ...]) -> str | None:
    """Return the first of these methods that a class defines, from the class itself to its bases, without `UpdateMethods`."""
    for base in cls.__mro__:
        if base is UpdateMethods:
            return None
        for name in names:
            if name in vars(base):
                return name
    return None


class UpdateMethods(StateHolder):
    """The methods that a subclass may define, each in terms of the others, and the choice among them."""

    def _missing(self, what: str, methods: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__} does not say how to apply {what}: define {methods} in the class")

    def _no_dense(self) -> NotImplementedError:
        return self._missing("a dense gradient", "_apply_dense(self, grad, var), or _resource_apply_dense(self, grad, handle),")

    def _no_rows(self) -> NotImplementedError:
        methods = "_apply_sparse(self, grad, var), or _resource_apply_sparse(self, grad, handle, indices),"
        return self._missing("a gradient of rows (IndexedSlices)", methods)

    def _update_dense(self, grad: Tensor, var: Tensor) -> None:
        if _nearest(type(self), _DENSE) == "_resource_apply_dense":
            self._resource_apply_dense(grad, var)
        else:
            self._apply_dense(grad, var)

    def _update_rows(self, grad: IndexedSlices, var: Tensor) -> None:
        method = _nearest(type(self), _ROWS)
        if method is not None and method.startswith("_resource"):
            self._resource_apply_sparse_duplicate_indices(grad.values, var, grad.indices)
        else:
            self._apply_sparse_duplicate_indices(grad, var)

    def _apply_dense(self, grad: Tensor, var: Tensor) -> None:
        """Update `var` with its gradient."""
        if _nearest(type(self), ("_resource_apply_dense",)) is None:
            raise self._no_dense()
        self._resource_apply_dense(grad, var)

    def _resource_apply_dense(self, grad: Tensor, handle: Tensor) -> None:
        """Update the variable `handle` with its gradient."""
        if _nearest(type(self), ("_apply_dense",)) is None:
            raise self._no_dense()
        self._apply_dense(grad, handle)

    def _apply_sparse(self, grad: IndexedSlices, var: Tensor) -> None:
        """Update rows of `var`; indices are unique."""
        if _nearest(type(self), ("_resource_apply_sparse",)) is None:
            raise self._no_rows()
        self._resource_apply_sparse(grad.values, var, grad.indices)

    def _resource_apply_sparse(self, grad: Tensor, handle: Tensor, indices: Tensor) -> None:
        """Update the rows `indices` of the variable `handle` with the rows `grad`; indices are unique."""
        if _nearest(type(self), ("_apply_sparse",)) is None:
            raise self._no_rows()
        self._apply_sparse(IndexedSlices(grad, indices, tuple(handle.shape)), handle)

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Tensor) -> None:
        """Update rows of `var`; indices may be repeated."""
        self._apply_sparse(grad.summed(), var)

    def _resource_apply_sparse_duplicate_indices(self, grad: Tensor, handle: Tensor, indices: Tensor) -> None:
        """Update the rows `indices` of the variable `handle`; indices may be repeated."""
        values, unique = _deduplicate_indexed_slices(grad, indices)
        self._resource_apply_sparse(values, handle, unique)
