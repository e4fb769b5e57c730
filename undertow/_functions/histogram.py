"""`histogram` and `histogramdd`: count the elements (or points) in each bin of a grid."""

from __future__ import annotations

from typing import NamedTuple

import undertow as ut
from undertow._C import Tensor, _ops
from undertow._functions.out_argument import write_out
from undertow._override import overridable
from undertow.autograd.function import Function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["histogram", "histogramdd"]


def _shown(self: Any) -> str:
    """Format like the named results of other operators."""
    package = str(self.hist.dtype).partition(".")[0]
    return f"{package}.return_types.{type(self).__name__}(\nhist={self.hist!r},\nbin_edges={self.bin_edges!r})"


class Histogram(NamedTuple):
    """Counts and the edges of the bins."""

    hist: Tensor
    bin_edges: Tensor

    def __repr__(self) -> str:
        return _shown(self)


class Histogramdd(NamedTuple):
    """Counts and the edges of the bins along each dimension."""

    hist: Tensor
    bin_edges: tuple[Tensor, ...]

    def __repr__(self) -> str:
        return _shown(self)


def _remade(name: str, *parts: Any) -> Any:
    return (Histogram if name == "histogram" else Histogramdd)(*parts)


def _reduced(self: Any) -> tuple[Any, ...]:
    return _remade, (type(self).__name__, *self)


for _type in (Histogram, Histogramdd):
    _type.__name__ = _type.__qualname__ = _type.__name__.lower()  # torch's names; pickle finds the class through _remade
    _type.__reduce__ = _reduced  # type: ignore[method-assign]  # the same for both


def _even_edges(column: Tensor, bins: int, bounds: Sequence[float] | None) -> Tensor:
    if bins <= 0:
        raise RuntimeError(f"histogramdd(): bins must be > 0, but got {bins}")
    if bounds is not None:
        low, high = bounds
    elif column.numel():
        low, high = column.min().item(), column.max().item()
    else:
        low, high = 0.0, 1.0
    if not (abs(low) < float("inf") and abs(high) < float("inf")):
        raise RuntimeError(f"histogramdd(): range of values along a dimension must be finite, but got [{low}, {high}]")
    if low > high:
        raise RuntimeError(f"histogramdd(): min should not exceed max, but got min {low} max {high}")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return ut.linspace(low, high, bins + 1, dtype=column.dtype)


def _count(points: Tensor, edges: Sequence[Tensor], weight: Tensor | None, density: bool) -> Tensor:
    """Count the points in each bin; `points` is a matrix with one point per row."""
    shape = [e.numel() - 1 for e in edges]
    inside = ut.ones(points.size(0), dtype=ut.bool)
    place = ut.zeros(points.size(0), dtype=ut.int64)
    for d, e in enumerate(edges):
        x = points[:, d].contiguous()
        inside &= (x >= e[0]) & (x <= e[-1])
        # Bins include their left edge; the last bin also includes its right edge.
        at = (ut.bucketize(x, e, right=True) - 1).clamp(0, max(shape[d] - 1, 0))
        place = place * shape[d] + at
    w = ut.ones(points.size(0), dtype=points.dtype) if weight is None else weight
    flat = ut.zeros([_product(shape)], dtype=points.dtype).index_add(0, place[inside], w[inside])
    hist = flat if len(shape) == 1 else _ops["_nn._unsafe_view"](flat, shape)
    if density:
        hist = hist / hist.sum()
        for d, e in enumerate(edges):
            hist = hist / e.diff().view([-1 if k == d else 1 for k in range(len(shape))])
    return hist


class _Undifferentiable(Function):
    """Returns tensors that require grad; a backward pass through them raises."""

    @staticmethod
    def forward(ctx: Any, name: str, found: Sequence[Tensor], *inputs: Tensor) -> tuple[Tensor, ...]:
        ctx.name = name
        return tuple(found)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        raise RuntimeError(f"derivative for aten::{ctx.name} is not implemented")


def _recorded(name: str, found: Sequence[Tensor], *inputs: Tensor | None) -> Sequence[Tensor]:
    """The results, as a function of the inputs that has no derivative, if one of them requires grad."""
    given = [t for t in inputs if t is not None]
    if not ut.is_grad_enabled() or not any(t.requires_grad for t in given):
        return found
    made: Sequence[Tensor] = _Undifferentiable.apply(name, found, *given)
    return made


