"""Cases for attention and for bags of rows."""

from __future__ import annotations

import numpy as np
from samples import Array, case, index

Q, K = Array((2, 2, 3, 4)), Array((2, 2, 5, 4))
WEIGHT, INDICES, OFFSETS = Array((4, 3), distinct=True), index([0, 1, 3, 3, 2]), index([0, 2, 2])


def _attention(q, k, v, mask=None, dropout_p=0.0, is_causal=False, scale=None):
    scores = q @ np.swapaxes(k, -1, -2) * (1 / np.sqrt(q.shape[-1]) if scale is None else scale)
    if is_causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


def _bags(weight, indices, offsets, by_freq=False, mode=0, *rest):
    ends = [*offsets[1:], len(indices)]
    chosen = [weight[indices[a:b]] for a, b in zip(offsets, ends, strict=True)]
    fold = (lambda r: r.sum(0), lambda r: r.mean(0), lambda r: r.max(0))[mode]
    counts = np.array([len(r) for r in chosen])
    maxima = np.array([indices[a:b][r.argmax(0)] if len(r) else np.zeros(3, int) for r, a, b in zip(chosen, offsets, ends, strict=True)])
    out = np.array([fold(r) if len(r) else np.zeros(weight.shape[1]) for r in chosen])
    return out, np.repeat(np.arange(len(offsets)), counts), counts, maxima if mode == 2 else np.empty(0, int)


CASES = {
    "scaled_dot_product_attention": [
        case(Q, K, K, reference=_attention, real_only=True),
        case(Q, K, K, None, 0.0, True, reference=_attention, real_only=True),
        case(Q, K, K, scale=0.3, reference=_attention, real_only=True),
        case(Array((3, 4)), Array((5, 4)), Array((5, 2)), reference=_attention, real_only=True),
    ],
    "embedding_bag": [case(WEIGHT, INDICES, OFFSETS, False, mode, reference=_bags, real_only=True) for mode in (0, 1, 2)],
    "native_dropout": [case(Array((3, 4)), 0.5, True)],
}
