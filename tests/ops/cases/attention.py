"""Cases for the entries of ops/attention.toml."""

from __future__ import annotations

import numpy as np
from samples import Array, case

Q, K = Array((2, 2, 3, 4)), Array((2, 2, 5, 4))


def _attention(q, k, v, mask=None, dropout_p=0.0, is_causal=False, scale=None):
    scores = q @ np.swapaxes(k, -1, -2) * (1 / np.sqrt(q.shape[-1]) if scale is None else scale)
    if is_causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v
def _with_logsumexp(q, k, v, dropout_p=0.0, is_causal=False, attn_mask=0, scale=None):
    scores = q @ np.swapaxes(k, -1, -2) * (1 / np.sqrt(q.shape[-1]) if scale is None else scale) + attn_mask
    if is_causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    total = np.exp(scores).sum(-1, keepdims=True)
    return np.exp(scores) / total @ v, np.log(total[..., 0])


CASES = {
    "scaled_dot_product_attention": [
        case(Q, K, K, reference=_attention, real_only=True),
        case(Q, K, K, None, 0.0, True, reference=_attention, real_only=True),
        case(Q, K, K, scale=0.3, reference=_attention, real_only=True),
        case(Array((3, 4)), Array((5, 4)), Array((5, 2)), reference=_attention, real_only=True),
    ],
    "_scaled_dot_product_attention_math": [
        case(Q, K, K, reference=_attention, real_only=True),
        case(Q, K, K, None, 0.0, True, scale=0.3, reference=_attention, real_only=True),
        case(Q, Array((2, 1, 5, 4)), Array((2, 1, 5, 4)), None, 0.0, False, enable_gqa=True, real_only=True, reference=lambda q, k, v, *_, enable_gqa: _attention(q, k, v)),
    ],
    "_scaled_dot_product_flash_attention_for_cpu": [
        case(Q, K, K, reference=_with_logsumexp, real_only=True),
        case(Q, Array((2, 2, 3, 4)), Array((2, 2, 3, 4)), 0.0, True, reference=_with_logsumexp, real_only=True),
        case(Q, K, K, 0.0, False, attn_mask=Array((2, 2, 3, 5), constant=True), scale=0.3, reference=_with_logsumexp, real_only=True),
    ],
}
