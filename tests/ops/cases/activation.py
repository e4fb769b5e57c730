"""Cases for the entries of ops/activation.toml."""

from __future__ import annotations

import numpy as np
from samples import Array, case

DISTINCT = Array((3, 4), distinct=True)
A, WIDE = Array((3, 4)), Array((3, 4), -5.0, 5.0, distinct=True)


def _elu(x, alpha, scale, input_scale):
    return scale * np.where(x > 0, x, alpha * np.expm1(x * input_scale))


def _gelu_tanh_slope(x):
    t = np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))
    return (1 + t) / 2 + x / 2 * (1 - t * t) * np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x * x)


def _mish_slope(x):
    t = np.tanh(np.log1p(np.exp(x)))
    return t + x * (1 - t * t) / (1 + np.exp(-x))


CASES = {
    "hardtanh": [case(DISTINCT, reference=lambda x: np.clip(x, -1, 1), raises_for=("uint8",), real_only=True),
                 case(DISTINCT, 0, 1, reference=np.clip, real_only=True)],
    "prelu": [case(DISTINCT, Array((4,)), reference=lambda x, w: np.where(x > 0, x, w * x), real_only=True),
              case(DISTINCT, Array((1,)), reference=lambda x, w: np.where(x > 0, x, w * x), real_only=True)],
    "threshold": [case(DISTINCT, 1, 20, reference=lambda x, t, v: np.where(x <= t, v, x), real_only=True)],
    "elu": [case(WIDE, 1.5, 1.2, 0.7, reference=_elu)],
    "elu_backward": [case(A, 1.5, 1.2, 0.7, WIDE, reference=lambda g, a, s, i, x: g * np.where(x > 0, s, i * a * s * np.exp(x * i)))],
    "gelu_backward": [case(A, WIDE, "none"), case(A, WIDE, "tanh", reference=lambda g, x, _: g * _gelu_tanh_slope(x))],
    "gelu_tanh_backward": [case(A, WIDE, reference=lambda g, x: g * _gelu_tanh_slope(x))],
    "hardsigmoid_backward": [case(A, WIDE, reference=lambda g, x: np.where(np.abs(x) < 3, g / 6, 0))],
    "hardswish_backward": [case(A, WIDE, reference=lambda g, x: g * np.where(np.abs(x) < 3, x / 3 + 0.5, x > 0))],
    "hardtanh_backward": [case(A, WIDE, -1.0, 2.0, reference=lambda g, x, low, high: np.where((x > low) & (x < high), g, 0))],
    "leaky_relu_backward": [case(A, WIDE, 0.1, reference=lambda g, x, slope: np.where(x > 0, g, slope * g))],
    "mish_backward": [case(A, WIDE, reference=lambda g, x: g * _mish_slope(x))],
    "prelu_kernel": [case(DISTINCT, w, reference=lambda x, w: np.where(x > 0, x, w * x)) for w in (Array((4,)), Array(()))],
    "shrink_backward": [case(A, WIDE, 0.7, reference=lambda g, x, lambd: np.where(np.abs(x) <= lambd, 0, g))],
    "softplus_backward": [case(A, WIDE, 0.5, 1.5, reference=lambda g, x, beta, most: g * np.where(x * beta > most, 1, 1 / (1 + np.exp(-x * beta))))],
    "threshold_backward": [case(A, WIDE, 1, reference=lambda g, x, threshold: np.where(x > threshold, g, 0), raises_for=("bool",))],
}
