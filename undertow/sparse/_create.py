"""The constructors of sparse tensors, and the switch for checks of their parts."""

from __future__ import annotations

import functools

import undertow
from undertow import _C
from undertow._override import overridable_by_modes
from undertow.sparse._convert import compressed_from, coo_from
from undertow.sparse._parts import BLOCKED, BSC, BSR, BY_ROWS, COMPRESSED, CSC, CSR, dtype_title, index_names, positions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from undertow import Tensor

_enabled = False


class check_sparse_tensor_invariants:
    """Set whether sparse tensors are fully checked on creation; a switch, context manager and decorator.

    Indices are always checked against the size; this adds that tensors said to be coalesced are, and that compressed indices are in order.

    >>> with check_sparse_tensor_invariants():
    ...     check_sparse_tensor_invariants.is_enabled()
    True
    >>> check_sparse_tensor_invariants.is_enabled()
    False
    """

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Return the setting."""
        return _enabled

    @staticmethod
    def enable() -> None:
        """Enable the checks."""
        globals()["_enabled"] = True

    @staticmethod
    def disable() -> None:
        """Disable the checks."""
        globals()["_enabled"] = False

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError("This context manager instance is already activated. Use a different context manager instance for context nesting.")
        self.saved_state = _enabled
        globals()["_enabled"] = self.state

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        globals()["_enabled"] = self.saved_state
        self.saved_state = None

    def __call__(self, mth: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(mth)
        def call(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return mth(*args, **kwargs)

        return call


def _values_arg(values: Any, dtype: Any, device: Any) -> Tensor:
    """Return `values` as a tensor; one that is a tensor keeps its history."""
    if not isinstance(values, _C.Tensor):
        values = undertow.as_tensor(values, dtype=dtype, device=device)
    return values.to(device=values.device if device is None else device, dtype=values.dtype if dtype is None else dtype)


def _indices_arg(indices: Any) -> Tensor:
    return undertow.as_tensor(indices).detach().to(undertow.int64)


def _finish(t: Tensor, requires_grad: bool, pin_memory: bool = False) -> Tensor:
    if pin_memory:
        raise RuntimeError("Need to provide pin_memory allocator to use pin memory.")
    return t.requires_grad_() if requires_grad and not t.requires_grad else t


@overridable_by_modes
def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Sequence[int] | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """Create a sparse tensor in COO layout: `values[i]` at `indices[:, i]`, zero elsewhere; values at equal indices add up.

    >>> import undertow as ut
    >>> ut.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if values is None:
        size = tuple(indices if size is None else size)
        values = undertow.empty(0, dtype=dtype, device=device)
        return _finish(coo_from(values.new_empty(len(size), 0, dtype=undertow.int64), values, size, False), requires_grad, pin_memory)
    values, indices = _values_arg(values, dtype, device), _indices_arg(indices)
    if indices.dim() == 1 and not indices.numel():
        indices = indices.reshape(0 if size is not None and not len(size) else 1, -1)
    if indices.dim() != 2:
        if indices.dim() != 1:
            raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
        indices = indices.reshape(-1, 1)  # as torch: a list of numbers is the index of one value
    if not values.dim():
        values = values.unsqueeze(0)
    sparse_dim, dense_dim = indices.shape[0], values.dim() - 1
    if size is None:
        low = indices.amin(1).tolist() if indices.shape[1] else []
        for d, least in enumerate(low):
            if least < 0:
                raise RuntimeError(f"found negative index {least} for dim {d}")
        size = (*(indices.amax(1) + 1).tolist(), *values.shape[1:]) if low else (*(0,) * sparse_dim, *values.shape[1:])
    size = tuple(size)
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}"
        )
    if indices.shape[1] != values.shape[0]:
        raise RuntimeError(f"indices and values must have same nnz, but got nnz from indices: {indices.shape[1]}, nnz from values: {values.shape[0]}")
    if size[sparse_dim:] != tuple(values.shape[1:]):
        raise RuntimeError(f"values has incorrect size, expected {[values.shape[0], *size[sparse_dim:]]}, got {list(values.shape)}")
    _check_indices(indices, size)
    if is_coalesced and (_enabled if check_invariants is None else check_invariants) and indices.shape[1] > 1:
        if not bool((positions(indices, size).diff() > 0).all()):
            raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")
    return _finish(coo_from(indices, values, size, bool(is_coalesced)), requires_grad, pin_memory)


