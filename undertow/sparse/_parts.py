"""Sparse tensors and their parts: reading and creating them, and recording an operation on them in the graph.

See Note [Sparse Tensors] in core/tensor/sparse.h. Functions here do not know operators.
"""

from __future__ import annotations

import undertow
from undertow import _C
from undertow.autograd import Function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from undertow import Tensor

COO, CSR, CSC, BSR, BSC = _C.sparse_coo, _C.sparse_csr, _C.sparse_csc, _C.sparse_bsr, _C.sparse_bsc
COMPRESSED = (CSR, CSC, BSR, BSC)
BY_ROWS = (CSR, BSR)
BLOCKED = (BSR, BSC)
_TITLES = {_C.strided: "Strided", COO: "Sparse", CSR: "SparseCsr", CSC: "SparseCsc", BSR: "SparseBsr", BSC: "SparseBsc"}


def is_sparse(t: Any) -> bool:
    """Return True for a tensor of any sparse layout."""
    return isinstance(t, _C.Tensor) and t.layout is not _C.strided


def title(layout: Any) -> str:
    """Return a layout as torch's messages write it."""
    return _TITLES[layout]


def dtype_title(t: Tensor) -> str:
    """Return the dtype as torch's messages write it: Float, Long."""
    return undertow.empty(0, dtype=t.dtype).type().rpartition(".")[2].removesuffix("Tensor")


def backend(layout: Any) -> str:
    """Return torch's name of the backend of a sparse layout, for messages."""
    return "SparseCPU" if layout is COO else "SparseCsrCPU"


def index_names(layout: Any) -> tuple[str, str]:
    """Return the names of the compressed and of the plain indices of a compressed layout."""
    return ("crow_indices", "col_indices") if layout in BY_ROWS else ("ccol_indices", "row_indices")


def wrapped_dim(d: int, count: int) -> int:
    """Return a dimension of a tensor that has `count` of them, counted from the front; raise if there is no such dimension."""
    if not -max(count, 1) <= d < max(count, 1):
        raise IndexError(f"Dimension out of range (expected to be in range of [{-max(count, 1)}, {max(count, 1) - 1}], but got {d})")
    return d + max(count, 1) if d < 0 else d


def at_version_0(new: Tensor) -> Tensor:
    """Return a tensor that was filled in place, as if it had been computed in one step: its user has not written to it."""
    _C._unsafe_set_version_counter((new,), (0,))
    return new


def make_coo(indices: Tensor, values: Tensor, size: Sequence[int], coalesced: bool = False) -> Tensor:
    """Return a COO tensor without history."""
    return _C._make_sparse(COO, indices, None, values, coalesced, tuple(size))


def make_compressed(layout: Any, compressed: Tensor, plain: Tensor, values: Tensor, size: Sequence[int]) -> Tensor:
    """Return a tensor of a compressed layout without history."""
    return _C._make_sparse(layout, compressed, plain, values, True, tuple(size))


def replace_by(t: Tensor, new: Tensor) -> Tensor:
    """Give `t` the parts and the size of another sparse tensor, in place."""
    layout, indices, plain, values, coalesced = _C._sparse_parts(new)
    return _C._set_sparse(t, layout, indices, plain, values, coalesced, tuple(new.shape))


def indices_of(t: Tensor) -> Tensor:
    """Return the indices of a COO tensor, or the compressed indices of the other layouts."""
    return _C._sparse_parts(t)[1]


def values_of(t: Tensor) -> Tensor:
    """Return the values, without history."""
    return _C._sparse_parts(t)[3]


def with_values(t: Tensor, values: Tensor) -> Tensor:
    """Return a tensor without history that has the indices of `t` and other values."""
    layout, indices, plain, _, coalesced = _C._sparse_parts(t)
    return _C._make_sparse(layout, indices, plain, values, coalesced, tuple(t.shape))


def batch_dim(t: Tensor) -> int:
    """Return the number of batch dimensions, which only compressed tensors have."""
    return 0 if t.layout is COO else indices_of(t).dim() - 1


def block_of(t: Tensor) -> tuple[int, ...] | None:
    """Return the size of the blocks, or None for a layout without blocks."""
    first = batch_dim(t) + 1
    return tuple(values_of(t).shape[first : first + 2]) if t.layout in BLOCKED else None


