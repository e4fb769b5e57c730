"""Each optimizer in plain float64 NumPy, as in its paper or textbook: the reference of test_updates.py.

`name(**options)` gives a function step(w, g, t, s) -> w: parameters, gradient, number of the step from 1, and a dictionary for the state.
"""

from __future__ import annotations

import numpy as np


def sgd(lr=1e-3, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    def step(w, g, t, s):
        g = g + weight_decay * w
        if momentum:
            s["v"] = g if t == 1 else momentum * s["v"] + (1 - dampening) * g
            g = g + momentum * s["v"] if nesterov else s["v"]
        return w - lr * g

    return step


def adam(lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False, decoupled=False):
    """Kingma and Ba 2015; Reddi, Kale and Kumar 2018 for amsgrad; Loshchilov and Hutter 2019 where the decay is decoupled."""

    def step(w, g, t, s):
        if decoupled:
            w = w * (1 - lr * weight_decay)
        else:
            g = g + weight_decay * w
        s["m"] = betas[0] * s.get("m", 0.0) + (1 - betas[0]) * g
        s["v"] = betas[1] * s.get("v", 0.0) + (1 - betas[1]) * g * g
        s["largest"] = np.maximum(s.get("largest", 0.0), s["v"])
        v = s["largest"] if amsgrad else s["v"]
        return w - lr * (s["m"] / (1 - betas[0] ** t)) / (np.sqrt(v / (1 - betas[1] ** t)) + eps)

    return step


def adamw(lr=1e-3, weight_decay=1e-2, **options):
    return adam(lr=lr, weight_decay=weight_decay, decoupled=True, **options)


def nadam(lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, momentum_decay=4e-3, decoupled_weight_decay=False):
    """Dozat 2016."""

    def step(w, g, t, s):
        if decoupled_weight_decay:
            w = w * (1 - lr * weight_decay)
        else:
            g = g + weight_decay * w
        mu, following = (betas[0] * (1 - 0.5 * 0.96 ** (k * momentum_decay)) for k in (t, t + 1))
        s["product"] = s.get("product", 1.0) * mu
        s["m"] = betas[0] * s.get("m", 0.0) + (1 - betas[0]) * g
        s["v"] = betas[1] * s.get("v", 0.0) + (1 - betas[1]) * g * g
        m = following * s["m"] / (1 - s["product"] * following) + (1 - mu) * g / (1 - s["product"])
        return w - lr * m / (np.sqrt(s["v"] / (1 - betas[1] ** t)) + eps)

    return step


def radam(lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, decoupled_weight_decay=False):
    """Liu et al. 2020."""

    def step(w, g, t, s):
        if decoupled_weight_decay:
            w = w * (1 - lr * weight_decay)
        else:
            g = g + weight_decay * w
        s["m"] = betas[0] * s.get("m", 0.0) + (1 - betas[0]) * g
        s["v"] = betas[1] * s.get("v", 0.0) + (1 - betas[1]) * g * g
        m = s["m"] / (1 - betas[0] ** t)
        longest = 2 / (1 - betas[1]) - 1
        length = longest - 2 * t * betas[1] ** t / (1 - betas[1] ** t)
        if length <= 5:  # the variance is not tractable yet
            return w - lr * m
        rectified = np.sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length))
        return w - lr * m * rectified * np.sqrt(1 - betas[1] ** t) / (np.sqrt(s["v"]) + eps)

    return step


def adamax(lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    """Kingma and Ba 2015, section 7."""

    def step(w, g, t, s):
        g = g + weight_decay * w
        s["m"] = betas[0] * s.get("m", 0.0) + (1 - betas[0]) * g
        s["u"] = np.maximum(betas[1] * s.get("u", 0.0), np.abs(g) + eps)
        return w - lr / (1 - betas[0] ** t) * s["m"] / s["u"]

    return step


def adagrad(lr=1e-2, lr_decay=0.0, weight_decay=0.0, initial_accumulator_value=0.0, eps=1e-10):
    """Duchi, Hazan and Singer 2011."""

    def step(w, g, t, s):
        g = g + weight_decay * w
        s["sum"] = s.get("sum", initial_accumulator_value) + g * g
        return w - lr / (1 + (t - 1) * lr_decay) * g / (np.sqrt(s["sum"]) + eps)

    return step


def adadelta(lr=1.0, rho=0.9, eps=1e-6, weight_decay=0.0):
    """Zeiler 2012."""

    def step(w, g, t, s):
        g = g + weight_decay * w
        s["squares"] = rho * s.get("squares", 0.0) + (1 - rho) * g * g
        change = np.sqrt(s.get("changes", 0.0) + eps) / np.sqrt(s["squares"] + eps) * g
        s["changes"] = rho * s.get("changes", 0.0) + (1 - rho) * change * change
        return w - lr * change

    return step


def rmsprop(lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False):
    """Tieleman and Hinton 2012; Graves 2013 where it is centered."""

    def step(w, g, t, s):
        g = g + weight_decay * w
        s["squares"] = alpha * s.get("squares", 0.0) + (1 - alpha) * g * g
        s["mean"] = alpha * s.get("mean", 0.0) + (1 - alpha) * g
        change = g / (np.sqrt(s["squares"] - (s["mean"] ** 2 if centered else 0.0)) + eps)
        s["v"] = momentum * s.get("v", 0.0) + change
        return w - lr * s["v"]

    return step


def rprop(lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50.0)):
    """Riedmiller and Braun 1993, without backtracking."""

    def step(w, g, t, s):
        agreement = np.sign(g * s.get("g", 0.0))
        factor = np.where(agreement > 0, etas[1], np.where(agreement < 0, etas[0], 1.0))
        s["size"] = np.clip(s.get("size", lr) * factor, *step_sizes)
        s["g"] = np.where(agreement < 0, 0.0, g)
        return w - np.sign(s["g"]) * s["size"]

    return step


