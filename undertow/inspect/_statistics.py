"""What a recording keeps of a gradient: its norm, extremes, zeros, NaN and Inf, and a histogram."""

from __future__ import annotations

from math import sqrt

import undertow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

BINS = 24
_SMALL = (undertow.float16, undertow.bfloat16)


def statistics(t: Tensor, *, histogram: bool = True) -> dict[str, Any]:
    """Return the statistics of a tensor. NaN and Inf are counted, and left out of the other figures.

    >>> import undertow as ut
    >>> found = statistics(ut.tensor([3.0, 0.0, -4.0]))
    >>> found["norm"], found["zeros"], found["min"], found["max"]
    (5.0, 1, -4.0, 3.0)
    """
    empty: dict[str, Any] = dict.fromkeys(("norm", "min", "max", "mean", "zeros", "nan", "inf"))
    empty |= {"size": t.numel(), "histogram": None}
    if t.is_meta or not t.numel():
        return empty
    with undertow.no_grad():
        size = t.numel()
        x = t.detach()
        if x.layout is not undertow.strided:
            x = x.to_sparse().coalesce().values()
        if x.is_complex():
            x = x.abs()
        x = x.reshape(-1)
        if x.dtype in _SMALL or not x.is_floating_point() or x.element_size() == 1:
            x = x.float()
        nan, inf = int(x.isnan().sum()), int(x.isinf().sum())
        if nan or inf:
            x = x[x.isfinite()]
        found = {**empty, "nan": nan, "inf": inf, "zeros": size - int((x != 0).sum()) - nan - inf}
        if not x.numel():
            return found
        low, high = float(x.min()), float(x.max())
        wide = x.double()
        scale = max(abs(low), abs(high)) or 1.0  # so that no square overflows
        scaled = wide / scale
        found |= {"norm": scale * sqrt(float((scaled * scaled).sum())), "min": low, "max": high, "mean": scale * (float(scaled.sum()) / size)}
        if histogram:
            found["histogram"] = _histogram(wide, low, high)
    return found


def _histogram(x: Tensor, low: float, high: float) -> dict[str, Any]:
    if low == high or high - low == float("inf"):
        return {"edges": [low, high], "counts": [x.numel()]}
    counts = undertow.histc(x, bins=BINS, min=low, max=high)
    width = (high - low) / BINS
    return {"edges": [*(low + width * i for i in range(BINS)), high], "counts": [int(c) for c in counts.tolist()]}