def new_coo(model: Tensor, *args: Any, device: Any = None) -> Tensor:
    """`Tensor.new` of a COO tensor: a COO tensor of the same dtype from a size, or from indices and values."""
    device = model.device if device is None else device
    if args and isinstance(args[0], _C.Tensor):
        return sparse_coo_tensor(*args, dtype=model.dtype, device=device)
    size = args[0] if len(args) == 1 and not isinstance(args[0], int) else args or (0,)
    return sparse_coo_tensor(size, dtype=model.dtype, device=device)


def _check_indices(indices: Tensor, size: Sequence[int]) -> None:
    """Raise for indices outside of the size: torch leaves them to the first operation that reads them, and to memory it does not own."""
    if not indices.numel() or indices.is_meta:
        return
    for d, (low, high) in enumerate(zip(indices.amin(1).tolist(), indices.amax(1).tolist(), strict=True)):
        if low < 0:
            raise RuntimeError(f"found negative index {low} for dim {d}")
        if high >= size[d]:
            raise RuntimeError(f"size is inconsistent with indices: for dim {d}, size is {size[d]} but found index {high}")


@overridable_by_modes
def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """Create a sparse tensor in a compressed layout: sparse_csr, sparse_csc, sparse_bsr or sparse_bsc."""
    if layout not in COMPRESSED:
        raise RuntimeError(f"sparse_compressed_tensor expected sparse compressed tensor layout but got {layout}")
    values = _values_arg(values, dtype, device)
    compressed, plain = (undertow.as_tensor(i).detach() for i in (compressed_indices, plain_indices))
    _check_dimensions(compressed, plain, values, layout)
    batch, blocked = compressed.dim() - 1, layout in BLOCKED
    block = tuple(values.shape[batch + 1 : batch + 3]) if blocked else (1, 1)
    dense = tuple(values.shape[batch + 1 + 2 * blocked :])
    if size is None:
        outer = compressed.shape[-1] - 1
        inner = int(plain.max()) + 1 if plain.numel() else 0
        rows, columns = (outer, inner) if layout in BY_ROWS else (inner, outer)
        size = (*compressed.shape[:-1], rows * block[0], columns * block[1], *dense)
    size = tuple(size)
    _check_size(compressed, plain, values, size, block, dense, layout)
    _check_compressed(compressed, plain, values, size, layout, block, _enabled if check_invariants is None else check_invariants)
    return _finish(compressed_from(layout, compressed, plain, values, size), requires_grad, pin_memory)


def _check_dimensions(compressed: Tensor, plain: Tensor, values: Tensor, layout: Any) -> None:
    """Raise unless the parts have numbers of dimensions and dtypes that fit together."""
    first, second = index_names(layout)
    for name, part in ((first, compressed), (second, plain)):
        if part.dim() < 1:
            raise RuntimeError(f"{name} must have dimensionality >= 1 but got {part.dim()}")
    if compressed.dim() != plain.dim():
        raise RuntimeError(f"{first} and {second} dimensionalities must be equal but got {compressed.dim()} and {plain.dim()}, respectively")
    batch, blocks = compressed.dim() - 1, 2 * (layout in BLOCKED)
    if values.dim() <= batch + blocks:
        sum_of = f"sum of batch and block dimensionalities (={batch} + {blocks})"
        raise RuntimeError(f"values must have dimensionality > {sum_of} but got {values.dim()}")
    if compressed.dtype not in (undertow.int32, undertow.int64):
        raise RuntimeError(f"{first} and {second} dtype must be Int or Long, but got {dtype_title(compressed)}")
    if compressed.dtype is not plain.dtype:
        kinds = f"{dtype_title(compressed)} and {dtype_title(plain)}, respectively"
        raise RuntimeError(f"{first} and {second} must have the same dtype, but got {kinds}")


def _check_size(compressed: Tensor, plain: Tensor, values: Tensor, size: Any, block: Any, dense: Any, layout: Any) -> None:
    """Raise unless the parts have the batch, block and dense dimensions of the size."""
    first, second = index_names(layout)
    batch = compressed.dim() - 1
    if len(size) != batch + 2 + len(dense):
        sum_of = f"sum of batch, base, and dense dimensionalities (={batch} + 2 + {len(dense)})"
        raise RuntimeError(f"tensor dimensionality must be {sum_of} but got {len(size)}")
    batches = [tuple(t.shape[:batch]) for t in (compressed, plain, values)]
    if any(b != size[:batch] for b in batches):
        found = f"{first} (={list(batches[0])}), {second} (={list(batches[1])}), and values (={list(batches[2])})"
        raise RuntimeError(f"all batch dimensions of {found} must be equal to tensor batch dimensions (={list(size[:batch])})")
    for d in (0, 1):
        if block[d] < 1 or size[batch + d] % block[d]:
            name = f"tensor shape[{batch + d}] (={size[batch + d]})"
            raise RuntimeError(f"{name} must be divisible with blocksize[{d}] (={block[d]}) as defined by values shape")
    if dense != size[batch + 2 :]:
        raise RuntimeError(f"values dense dimensions {list(dense)} must be equal to those of the tensor, {list(size[batch + 2 :])}")


