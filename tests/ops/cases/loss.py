"""Cases for losses. Their references are means; sums and no reduction are covered by the derivative tests."""

from __future__ import annotations

import itertools

import numpy as np
from samples import Array, Fixed, case, index

NONE, MEAN, SUM = 0, 1, 2
A = Array((3, 4))
OTHER = Array((3, 4))
LOGITS, TARGET, WEIGHT = Array((3, 4)), index([0, 3, 1]), Array((4,), 0.3, 2.0, constant=True)
IMAGE, LABELS = Array((2, 4, 3)), index([[0, 3, 1], [2, 2, 0]])
PIXELS, CLASSES = Array((2, 4, 2, 3)), index([[[0, 3, 1], [2, 2, 0]], [[1, 1, 3], [0, 2, 3]]])
PROBABILITY = Array((3, 4), 0.05, 0.95)
REDUCE = {NONE: lambda x: x, MEAN: np.mean, SUM: np.sum}


def _pointwise(loss, *more, other=OTHER, own=A) -> list:
    """The loss under each reduction."""
    return [case(own, other, reduction, *more, reference=lambda x, y, r, *m: REDUCE[r](loss(x, y, *m)), real_only=True) for reduction in (NONE, MEAN, SUM)]


def _huber(x, y, delta):
    d = np.abs(x - y)
    return np.where(d < delta, d * d / 2, delta * (d - delta / 2))


def _smooth_l1(x, y, beta):
    d = np.abs(x - y)
    return np.where(d < beta, d * d / (2 * beta), d - beta / 2)


def _entropy(x, y):
    return -(y * np.log(x) + (1 - y) * np.log(1 - x))


def _weighted_entropy(x, y, w=None, r=MEAN):
    return REDUCE[r](_entropy(x, y) * (1 if w is None else w))


def _logits_entropy(x, y, w=None, p=None, r=MEAN):
    s = 1 / (1 + np.exp(-x))
    return REDUCE[r](-((1 if p is None else p) * y * np.log(s) + (1 - y) * np.log(1 - s)) * (1 if w is None else w))


def log_softmax(x, dim=1):
    x = x - x.max(dim, keepdims=True)
    return x - np.log(np.exp(x).sum(dim, keepdims=True))


def _likelihood(x, t, w=None, r=MEAN, ignore=-100):
    """(loss, total weight): classes are dimension 1, or 0 of a vector."""
    x, t = (x[None], np.asarray(t)[None]) if x.ndim == 1 else (x, t)
    keep = t != ignore
    at = np.where(keep, t, 0)
    weight = np.where(keep, np.ones(x.shape[1])[at] if w is None else w[at], 0)
    picked = -np.take_along_axis(x, np.expand_dims(at, 1), 1).squeeze(1) * weight
    total = weight.sum()
    return picked if r == NONE else picked.sum() if r == SUM else picked.sum() / total, total


def _forward(x, t, w, r, ignore):
    loss, total = _likelihood(x, t, w, r, ignore)
    return loss, (0 if r == NONE else total)


def _spread(g, sizes, t, w, r, ignore, total):
    """The derivative of the likelihood at the classes: -weight, over the sum of weights for a mean."""
    out = np.zeros(sizes, dtype=np.asarray(g).dtype)
    weight = -(w[t] if w is not None else np.ones(t.shape)) * g / (total if r == MEAN else 1)
    np.put_along_axis(out, t[:, None], np.asarray(weight)[:, None], 1)
    return out


def _cross_entropy(x, t, w=None, r=MEAN, ignore=-100, smoothing=0.0):
    logs = log_softmax(x)
    loss, total = _likelihood(logs, t, w, r, ignore)
    if not smoothing:
        return loss
    smooth = -(logs * (1 if w is None else w[None, :])).sum(1)
    smooth = smooth if r == NONE else smooth.sum() if r == SUM else smooth.sum() / total
    return (1 - smoothing) * loss + smoothing / x.shape[1] * smooth
