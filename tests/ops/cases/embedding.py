"""Cases for the entries of ops/embedding.toml."""

from __future__ import annotations

import numpy as np
from samples import Array, case, index

WEIGHT, INDICES, OFFSETS = Array((4, 3), distinct=True), index([0, 1, 3, 3, 2]), index([0, 2, 2])


def _bags(weight, indices, offsets, by_freq=False, mode=0, *rest):
    ends = [*offsets[1:], len(indices)]
    chosen = [weight[indices[a:b]] for a, b in zip(offsets, ends, strict=True)]
    fold = (lambda r: r.sum(0), lambda r: r.mean(0), lambda r: r.max(0))[mode]
    counts = np.array([len(r) for r in chosen])
    maxima = np.array([indices[a:b][r.argmax(0)] if len(r) else np.zeros(3, int) for r, a, b in zip(chosen, offsets, ends, strict=True)])
    out = np.array([fold(r) if len(r) else np.zeros(weight.shape[1]) for r in chosen])
    return out, np.repeat(np.arange(len(offsets)), counts), counts, maxima if mode == 2 else np.empty(0, int)


def _renormed(w, i, most, p):
    w = w.copy()
    for k in set(i.ravel().tolist()):
        size = (np.abs(w[k]) ** p).sum() ** (1 / p)
        w[k] *= most / (size + 1e-7) if size > most else 1
    return w


CASES = {
    "embedding_bag": [case(WEIGHT, INDICES, OFFSETS, False, mode, reference=_bags, real_only=True) for mode in (0, 1, 2)],
    "embedding": [case(Array((5, 3)), index([[0, 4], [2, 2]]), reference=lambda w, i: w[i])],
    "embedding_renorm": [case(Array((5, 3)), index([[0, 4], [2, 2]]), 1.5, 2.0, reference=_renormed, real_only=True)],
    "_embedding_bag": [case(WEIGHT, INDICES, OFFSETS, False, mode, None, False, -1, reference=_bags, real_only=True) for mode in (0, 1, 2)]
    + [case(WEIGHT, INDICES, OFFSETS, False, 0, Array((5,)), False, -1, real_only=True)],
}