def _check_compressed(compressed: Tensor, plain: Tensor, values: Tensor, size: Sequence[int], layout: Any, block: Any, all_of_them: bool) -> None:
    """Raise for indices that do not fit the size. That those of a row are sorted and distinct is only checked on request."""
    by_rows, batch = layout in BY_ROWS, compressed.dim() - 1
    first, second = index_names(layout)
    rows, columns = size[batch] // block[0], size[batch + 1] // block[1]
    outer, inner = (rows, columns) if by_rows else (columns, rows)
    lines = "rows" if by_rows else "columns"
    if compressed.shape[-1] != outer + 1:
        raise RuntimeError(f"{first}.shape[-1] must be equal to the number of {lines} + 1 ({outer + 1}), but got {compressed.shape[-1]}")
    if plain.shape[-1] != values.shape[batch]:
        count = f"nnz ({values.shape[batch]}) as defined by values.shape[{batch}]"
        raise RuntimeError(f"{second}.shape[-1] must be equal to {count}, but got {plain.shape[-1]}")
    if compressed.is_meta:
        return
    if bool((compressed[..., 0] != 0).any()):
        raise RuntimeError(f"`{first}[..., 0] == 0` is not satisfied.")
    if bool((compressed[..., -1] != plain.shape[-1]).any()):
        raise RuntimeError(f"`{first}[..., -1] == nnz` is not satisfied.")
    counts = compressed.diff()
    if bool((counts < 0).any()) or all_of_them and bool((counts > inner).any()):
        raise RuntimeError(f"`0 <= {first}[..., 1:] - {first}[..., :-1] <= {'ncols' if by_rows else 'nrows'}` is not satisfied.")
    if plain.numel() and (int(plain.min()) < 0 or int(plain.max()) >= inner):
        raise RuntimeError(f"`0 <= {second} < {'ncols' if by_rows else 'nrows'}` is not satisfied.")
    if all_of_them and plain.shape[-1] > 1:
        # An index may only be at most its predecessor where a row starts.
        bounds = compressed.reshape(-1, compressed.shape[-1]).to(undertow.int64)
        starts = bounds.new_zeros(bounds.shape[0], plain.shape[-1] + 1, dtype=undertow.bool).scatter_(1, bounds, True)[:, 1:-1]
        if not bool((starts | (plain.diff().reshape(starts.shape) > 0)).all()):
            which = f"{second}[..., {first}[..., i - 1]:{first}[..., i]] for all i = 1, ..., n{'rows' if by_rows else 'cols'}"
            raise RuntimeError(f"`{which} are sorted and distinct along the last dimension values` is not satisfied.")


def _compressed(layout: Any) -> Callable[..., Tensor]:
    """Return the constructor of one layout."""
    from inspect import signature

    first, second = index_names(layout)

    def function(*args: Any, **options: Any) -> Tensor:
        for given, name in ((first, "compressed_indices"), (second, "plain_indices")):
            if given in options:
                options[name] = options.pop(given)
        return sparse_compressed_tensor(*args, **{**options, "layout": layout})

    names = {"compressed_indices": first, "plain_indices": second}
    own = signature(sparse_compressed_tensor)
    short = str(layout).rpartition(".")[2]
    function.__name__ = function.__qualname__ = f"{short}_tensor"
    function.__doc__ = f"Create a sparse tensor in the layout {short}; see `sparse_compressed_tensor`."
    function.__signature__ = own.replace(parameters=[p.replace(name=names.get(p.name, p.name)) for p in own.parameters.values()])  # type: ignore[attr-defined]
    return function


sparse_csr_tensor: Callable[..., Tensor] = _compressed(CSR)
sparse_csc_tensor: Callable[..., Tensor] = _compressed(CSC)
sparse_bsr_tensor: Callable[..., Tensor] = _compressed(BSR)
sparse_bsc_tensor: Callable[..., Tensor] = _compressed(BSC)