def _alignments(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity):
    """The loss as a sum over every path of classes that spells the target, and the recursion over its prefixes."""
    steps, batch, classes = log_probs.shape
    nll, alpha = np.empty(batch), np.full((batch, steps, 2 * targets.shape[1] + 1), -np.inf)
    for n, target in enumerate(targets.tolist()):
        spelled = [c for c in itertools.product(range(classes), repeat=steps) if [k for k, _ in itertools.groupby(c) if k != blank] == target]
        nll[n] = -np.log(sum(np.exp(sum(log_probs[t, n, k] for t, k in enumerate(path))) for path in spelled))
        labels = [blank, *(k for label in target for k in (label, blank))]
        alpha[n, 0, :2] = log_probs[0, n, labels[:2]]
        for t, s in itertools.product(range(1, steps), range(len(labels))):
            far = 2 if labels[s] != blank and s > 1 and labels[s] != labels[s - 2] else 1
            alpha[n, t, s] = np.log(np.exp(alpha[n, t - 1, max(s - far, 0) : s + 1]).sum()) + log_probs[t, n, labels[s]]
    return nll, alpha


CASES = {
    "mse_loss": _pointwise(lambda x, y: (x - y) ** 2),
    "l1_loss": _pointwise(lambda x, y: np.abs(x - y)),
    "smooth_l1_loss": _pointwise(_smooth_l1, 0.8),
    "huber_loss": _pointwise(_huber, 0.7),
    "soft_margin_loss": _pointwise(lambda x, y: np.log1p(np.exp(-x * y))),
    "binary_cross_entropy": [case(PROBABILITY, PROBABILITY, reference=_weighted_entropy, real_only=True),
                             case(PROBABILITY, PROBABILITY, WEIGHT, SUM, reference=_weighted_entropy, real_only=True),
                             case(PROBABILITY, PROBABILITY, None, NONE, reference=_weighted_entropy, real_only=True)],
    "binary_cross_entropy_with_logits": [case(A, PROBABILITY, reference=_logits_entropy, real_only=True),
                                         case(A, PROBABILITY, WEIGHT, WEIGHT, SUM, reference=_logits_entropy, real_only=True),
                                         case(A, PROBABILITY, None, None, NONE, reference=_logits_entropy, real_only=True)],
    "nll_loss_forward": [case(LOGITS, TARGET, w, r, i, reference=_forward, real_only=True)
                         for w, r, i in ((None, MEAN, -100), (WEIGHT, MEAN, -100), (WEIGHT, SUM, 3), (None, NONE, 3), (WEIGHT, MEAN, 3))],
    "nll_loss2d_forward": [case(PIXELS, CLASSES, w, r, i, reference=_forward, real_only=True)
                           for w, r, i in ((None, MEAN, -100), (WEIGHT, MEAN, 2), (WEIGHT, NONE, -100))],
    "nll_loss_backward": [case(Array(()), [3, 4], TARGET, None, MEAN, -100, Fixed(3.0, "float64"), reference=_spread, real_only=True),
                          case(Array((3,)), [3, 4], TARGET, WEIGHT, NONE, -100, Fixed(0.0, "float64"), reference=_spread, real_only=True)],
    "nll_loss_nd": [case(x, t, w, r, i, reference=lambda *a: _likelihood(*a)[0], real_only=True)
                    for x, t, w, r, i in ((LOGITS, TARGET, None, MEAN, -100), (IMAGE, LABELS, WEIGHT, MEAN, 2), (PIXELS, CLASSES, None, SUM, -100))],
    "cross_entropy_loss": [case(LOGITS, TARGET, reference=_cross_entropy, real_only=True), case(IMAGE, LABELS, WEIGHT, SUM, reference=_cross_entropy, real_only=True),
                           case(LOGITS, TARGET, WEIGHT, MEAN, -100, 0.2, reference=_cross_entropy, real_only=True),
                           case(LOGITS, PROBABILITY, reference=lambda x, p: -(p * log_softmax(x)).sum(1).mean(), real_only=True)],
    "_ctc_loss": [case(Array((4, 2, 3), -3.0, -0.1), Fixed([[1, 2], [2, 2]], "int64"), [4, 4], [2, 2], 0, False, reference=_alignments, real_only=True, differentiable=False)],
}
