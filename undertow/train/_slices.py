"""`IndexedSlices`: a gradient with only some rows, such as that of an embedding table."""

from __future__ import annotations

import undertow
from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class IndexedSlices:
    """The rows `values` at `indices` along the first dimension of a tensor of shape `dense_shape`; zeros elsewhere.

    Indices may be repeated: their rows are summed.

    >>> import undertow as ut
    >>> g = ut.train.IndexedSlices(ut.tensor([[1.0], [2.0], [4.0]]), ut.tensor([2, 0, 2]), (3, 1))
    >>> g.to_dense().tolist()
    [[2.0], [0.0], [5.0]]
    >>> g.summed().indices.tolist()
    [0, 2]
    """

    dense_shape: tuple[int, ...] | None
    indices: Tensor
    values: Tensor
    __slots__ = ("dense_shape", "indices", "values")

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Sequence[int] | None = None) -> None:
        if indices.dim() != 1 or values.dim() < 1 or len(indices) != len(values):
            shapes = f"indices of shape {tuple(indices.shape)} and values of shape {tuple(values.shape)}"
            raise ValueError(f"IndexedSlices: expected one index for each row, got {shapes}")
        if indices.dtype.is_floating_point or indices.dtype.is_complex or indices.dtype == undertow.bool:
            raise TypeError(f"IndexedSlices: expected integer indices, got {indices.dtype}")
        self.values = values
        self.indices = indices
        self.dense_shape = None if dense_shape is None else tuple(dense_shape)
        if self.dense_shape is not None and self.dense_shape[1:] != tuple(values.shape[1:]):
            raise ValueError(f"IndexedSlices: rows of shape {tuple(values.shape[1:])} do not fit a tensor of shape {self.dense_shape}")

    @property
    def dtype(self) -> undertow.dtype:
        """The dtype of the rows."""
        return self.values.dtype

    @property
    def device(self) -> undertow.device:
        """The device of the rows."""
        return self.values.device

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape of the dense tensor, if known."""
        return self.dense_shape

    def summed(self) -> IndexedSlices:
        """Return the same gradient with unique indices, in increasing order."""
        indices, place = undertow.unique(self.indices, return_inverse=True)
        if len(indices) == len(self.indices) and bool((indices == self.indices).all()):
            return self
        values = undertow.zeros((len(indices), *self.values.shape[1:]), dtype=self.dtype, device=self.device)
        return IndexedSlices(values.index_add(0, place, self.values), indices, self.dense_shape)

    def to_dense(self) -> Tensor:
        """Return the dense tensor."""
        if self.dense_shape is None:
            raise ValueError("Tensor conversion requested for IndexedSlices without known dense_shape")
        return undertow.zeros(self.dense_shape, dtype=self.dtype, device=self.device).index_add(0, self.indices.to(undertow.int64), self.values)

    def to_sparse(self) -> Tensor:
        """Return the gradient as a sparse tensor with one sparse dimension."""
        if self.dense_shape is None:
            raise ValueError("Sparse tensor requested for IndexedSlices without known dense_shape")
        return undertow.sparse_coo_tensor(self.indices.unsqueeze(0), self.values, self.dense_shape)

    @staticmethod
    def from_sparse(t: Tensor) -> IndexedSlices:
        """Return the rows of a sparse tensor with one sparse dimension.

        >>> import undertow as ut
        >>> rows = ut.train.IndexedSlices.from_sparse(ut.eye(3).to_sparse(1)[1:])
        >>> rows.indices.tolist(), rows.dense_shape
        ([0, 1], (2, 3))
        """
        if t.layout is not undertow.sparse_coo or t.sparse_dim() != 1:
            raise ValueError(f"IndexedSlices: expected a sparse tensor with one sparse dimension, got the layout {t.layout} and {t.sparse_dim()}")
        t = t.coalesce()
        return IndexedSlices(t.values(), t.indices()[0], tuple(t.shape))

    def _with(self, change: Callable[[Tensor], Tensor]) -> IndexedSlices:
        """Return the same rows with changed values."""
        return IndexedSlices(change(self.values), self.indices, self.dense_shape)

    def __neg__(self) -> IndexedSlices:
        return self._with(lambda v: -v)

    def __mul__(self, number: float | Tensor) -> IndexedSlices:
        return self._with(lambda v: v * number)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"IndexedSlices(indices={self.indices!r}, values={self.values!r}, dense_shape={self.dense_shape})"


def _deduplicate_indexed_slices(values: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    """Sum the rows of repeated indices; return the sums and the unique indices, in order of first occurrence.

    >>> import undertow as ut
    >>> values, indices = _deduplicate_indexed_slices(ut.tensor([[1.0], [2.0], [4.0]]), ut.tensor([2, 0, 2]))
    >>> values.tolist(), indices.tolist()
    ([[5.0], [2.0]], [2, 0])
    """
    found, place = undertow.unique(indices, return_inverse=True)
    positions = undertow.arange(len(indices), device=indices.device)
    first = undertow.full((len(found),), len(indices), dtype=undertow.int64, device=indices.device)
    order = first.scatter_reduce(0, place, positions, "amin").argsort()
    rank = undertow.empty_like(order)
    rank[order] = undertow.arange(len(order), device=indices.device)
    sums = undertow.zeros((len(found), *values.shape[1:]), dtype=values.dtype, device=values.device)
    return sums.index_add(0, rank[place], values), found[order]
