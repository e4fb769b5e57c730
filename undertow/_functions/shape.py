"""Shape functions that are compositions of views and concatenations."""

from __future__ import annotations

import functools

from undertow import _C
from undertow._C import Size, Tensor
from undertow._override import overridable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_ops = _C._ops

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "broadcast_shapes",
    "broadcast_tensors",
    "cartesian_prod",
    "combinations",
    "meshgrid",
]


def _overridable(function: Callable[..., Any], tuple_for_list: bool = False) -> Callable[..., Any]:
    """Make a function of tensors, or of one list of tensors, overridable with `__torch_function__`.

    With `tuple_for_list`, a list of one tensor gives a tuple of one result.
    """
    from undertow.overrides import handle_torch_function, has_torch_function

    @functools.wraps(function)
    def public(*tensors: Any, **kwargs: Any) -> Any:
        operands = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
        if has_torch_function(tuple(operands)):
            return handle_torch_function(public, tuple(operands), *tensors, **kwargs)
        result = function(*operands, **kwargs)
        return (result,) if tuple_for_list and operands is not tensors and len(operands) == 1 else result

    return public


def _at_least(tensors: tuple[Tensor, ...], dims: int) -> Any:
    out = []
    for t in tensors:
        if not isinstance(t, Tensor):
            raise TypeError(f"atleast_{dims}d(): expected tensors, got {type(t).__name__}")
        if t.ndim == 0:
            t = t.reshape((1,) * dims)
        elif dims == 2 and t.ndim == 1:
            t = t.unsqueeze(0)
        elif dims == 3 and t.ndim == 1:
            t = t.unsqueeze(0).unsqueeze(-1)
        elif dims == 3 and t.ndim == 2:
            t = t.unsqueeze(-1)
        out.append(t)
    return out[0] if len(out) == 1 else tuple(out)


@functools.partial(_overridable, tuple_for_list=True)
def atleast_1d(*tensors: Tensor) -> Any:
    """Return each tensor with at least one dimension: a 0-d tensor becomes a vector of one element.

    >>> import undertow as ut
    >>> ut.atleast_1d(ut.tensor(2.0)).shape
    undertow.Size([1])
    """
    return _at_least(tensors, 1)


@functools.partial(_overridable, tuple_for_list=True)
def atleast_2d(*tensors: Tensor) -> Any:
    """Return each tensor with at least two dimensions: a vector becomes one row.

    >>> import undertow as ut
    >>> ut.atleast_2d(ut.tensor([1.0, 2.0])).shape
    undertow.Size([1, 2])
    """
    return _at_least(tensors, 2)


@functools.partial(_overridable, tuple_for_list=True)
def atleast_3d(*tensors: Tensor) -> Any:
    """Return each tensor with at least three dimensions.

    >>> import undertow as ut
    >>> ut.atleast_3d(ut.tensor([1.0, 2.0])).shape
    undertow.Size([1, 2, 1])
    """
    return _at_least(tensors, 3)


