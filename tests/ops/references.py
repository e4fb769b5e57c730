"""NumPy references that do not fit on one line, by entry; used if neither the table nor the case has one.

A reference gives None for a result that is not unique, such as the indices of equal elements.
"""

from __future__ import annotations

import itertools

import numpy as np

try:
    import scipy.linalg
    import scipy.special
except ImportError:  # their values are then only compared with torch's, in tests/parity
    scipy = None


def _extremum(values, places):
    def reference(x, dim, keepdim=False):
        if dim is None:
            return values(x), np.asarray(0)
        at = places(x, dim)
        return values(x, dim, keepdims=keepdim), np.expand_dims(at, dim) if keepdim else at

    return reference


def _order_statistic(rank):
    def reference(x, dim=-1, keepdim=False):
        if dim is None:
            return x, None
        found = np.take(np.sort(x, dim), rank(x.shape[dim]), dim)
        return np.expand_dims(found, dim) if keepdim else found, None

    return reference


def _scatter(write):
    """write(out, positions, values): positions as a tuple of arrays, repeated ones in order."""

    def reference(x, dim, index, src, *reduce):
        out, where = x.copy(), list(np.indices(index.shape))
        where[dim] = index
        values = src[tuple(slice(n) for n in index.shape)] if isinstance(src, np.ndarray) else src
        write(out, tuple(where), values, *reduce)
        return out

    return reference


def _assign(out, where, values):
    out[where] = values


_REDUCE = {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def _reduce_at(out, where, values, reduce):
    if reduce == "mean":
        counts = np.ones(out.shape)
        np.add.at(counts, where, 1)
        np.add.at(out, where, values)
        out[...] = np.floor(out / counts) if out.dtype.kind in "iub" else out / counts
        return
    _REDUCE[reduce].at(out, where, values)


def _index_put(x, indices, values, accumulate=False):
    out, where = x.copy(), tuple(slice(None) if i is None else i for i in indices)
    if accumulate:
        np.add.at(out, where, values)
    else:
        out[where] = values
    return out


def _index_reduce(x, dim, index, source, reduce):
    out = x.copy()
    _REDUCE[reduce].at(out, (slice(None),) * dim + (index,), source)
    return out


def _masked_scatter(x, mask, source):
    out, mask = x.copy(), np.broadcast_to(mask, x.shape)
    out[mask] = source.reshape(-1)[: mask.sum()]
    return out


def _put(x, index, source):
    out = x.copy()
    np.put(out, index, source)
    return out


def _written(where):
    """A copy with a part replaced; where(*args) selects the part."""

    def reference(x, source, *args):
        out = x.copy()
        out[where(*args)] = source
        return out

    return reference


def _diagonal_scatter(x, source):
    out = x.copy()
    np.fill_diagonal(out, source)
    return out


def _unfold(x, dim, size, step):
    windows = np.lib.stride_tricks.sliding_window_view(x, size, dim)
    return np.moveaxis(np.moveaxis(windows, dim, 0)[::step], 0, dim)


def _pairs(x, p=2.0):
    return np.array([(np.abs(a - b) ** p).sum() ** (1 / p) for a, b in itertools.combinations(x, 2)])


def _trapezoid(y, dx=1, dim=-1):
    if dim is None:
        return np.zeros(())
    y = np.moveaxis(y, dim, -1)
    return ((y[..., 1:] + y[..., :-1]) / 2 * dx).sum(-1)


REFERENCES = {
    "max.dim": _extremum(np.max, np.argmax),
    "min.dim": _extremum(np.min, np.argmin),
    "aminmax": lambda x, dim=None, keepdim=False: (np.min(x, dim, keepdims=keepdim), np.max(x, dim, keepdims=keepdim)),
    "max.other": np.maximum,
    "min.other": np.minimum,
    "median": lambda x: np.sort(x.reshape(-1))[(x.size - 1) // 2],
    "nanmedian": lambda x: np.sort(x.reshape(-1))[(x.size - 1) // 2],
    "median.dim": _order_statistic(lambda n: (n - 1) // 2),
    "nanmedian.dim": _order_statistic(lambda n: (n - 1) // 2),
    "kthvalue": lambda x, k: _order_statistic(lambda n: k - 1)(x),
    "topk": lambda x, k: (np.sort(x, -1)[..., ::-1][..., :k], None),
    "cummax": lambda x, dim: (x if dim is None else np.maximum.accumulate(x, dim), None),
    "cummin": lambda x, dim: (x if dim is None else np.minimum.accumulate(x, dim), None),
    **{f"any.{which}": lambda x, dim=None, keepdim=False: np.any(x, dim, keepdims=keepdim) for which in ("dim", "dims")},
    **{f"all.{which}": lambda x, dim=None, keepdim=False: np.all(x, dim, keepdims=keepdim) for which in ("dim", "dims")},
    "trapezoid.dx": _trapezoid,
    "scatter.src": _scatter(_assign),
    "scatter.value": _scatter(_assign),
    "scatter_add": _scatter(np.add.at),
    "scatter_reduce": _scatter(_reduce_at),
    "index_put": _index_put,
    "index_reduce": _index_reduce,
    "masked_scatter": _masked_scatter,
    "put": _put,
    "select_scatter": _written(lambda dim, at: (slice(None),) * dim + (at,)),
    "slice_scatter": _written(lambda dim, start, end: (slice(None),) * dim + (slice(start, end),)),
    "diagonal_scatter": _diagonal_scatter,
    "unfold": _unfold,
    "pdist": _pairs,
    "bilinear": lambda x, y, w: np.einsum("bi,oij,bj->bo", x, w, y),
    "linalg_solve_ex": lambda a, b: (np.linalg.solve(a, b), np.zeros(a.shape[:-2])),
    "linalg_inv_ex": lambda a: (np.linalg.inv(a), np.zeros(a.shape[:-2])),
    "linalg_cholesky_ex": lambda a: (np.linalg.cholesky(a), np.zeros(a.shape[:-2])),
    "triangular_solve": lambda b, a: (np.linalg.solve(np.triu(a), b), a),
    # operators without a Python name
    "gelu_tanh": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "sigmoid_backward": lambda g, y: g * np.conj((1 - y) * y),
    "tanh_backward": lambda g, y: g * np.conj(1 - y * y),
    "silu_backward": lambda g, x: g * (1 + x * (1 - 1 / (1 + np.exp(-x)))) / (1 + np.exp(-x)),
    "log_sigmoid_backward": lambda g, x: g / (1 + np.exp(x)),
    "square_kernel": np.square,
    "cube_kernel": lambda x: x * x * x,
    "nextafter_kernel": np.nextafter,
    "power": np.power,
    "trunc_divide": lambda x, y: np.trunc(x / y),
    "clamp_kernel": lambda x, low, high: np.minimum(np.maximum(x, low), high),
    "angle_kernel": np.angle,
    "conj_kernel": np.conj,
    "_alias": np.copy,
    "_neg_view": np.negative,
}
if scipy is not None:
    REFERENCES |= {"linalg_matrix_exp": scipy.linalg.expm, "igamma": scipy.special.gammainc, "igammac": scipy.special.gammaincc}
    REFERENCES["gelu_erf"] = lambda x: x * scipy.special.ndtr(x)
    REFERENCES["gelu_erf_backward"] = lambda g, x: g * (scipy.special.ndtr(x) + x * np.exp(-x * x / 2) / np.sqrt(2 * np.pi))