def _product(sizes: Sequence[int]) -> int:
    n = 1
    for size in sizes:
        n *= size
    return n


def _check(input: Tensor, edges: Sequence[Tensor], weight: Tensor | None, points: int) -> None:
    if not input.dtype.is_floating_point or input.dtype in (ut.float16, ut.bfloat16):
        raise NotImplementedError(f'"histogramdd" not implemented for \'{input.dtype}\'')
    for e in edges:
        if e.dtype != input.dtype:
            raise RuntimeError(
                f"histogramdd(): input tensor and bins tensors should have the same dtype, but got {input.dtype} and {e.dtype}"
            )
        if e.dim() != 1:
            raise RuntimeError(f"histogramdd(): bins tensor should have one dimension, but got {e.dim()} dimensions")
        if e.numel() < 1:
            raise RuntimeError("histogramdd(): bins tensor should have at least 1 element")
    if weight is not None:
        if weight.dtype != input.dtype:
            raise RuntimeError(
                "histogramdd(): if weight tensor is provided, input tensor and weight tensor should have the same dtype, "
                f"but got {input.dtype} and {weight.dtype}"
            )
        if weight.numel() != points:
            raise RuntimeError(
                "histogramdd(): if weight tensor is provided, it should have one element for each point, "
                f"but got {weight.numel()} for {points} points"
            )


@overridable
def histogram(
    input: Tensor,
    bins: int | Tensor = 100,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
    out: tuple[Tensor, Tensor] | None = None,
) -> Histogram:
    """Count the elements of `input` in each bin; `bins` is the number of bins or a tensor of edges.

    >>> import undertow as ut
    >>> ut.histogram(ut.tensor([1.0, 2.0, 1.0]), bins=2, range=(0.0, 4.0)).hist
    tensor([2., 1.])
    """
    flat = input.detach().reshape([-1])
    edges = bins.detach() if isinstance(bins, Tensor) else _even_edges(flat, bins, range)
    weights = None if weight is None else weight.detach().reshape([-1])
    _check(input, [edges], weights, flat.numel())
    hist = _count(flat.unsqueeze(1), [edges], weights, density)
    if out is None:
        given = bins if isinstance(bins, Tensor) else None
        return Histogram(*_recorded("histogram", [hist, edges if given is None else edges.clone()], input, weight, given))
    return Histogram(write_out("histogram", hist, out[0], strict=True), write_out("histogram", edges, out[1], strict=True))


@overridable
def histogramdd(
    input: Tensor,
    bins: int | Sequence[int] | Sequence[Tensor],
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Histogramdd:
    """Count the points in each bin of a grid; the last dimension of `input` has the coordinates of a point.

    >>> import undertow as ut
    >>> ut.histogramdd(ut.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), bins=[2, 2]).hist
    tensor([[0., 1.],
            [1., 1.]])
    """
    if input.dim() < 2:
        raise RuntimeError("undertow.histogramdd: input tensor should have at least 2 dimensions")
    dims = input.size(-1)
    points = input.detach().reshape([-1, dims])
    each: list[int | Tensor] = [bins] * dims if isinstance(bins, int) else list(bins)
    if len(each) != dims:
        raise RuntimeError(
            f"histogramdd: The size of bins must be equal to the innermost dimension of the input, {dims}, "
            f"but got {len(each)}"
        )
    if range is not None and len(range) != 2 * dims:
        raise RuntimeError(f"undertow.histogramdd: for a {dims}-dimensional histogram range should have {2 * dims} elements, but got {len(range)}")
    edges = [
        b.detach() if isinstance(b, Tensor) else _even_edges(points[:, d], b, None if range is None else range[2 * d : 2 * d + 2])
        for d, b in enumerate(each)
    ]
    weights = None if weight is None else weight.detach().reshape([-1])
    _check(input, edges, weights, points.size(0))
    hist = _count(points, edges, weights, density)
    given = [b for b in each if isinstance(b, Tensor)]
    if len(given) == dims:
        (hist,) = _recorded("_histogramdd_from_bin_tensors", [hist], input, weight, *given)
        return Histogramdd(hist, tuple(given))
    hist, *edges = _recorded("_histogramdd_from_bin_cts", [hist, *edges], input, weight)
    return Histogramdd(hist, tuple(edges))
