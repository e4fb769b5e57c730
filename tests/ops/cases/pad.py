"""Cases for padding; the reference is NumPy's."""

from __future__ import annotations

import numpy as np
from samples import Array, case

LINE, IMAGE, VOLUME = Array((2, 2, 5)), Array((2, 2, 4, 5)), Array((1, 2, 3, 4, 5))
MODES = ("reflect", "edge", "wrap")


def _widths(x, padding):
    """torch's padding, which starts at the last dimension, as NumPy's; and the slices for negative padding."""
    pairs = [(0, 0)] * (x.ndim - len(padding) // 2) + [tuple(padding[i : i + 2]) for i in range(0, len(padding), 2)][::-1]
    cut = tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, x.shape, strict=True))
    return [(max(a, 0), max(b, 0)) for a, b in pairs], cut


def _constant(x, padding, value=0):
    widths, cut = _widths(x, padding)
    return np.pad(x[cut], widths, constant_values=value)


def _indexed(x, padding, mode=0):
    return np.pad(x, _widths(x, padding)[0], mode=MODES[mode])


def _mode(mode):
    return lambda x, padding: _indexed(x, padding, mode)


def _added(g, sizes, padding, mode):
    """Adds each element of g at the index it was copied from, found by padding the indices themselves."""
    place = _indexed(np.arange(np.prod(sizes)).reshape(sizes), padding, mode)
    out = np.zeros(int(np.prod(sizes)), dtype=g.dtype)
    np.add.at(out, place.reshape(-1), g.reshape(-1))
    return out.reshape(sizes)


CASES = {
    "constant_pad_nd": [case(IMAGE, [1, 2], reference=_constant), case(IMAGE, [-1, 2, 3, -2, 1, 0], 1.5, reference=_constant),
                        case(LINE, [0, 0, 1, 1], reference=_constant), case(Array((3,)), [], reference=_constant),
                        case(Array((2, 0)), [1, 1], 2, reference=_constant), case(LINE, [-5, 0], reference=_constant)],
    **{f"{name}_pad{n}d": [case(x, p, reference=_mode(mode)) for p in pads] for mode, name in enumerate(("reflection", "replication"))
       for n, x, pads in ((1, LINE, ([1, 3], [4, 0])), (2, IMAGE, ([1, 2, 3, 1], [0, 0, 2, 2])), (3, VOLUME, ([1, 2, 0, 1, 2, 1],)))},
    "_pad_indexed": [case(LINE, [2, 5], 2, reference=_indexed), case(IMAGE, [1, 2, 4, 0], 2, reference=_indexed),
                     case(VOLUME, [1, 2, 0, 1, 2, 1], 0, reference=_indexed)],
    "_pad_indexed_backward": [case(Array((2, 2, 9)), [2, 2, 5], [1, 3], mode, reference=_added) for mode in range(3)]
    + [case(Array((2, 2, 7, 8)), [2, 2, 4, 5], [1, 2, 2, 1], mode, reference=_added) for mode in range(3)],
}
