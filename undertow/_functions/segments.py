"""`segment_reduce`: one value per segment of consecutive elements along a dimension."""

from __future__ import annotations

import math

import undertow
from undertow._C import Tensor
from undertow._override import overridable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

_STARTS = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}
_KINDS: dict[str, Literal["sum", "prod", "amax", "amin"]] = {"sum": "sum", "mean": "sum", "prod": "prod", "max": "amax", "min": "amin"}


def _ends(data: Tensor, lengths: Tensor | None, offsets: Tensor | None, axis: int, unsafe: bool) -> tuple[Tensor, Tensor]:
    """Return the start and end of each segment."""
    if (lengths is None) == (offsets is None):
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined, and not both")
    given = lengths if lengths is not None else offsets
    assert given is not None
    if axis != given.dim() - 1 or axis >= data.dim():
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of what gives the segments, but got {axis}")
    if given.shape[:-1] != data.shape[:axis]:
        sizes = f"{list(data.shape)} and {list(given.shape)}"
        raise RuntimeError(f"segment_reduce(): Expected data and segments to have the same sizes before axis, got {sizes}")
    if offsets is not None:
        return offsets[..., :-1].contiguous(), offsets[..., 1:].contiguous()
    ends = given.cumsum(-1)
    if not unsafe:
        if given.numel() and int(given.min()) < 0:
            raise RuntimeError("segment_reduce(): lengths contains negative value!")
        # Lengths beyond the dimension could sum to it by wrapping around.
        if not bool((given.sum(-1) == data.shape[axis]).all()) or bool((given > data.shape[axis]).any()):
            raise RuntimeError("segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe.")
    return ends - given, ends


def _kind(t: Tensor) -> str:
    """Return torch's older name of the dtype: Long for int64."""
    return t.type().rpartition(".")[2].removesuffix("Tensor")


def _reduced(initial: Tensor, axis: int, index: Tensor, data: Tensor, reduce: str, start: float) -> Tensor:
    """Return `initial` reduced with `data` by `index`. The initial value takes no part of the gradient, even if it equals the result."""
    extreme = reduce in ("max", "min")

    def values(data: Tensor) -> Tensor:
        total = initial.scatter_reduce(axis, index, data, _KINDS[reduce], include_self=not extreme)
        return undertow.where((total < start) if reduce == "max" else (total > start), initial, total) if extreme else total

    if not data.requires_grad or reduce in ("sum", "mean"):
        return values(data)
    # scatter_reduce finds the elements that a gradient belongs to by equality and division, which fail for NaN. So NaN elements are
    # left out there, and added with the gradient they have: their share of an extreme value, or the product of the other elements.
    nan = data.isnan()
    counts = undertow.zeros_like(initial).scatter_add(axis, index, nan.to(data.dtype))
    ones = undertow.zeros_like(initial).scatter_add(axis, index, undertow.where(nan, data - data.detach(), 0.0))  # NaN, with the gradient of a sum
    total = values(undertow.where(nan, data.detach() if extreme else 1.0, data))
    if extreme:
        return total + ones / counts.clamp_min(1)
    return total + ones * undertow.where(counts > 0, total, 0.0) * undertow.where(counts > 1, math.nan, 1.0).to(data.dtype)


@overridable
def segment_reduce(
    data: Tensor, reduce: str, *, lengths: Tensor | None = None, indices: Tensor | None = None, offsets: Tensor | None = None,
    axis: int = 0, unsafe: bool = False, initial: float | None = None,
) -> Tensor:  # fmt: skip
    """Compute the sum, mean, prod, max or min of each segment along `axis`; segments are given by `lengths` or `offsets`.

    >>> import undertow as ut
    >>> ut.segment_reduce(ut.tensor([1.0, 2.0, 3.0]), "sum", lengths=ut.tensor([1, 2]))
    tensor([1., 5.])
    """
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if reduce not in _STARTS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if not data.dtype.is_floating_point:
        raise NotImplementedError(f"\"_segment_reduce_cpu\" not implemented for '{_kind(data)}'")
    for given, kind in ((lengths, "lengths"), (offsets, "offsets")):
        if given is not None and given.dtype not in (undertow.int64, undertow.int32):
            raise NotImplementedError(f"\"_segment_reduce_{kind}_cpu_kernel1\" not implemented for '{_kind(given)}'")
    axis = axis % max(data.dim(), 1)
    starts, ends = _ends(data, lengths, offsets, axis, unsafe)
    count = ends.shape[-1]
    place = undertow.arange(data.shape[axis]).expand(*ends.shape[:-1], data.shape[axis]).contiguous()
    segment = undertow.searchsorted(ends, place, right=True)  # index of the segment; elements after the last one get `count`, and are dropped
    tail = [1] * (data.dim() - axis - 1)
    index = segment.reshape(*segment.shape, *tail).expand(data.shape)
    shape = [*data.shape[:axis], count + 1, *data.shape[axis + 1 :]]
    start = _STARTS[reduce] if initial is None else float(initial)
    total = _reduced(undertow.full(shape, start, dtype=data.dtype), axis, index, data, reduce, start).narrow(axis, 0, count)
    if reduce != "mean":
        return total
    sizes = (ends - starts).reshape(*ends.shape, *tail)
    mean = total / sizes.clamp_min(1).to(data.dtype)
    return mean if initial is not None else undertow.where(sizes > 0, mean, undertow.tensor(math.nan, dtype=data.dtype))
