"""Derivatives against finite differences, along random directions.

For f with inputs x and a random cotangent v, the gradient g of <v, f(x)> must satisfy <g, u> = <v, f'(x) u> for every
direction u; the right side is a central difference. <a, b> is the real part of sum(conj(a) * b), which is torch's
convention for complex gradients. Each input is moved alone and then all together, so that errors cannot cancel.
"""

from __future__ import annotations

import numpy as np
from samples import to_numpy, to_tensor

import undertow as ut

STEP = 1e-6


def flatten(outputs) -> list[ut.Tensor]:
    if isinstance(outputs, ut.Tensor):
        return [outputs]
    if isinstance(outputs, (list, tuple)):
        return [t for o in outputs for t in flatten(o)]
    return []


def inner(a: list[np.ndarray], b: list[np.ndarray]) -> float:
    return float(sum(np.real(np.sum(np.conj(x) * y)) for x, y in zip(a, b, strict=True)))


def random_like(arrays: list[np.ndarray], rng: np.random.Generator) -> list[np.ndarray]:
    made = []
    for a in arrays:
        r = rng.standard_normal(a.shape)
        if np.iscomplexobj(a):
            r = r + 1j * rng.standard_normal(a.shape)
        made.append(np.asarray(r, dtype=a.dtype))
    return made


def differentiable(t: ut.Tensor) -> bool:
    return t.requires_grad


def check_gradient(fn, arrays: list[np.ndarray], rng: np.random.Generator, rtol: float = 2e-5, step: float = STEP) -> int:
    """Compares the gradients of fn(*tensors) with central differences; returns how many outputs were differentiable."""
    inputs = [to_tensor(a).requires_grad_() for a in arrays]
    all_outputs = flatten(fn(*inputs))
    chosen = [i for i, o in enumerate(all_outputs) if differentiable(o)]
    outputs = [all_outputs[i] for i in chosen]
    if not outputs:
        return 0
    cotangents = random_like([to_numpy(o) for o in outputs], rng)
    grads = ut.autograd.grad(outputs, inputs, [to_tensor(c) for c in cotangents], allow_unused=True)
    grads = [np.zeros_like(a) if g is None else to_numpy(g) for g, a in zip(grads, arrays, strict=True)]
    for g, a in zip(grads, arrays, strict=True):
        assert g.shape == a.shape, f"the gradient of an input of shape {a.shape} has shape {g.shape}"
        assert g.dtype == a.dtype, f"the gradient of an input of dtype {a.dtype} has dtype {g.dtype}"

    def value(moved):
        found = flatten(fn(*[to_tensor(m) for m in moved]))
        return [to_numpy(found[i]) for i in chosen]

    directions = random_like(arrays, rng)
    moves = [[k] for k in range(len(arrays))] + ([list(range(len(arrays)))] if len(arrays) > 1 else [])
    for which in moves:
        u = [d if k in which else np.zeros_like(d) for k, d in enumerate(directions)]
        with ut.no_grad():
            above = value([a + step * d for a, d in zip(arrays, u, strict=True)])
            below = value([a - step * d for a, d in zip(arrays, u, strict=True)])
        slope = [(p - m) / (2 * step) for p, m in zip(above, below, strict=True)]
        wanted, got = inner(cotangents, slope), inner(grads, u)
        size = max(1.0, abs(wanted), float(sum(np.sum(np.abs(c * s)) for c, s in zip(cotangents, slope, strict=True))))
        moved = "all inputs" if len(which) > 1 else f"input {which[0]}"
        assert abs(wanted - got) <= rtol * size, f"moving {moved}: the gradient says {got:.9g}, finite differences {wanted:.9g}"
    return len(outputs)


def check_second(fn, arrays: list[np.ndarray], rng: np.random.Generator) -> int:
    """The same for the gradient itself, as a function of the inputs and of the cotangents."""
    with ut.no_grad():
        probe = flatten(fn(*[to_tensor(a) for a in arrays]))
    inputs = [to_tensor(a).requires_grad_() for a in arrays]
    outputs = flatten(fn(*inputs))
    chosen = [i for i, o in enumerate(outputs) if differentiable(o)]
    if not chosen:
        return 0
    cotangents = random_like([to_numpy(probe[i]) for i in chosen], rng)

    def gradient(*tensors):
        x, v = list(tensors[: len(arrays)]), list(tensors[len(arrays) :])
        with ut.enable_grad():
            x = [t if t.requires_grad else t.detach().requires_grad_() for t in x]
            found = flatten(fn(*x))
            return ut.autograd.grad([found[i] for i in chosen], x, v, create_graph=True, materialize_grads=True)

    return check_gradient(gradient, [*arrays, *cotangents], rng, rtol=1e-4, step=1e-5)