def _broadcast_shape(shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    out: list[int] = []
    for shape in shapes:
        for i, size in enumerate(reversed(shape)):
            if i == len(out):
                out.append(size)
            elif out[i] == 1:
                out[i] = size
            elif size not in (1, out[i]):
                raise RuntimeError(
                    f"The size of tensor a ({out[i]}) must match the size of tensor b ({size}) at non-singleton "
                    f"dimension {max(len(shape), len(out)) - 1 - i}; shapes are {[list(s) for s in shapes]}"
                )
    return tuple(reversed(out))


@_overridable
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Expand the tensors to their common shape; the results are views.

    >>> import undertow as ut
    >>> [t.shape for t in ut.broadcast_tensors(ut.ones(3), ut.ones(2, 1))]
    [undertow.Size([2, 3]), undertow.Size([2, 3])]
    """
    try:
        shape = _broadcast_shape([t.shape for t in tensors])
    except RuntimeError:
        _say_which_sizes_differ(tensors)
        raise
    return tuple(t if t.shape == shape else t.expand(shape) for t in tensors)


def _say_which_sizes_differ(tensors: Sequence[Tensor]) -> None:
    """Raise the error that a binary operator raises for two tensors that do not broadcast."""
    rank = max(t.dim() for t in tensors)
    seen = [1] * rank
    for t in tensors:
        for i in range(rank - 1, rank - 1 - t.dim(), -1):
            size = t.shape[i - rank]
            if size != 1 and seen[i] not in (1, size):
                raise RuntimeError(f"The size of tensor a ({seen[i]}) must match the size of tensor b ({size}) at non-singleton dimension {i}")
            seen[i] = max(seen[i], size) if size != 1 else seen[i]


@_overridable
def meshgrid(*tensors: Tensor, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Return the coordinate grids of vectors, as views; `indexing` "xy" swaps the first two dimensions.

    >>> import undertow as ut
    >>> [g.tolist() for g in ut.meshgrid(ut.tensor([1, 2]), ut.tensor([3, 4]), indexing="ij")]
    [[[1, 1], [2, 2]], [[3, 4], [3, 4]]]
    """
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for t in tensors:
        if t.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: shape {list(t.shape)}")
        if t.dtype != tensors[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
        if t.device != tensors[0].device:
            raise RuntimeError("meshgrid expects all tensors to have the same device")
    if indexing is None:
        import warnings

        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.", stacklevel=3
        )
    elif indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    # "xy" is the "ij" grid of the vectors with the first two swapped.
    swap = indexing == "xy" and len(tensors) >= 2
    order = [tensors[1], tensors[0], *tensors[2:]] if swap else list(tensors)
    shape = tuple(t.numel() for t in order)
    grids = []
    for i, t in enumerate(order):
        places = [1] * len(order)
        places[i] = t.numel()
        grids.append(t.view(places).expand(shape))
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


@_overridable
def block_diag(*tensors: Tensor) -> Tensor:
    """Create a block-diagonal matrix from the given matrices.

    >>> import undertow as ut
    >>> ut.block_diag(ut.tensor([[1]]), ut.tensor([2, 3])).tolist()
    [[1, 0, 0], [0, 2, 3]]
    """
    return _ops["_block_diag"](list(tensors))


@_overridable
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Return the Cartesian product of the vectors, one tuple per row.

    >>> import undertow as ut
    >>> ut.cartesian_prod(ut.tensor([1, 2]), ut.tensor([3, 4])).tolist()
    [[1, 3], [1, 4], [2, 3], [2, 4]]
    """
    for t in tensors:
        if t.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return _ops["stack"]([g.flatten() for g in meshgrid(*tensors, indexing="ij")], 1)


@overridable
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Return all combinations of r elements of a vector, one per row.

    >>> import undertow as ut
    >>> ut.combinations(ut.tensor([1, 2, 3])).tolist()
    [[1, 2], [1, 3], [2, 3]]
    """
    if input.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty([0])
    n = input.numel()
    grids = meshgrid(*[_ops["arange"](n)] * r, indexing="ij")
    mask = _ops["ones"]([n] * r, dtype=_C.bool)
    for a, b in zip(grids, grids[1:], strict=False):
        mask = mask & ((a <= b) if with_replacement else (a < b))
    return _ops["stack"]([g.masked_select(mask) for g in meshgrid(*[input] * r, indexing="ij")], 1)


def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """Return the shape that tensors of the given shapes broadcast to.

    >>> from undertow._functions.shape import broadcast_shapes
    >>> broadcast_shapes((3, 1), (4,), 1)
    undertow.Size([3, 4])
    """
    lists: list[tuple[int, ...]] = []
    for shape in shapes:
        if shape is None:  # torch leaves it out
            continue
        if not isinstance(shape, (int, tuple, list)):
            raise RuntimeError(f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {shape}")
        lists.append((shape,) if isinstance(shape, int) else tuple(shape))
    result = [1] * max(map(len, lists), default=0)
    for number, sizes in enumerate(lists):
        for i in range(-1, -1 - len(sizes), -1):
            if sizes[i] < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if sizes[i] in (1, result[i]):
                continue
            if result[i] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {sizes[i]} at {i}! Mismatching argument at index {number} had {sizes}; "
                    f"but expected shape should be broadcastable to {result}"
                )
            result[i] = sizes[i]
    return Size(result)