def asgd(lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0.0):
    """Polyak and Juditsky 1992. The average is kept in s["average"]."""

    def step(w, g, t, s):
        g = g + weight_decay * w
        eta, mu = s.get("eta", lr), s.get("mu", 1.0)
        w = w * (1 - lambd * eta) - eta * g
        s["average"] = w if mu == 1 else s["average"] + mu * (w - s["average"])
        s["eta"], s["mu"] = lr / (1 + lambd * lr * t) ** alpha, 1 / max(1.0, t - t0)
        return w

    return step


def adafactor(lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, precision=2.0**-52):
    """Shazeer and Stern 2018. `precision` is the smallest step of the dtype, the first epsilon where none is given."""
    root_mean_square = lambda x: np.sqrt(np.mean(x * x))
    smallest = precision if eps[0] is None else eps[0]

    def step(w, g, t, s):
        keep = 1 - t**beta2_decay
        size = max(eps[1], root_mean_square(w)) * min(lr, 1 / np.sqrt(t))
        w = w * (1 - lr * weight_decay)
        if g.ndim > 1:
            s["rows"] = keep * s.get("rows", 0.0) + (1 - keep) * np.mean(g * g, -1, keepdims=True)
            s["columns"] = keep * s.get("columns", 0.0) + (1 - keep) * np.mean(g * g, -2, keepdims=True)
            v = s["rows"] @ s["columns"] / np.maximum(np.mean(s["rows"], -2, keepdims=True), smallest)
        else:
            v = s["v"] = keep * s.get("v", 0.0) + (1 - keep) * g * g
        update = g / np.sqrt(np.maximum(v, smallest**2))
        return w - size * update / max(1.0, root_mean_square(update) / d)

    return step


def muon(lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True, ns_coefficients=(3.4445, -4.775, 2.0315), eps=1e-7, ns_steps=5, adjust_lr_fn=None):
    """Jordan et al. 2024: the momentum, made nearly orthogonal by Newton and Schulz."""
    a, b, c = ns_coefficients

    def step(w, g, t, s):
        s["v"] = momentum * s.get("v", 0.0) + (1 - momentum) * g
        x = (1 - momentum) * g + momentum * s["v"] if nesterov else s["v"]
        turned = x.shape[0] > x.shape[1]
        x = x.T if turned else x
        x = x / max(np.linalg.norm(x), eps)
        for _ in range(ns_steps):
            gram = x @ x.T
            x = a * x + (b * gram + c * gram @ gram) @ x
        rows, columns = w.shape
        scale = 0.2 * np.sqrt(max(rows, columns)) if adjust_lr_fn == "match_rms_adamw" else np.sqrt(max(1.0, rows / columns))
        return w * (1 - lr * weight_decay) - lr * scale * (x.T if turned else x)

    return step


def lbfgs(f, w, lr=1.0, iterations=20, history=100, tolerance_grad=1e-7, tolerance_change=1e-9):
    """Nocedal and Wright, algorithm 7.5, with a fixed step; f gives the value and the gradient. Returns w and the number of evaluations."""
    pairs, (value, g), evaluations = [], f(w), 1
    for k in range(1, iterations + 1):
        q, coefficients = g.copy(), []
        for s, y in reversed(pairs):
            coefficients.append(s @ q / (y @ s))
            q -= coefficients[-1] * y
        if pairs:
            q *= (pairs[-1][0] @ pairs[-1][1]) / (pairs[-1][1] @ pairs[-1][1])
        for (s, y), coefficient in zip(pairs, reversed(coefficients), strict=True):
            q += s * (coefficient - y @ q / (y @ s))
        size = lr * min(1.0, 1 / np.abs(g).sum()) if k == 1 else lr
        if g @ -q > -tolerance_change:
            break
        moved = -size * q
        w = w + moved
        if k == iterations:  # there is no next direction to evaluate for
            break
        before, old = g, value
        value, g = f(w)
        evaluations += 1
        if np.abs(g).max() <= tolerance_grad or np.abs(moved).max() <= tolerance_change or abs(value - old) < tolerance_change:
            break
        if (g - before) @ moved > 1e-10:
            pairs = [*pairs, (moved, g - before)][-history:]
    return w, evaluations