def check_tangent(fn, arrays: list[np.ndarray], rng: np.random.Generator) -> int:
    """Forward mode against reverse mode: <v, jvp(u)> = <vjp(v), u>."""
    forward = ut.autograd.forward_ad
    tangents = random_like(arrays, rng)
    with forward.dual_level():
        duals = [forward.make_dual(to_tensor(a), to_tensor(t)) for a, t in zip(arrays, tangents, strict=True)]
        unpacked = [forward.unpack_dual(o) for o in flatten(fn(*duals))]
        pushed = [None if p.tangent is None else to_numpy(p.tangent) for p in unpacked]
    inputs = [to_tensor(a).requires_grad_() for a in arrays]
    outputs = flatten(fn(*inputs))
    checked = 0
    for o, t in zip(outputs, pushed, strict=True):
        if not differentiable(o):
            continue
        (v,) = random_like([to_numpy(o)], rng)
        grads = ut.autograd.grad(o, inputs, to_tensor(v), retain_graph=True, allow_unused=True)
        grads = [np.zeros_like(a) if g is None else to_numpy(g) for g, a in zip(grads, arrays, strict=True)]
        wanted, got = inner(grads, tangents), 0.0 if t is None else inner([v], [t])
        size = max(1.0, abs(wanted), float(sum(np.sum(np.abs(g * u)) for g, u in zip(grads, tangents, strict=True))))
        assert abs(wanted - got) <= 1e-9 * size, f"the tangent says {got:.12g}, the gradient {wanted:.12g}"
        checked += 1
    return checked


def check_mixed(fn, arrays: list[np.ndarray], rng: np.random.Generator) -> int:
    """Forward mode through the backward pass against two backward passes: <w, jvp of the vjp (u)> = <vjp of the vjp (w), u>."""
    forward = ut.autograd.forward_ad
    inputs = [to_tensor(a).requires_grad_() for a in arrays]
    outputs = flatten(fn(*inputs))
    chosen = [i for i, o in enumerate(outputs) if differentiable(o)]
    if not chosen:
        return 0
    cotangents = random_like([to_numpy(outputs[i]) for i in chosen], rng)
    tangents = random_like([*arrays, *cotangents], rng)

    def gradient(x, v, create_graph=True):
        found = flatten(fn(*x))
        return ut.autograd.grad([found[i] for i in chosen], x, v, create_graph=create_graph, materialize_grads=True)

    def tangents_of_gradient(create_graph):
        with forward.dual_level():
            duals = [forward.make_dual(to_tensor(a).requires_grad_(), to_tensor(t)) for a, t in zip([*arrays, *cotangents], tangents, strict=True)]
            unpacked = [forward.unpack_dual(g).tangent for g in gradient(duals[: len(arrays)], duals[len(arrays) :], create_graph)]
        return [np.zeros(w.shape, w.dtype) if t is None else to_numpy(t) for t, w in zip(unpacked, weights, strict=True)]

    given = [to_tensor(v).requires_grad_() for v in cotangents]
    grads = gradient(inputs, given)
    weights = random_like([to_numpy(g) for g in grads], rng)
    kept = [(g, to_tensor(w)) for g, w in zip(grads, weights, strict=True) if g.requires_grad]
    if kept:
        again = ut.autograd.grad([g for g, _ in kept], [*inputs, *given], [w for _, w in kept], materialize_grads=True)
    else:
        again = [ut.zeros_like(t) for t in (*inputs, *given)]
    second = [to_numpy(r) for r in again]
    wanted = inner(second, tangents)
    size = max(1.0, abs(wanted), float(sum(np.sum(np.abs(r * u)) for r, u in zip(second, tangents, strict=True))))
    for create_graph in (True, False):  # formulas may be fused loops if no graph is made
        got = inner(weights, tangents_of_gradient(create_graph))
        text = f"the tangent of the gradient says {got:.12g}, the second backward pass {wanted:.12g}; create_graph={create_graph}"
        assert abs(wanted - got) <= 1e-8 * size, text
    return len(chosen)
