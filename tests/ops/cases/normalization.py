"""Cases for the entries of ops/normalization.toml."""

from __future__ import annotations

import numpy as np
from samples import Array, case

X = Array((2, 4, 3))
W4, B4 = Array((4,), 0.3, 2.0), Array((4,))
W3, B3 = Array((3,), 0.3, 2.0), Array((3,))
W43, B43 = Array((4, 3), 0.3, 2.0), Array((4, 3))
MEAN, VAR = Array((4,), constant=True), Array((4,), 0.3, 2.0, constant=True)
EPS = 1e-3


def _moments(x, dims):
    mean = x.mean(dims, keepdims=True)
    return mean, 1 / np.sqrt(x.var(dims, keepdims=True) + EPS)


def _scaled(x, w, b):
    return x * (1 if w is None else w) + (0 if b is None else b)


def _layer(x, shape, w, b, eps):
    mean, rstd = _moments(x, tuple(range(x.ndim - len(shape), x.ndim)))
    return _scaled((x - mean) * rstd, w, b), mean, rstd


def _channels(t, ndim):
    return None if t is None else t.reshape(1, -1, *[1] * (ndim - 2))


def _batch(x, w, b, running_mean, running_var, training, momentum, eps):
    mean, rstd = _moments(x, tuple(d for d in range(x.ndim) if d != 1))
    w, b = _channels(w, x.ndim), _channels(b, x.ndim)
    if training:
        return _scaled((x - mean) * rstd, w, b), mean.reshape(-1), rstd.reshape(-1)
    m, v = _channels(running_mean, x.ndim), _channels(running_var, x.ndim)
    return _scaled((x - m) / np.sqrt(v + EPS), w, b), np.empty(0), np.empty(0)


def _group(x, w, b, n, c, inner, groups, eps):
    parts = x.reshape(n, groups, -1)
    mean, rstd = _moments(parts, (2,))
    out = _scaled(((parts - mean) * rstd).reshape(x.shape), _channels(w, x.ndim), _channels(b, x.ndim))
    return out, mean.reshape(n, groups), rstd.reshape(n, groups)


def _rms(x, shape, w, eps=EPS):
    dims = tuple(range(x.ndim - len(shape), x.ndim))
    return _scaled(x / np.sqrt((x * x).mean(dims, keepdims=True) + eps), w, None)


_LAYERS = [(X, [3], None, None, EPS), (X, [3], W3, B3, EPS), (X, [4, 3], W43, B43, EPS), (X, [3], None, B3, EPS), (Array((1, 3)), [3], W3, None, EPS)]
_BATCHES = [
    (X, None, None, None, None, True),
    (X, W4, B4, None, None, True),
    (X, W4, B4, MEAN, VAR, False),
    (X, None, None, MEAN, VAR, False),
    (Array((5, 4)), W4, B4, None, None, True),
    (Array((2, 4, 2, 2)), W4, None, MEAN, VAR, False),
]
_GROUPS = [(X, W4, B4, 2, 4, 3, 2, EPS), (X, None, None, 2, 4, 3, 1, EPS), (Array((3, 4, 2, 2)), W4, None, 3, 4, 4, 4, EPS)]

CASES = {
    "native_layer_norm": [case(*a, reference=_layer, real_only=True) for a in _LAYERS],
    "layer_norm": [case(*a, reference=lambda *a: _layer(*a)[0], real_only=True) for a in _LAYERS],
    "native_batch_norm": [case(*a, 0.1, EPS, reference=_batch, real_only=True) for a in _BATCHES],
    "batch_norm": [case(*a, 0.1, EPS, True, reference=lambda *a: _batch(*a[:-1])[0], real_only=True) for a in _BATCHES],
    "native_group_norm": [case(*a, reference=_group, real_only=True) for a in _GROUPS],
    "group_norm": [case(X, 2, W4, B4, EPS, reference=lambda x, g, w, b, eps: _group(x, w, b, 2, 4, 3, g, eps)[0], real_only=True)],
    "instance_norm": [
        case(X, W4, B4, None, None, True, 0.1, EPS, True, real_only=True, reference=lambda x, w, b, *_: _group(x, w, b, 2, 4, 3, 4, EPS)[0])
    ],
    "rms_norm": [case(X, [3], w, EPS, reference=_rms, real_only=True) for w in (None, W3)]
    + [case(X, [4, 3], W43, EPS, reference=_rms, real_only=True)],
    "_fused_rms_norm": [case(X, [3], W3, EPS, real_only=True), case(X, [4, 3], None, EPS, real_only=True)],
}
