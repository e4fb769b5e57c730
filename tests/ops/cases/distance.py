"""Cases for the entries of ops/distance.toml."""

from __future__ import annotations

import numpy as np
from samples import Array, case

from cases.norm import vector_norm

A = Array((3, 4))
B = Array((2, 3, 4))


def _cosine(x, y, dim=1, eps=1e-8):
    product = (x * y).sum(dim)
    return product / np.maximum(np.sqrt((x * x).sum(dim)), eps) / np.maximum(np.sqrt((y * y).sum(dim)), eps)


def _distances(p):
    return lambda x, y, *_: (np.abs(x[..., :, None, :] - y[..., None, :, :]) ** p).sum(-1) ** (1 / p)


CASES = {
    "cosine_similarity": [case(A, Array((3, 4)), reference=_cosine, real_only=True), case(B, Array((2, 3, 4)), 2, reference=_cosine, real_only=True)],
    "pairwise_distance": [case(Array((3, 4), 1.5, 3.0), Array((3, 4), 0.3, 1.2), p, reference=lambda x, y, p: vector_norm(x - y + 1e-6, p, [-1]), real_only=True) for p in (2.0, 1.0, 3.0)],
    "cdist": [case(Array((3, 2)), Array((4, 2)), real_only=True, reference=_distances(2)), case(Array((3, 2)), Array((4, 2)), 1.5, real_only=True)],
    "pdist": [case(Array((4, 2)), real_only=True), case(Array((4, 2)), 3.0, real_only=True)],
}