def is_coalesced(t: Tensor) -> bool:
    """Return True if no index occurs twice and the indices are sorted."""
    return _C._sparse_parts(t)[4]


def positions(indices: Tensor, size: Sequence[int]) -> Tensor:
    """Return the row-major position of each index, a column of `indices`, in a tensor of `size`."""
    if indices.shape[0] == 1:
        return indices[0]
    flat = indices.new_zeros(indices.shape[1])
    for row, n in zip(indices, size, strict=False):
        flat = flat * n + row
    return flat


def unravel(flat: Tensor, size: Sequence[int]) -> Tensor:
    """Return the indices, one row per dimension, of row-major positions in a tensor of `size`."""
    rows = []
    for n in reversed(size):
        rows.append(flat % n if n else flat)
        flat = flat // n if n else flat
    return undertow.stack(rows[::-1]) if rows else flat.new_zeros(0, flat.shape[0])


def matches(ordered: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """Return all pairs of places of equal numbers in `keys` and in `ordered`, which is sorted: those in `keys`, and those in `ordered`."""
    first, last = undertow.searchsorted(ordered, keys), undertow.searchsorted(ordered, keys, right=True)
    counts = last - first
    at = undertow.arange(keys.shape[0], device=keys.device).repeat_interleave(counts)
    skipped = (counts.cumsum(0) - counts - first).repeat_interleave(counts)
    return at, undertow.arange(at.shape[0], device=keys.device) - skipped


_nodes: dict[str, Any] = {}


def _node(name: str) -> Any:
    """Return the Function whose node has torch's name for the operation."""

    class Recorded(Function):
        @staticmethod
        def forward(ctx: Any, compute: Callable[..., Tensor], gradients: Callable[..., Any], saves: bool, *inputs: Tensor) -> Tensor:
            ctx.gradients = gradients
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(*(inputs if saves else [None] * len(inputs)))
            out = compute(*inputs)
            if not is_sparse(out) and out._is_view() and name != "ValuesBackward0":
                out = out.new_empty(0).set_(out)  # a new tensor over the same memory: a view from a Function cannot be written in place
            return out

        @staticmethod
        def backward(ctx: Any, grad: Tensor | None) -> tuple[Any, ...]:
            inputs = ctx.saved_tensors
            if grad is None:
                return (None,) * (3 + len(inputs))
            found = ctx.gradients(grad, *inputs)
            wanted = ctx.needs_input_grad[3:]
            return None, None, None, *(f() if n and f is not None else None for f, n in zip(found, wanted, strict=True))

    Recorded.__name__ = Recorded.__qualname__ = name
    Recorded._backward_cls.__name__ = name
    return Recorded


def record(name: str, compute: Callable[..., Tensor], gradients: Callable[..., Any], *inputs: Tensor, saves: bool = True) -> Tensor:
    """Return `compute(*inputs)`, and record it as a node called `name` if an input requires grad.

    `gradients(grad, *inputs)` returns, for each input, a function without arguments that computes its gradient, or None. They
    compute with operators, so second derivatives exist. With `saves=False` they are called with None for each input: the inputs are not
    kept, and may be written later.
    """
    if undertow.is_grad_enabled() and any(t.requires_grad for t in inputs):
        if name not in _nodes:
            _nodes[name] = _node(name)
        return _nodes[name].apply(compute, gradients, saves, *inputs)
    with undertow.no_grad():
        return compute(*inputs)


def with_own_parts(t: Tensor) -> Tensor:
    """Return the tensor, with its history, in a form that a later write to `t` does not change. No element is copied."""
    return record("AliasBackward0", lambda x: with_values(x, values_of(x)), lambda g, x: (lambda: g,), t, saves=False)


def record_write(t: Tensor, new: Tensor) -> Tensor:
    """Give `t` the parts, the size and the history of another sparse tensor, in place."""
    if "write" not in _nodes:

        class CopyBackwards(Function):
            @staticmethod
            def forward(ctx: Any, t: Tensor, new: Tensor) -> Tensor:
                ctx.mark_dirty(t)
                return replace_by(t, new)

            @staticmethod
            def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
                return None, grad

        CopyBackwards._backward_cls.__name__ = "CopyBackwards"
        _nodes["write"] = CopyBackwards
    return _nodes["write"].apply(t, new)
