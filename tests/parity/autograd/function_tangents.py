"""Scenarios of custom Functions in forward mode, for test_function_parity.py."""

from __future__ import annotations

import importlib
from typing import Any

from function_scenarios import about, define

SCENARIOS: dict[str, Any] = {}


def scenario(f: Any) -> Any:
    def told(lib: Any) -> Any:
        fw = importlib.import_module(f"{lib.__name__}.autograd.forward_ad")
        with fw.dual_level():
            return f(lib, fw)

    SCENARIOS[f.__name__] = told
    return f


def dual(lib: Any, fw: Any, requires_grad: bool = False) -> Any:
    x = lib.tensor([1.0, 2.0], dtype=lib.float64, requires_grad=requires_grad)
    return fw.make_dual(x, lib.tensor([5.0, 7.0], dtype=lib.float64))


def tangent(fw: Any, t: Any) -> Any:
    return fw.unpack_dual(t).tangent


def with_jvp(lib: Any, forward: Any, jvp: Any) -> Any:
    return define(lib, forward, jvp=jvp)


@scenario
def a_jvp(lib, fw):
    seen = []

    def forward(ctx, a, k):
        ctx.save_for_forward(a)
        ctx.save_for_backward(a)
        seen.extend([tangent(fw, a), tangent(fw, a * 2), tangent(fw, a.view(2, 1))])
        return a * a * k

    def jvp(ctx, t, k):
        (a,) = ctx.saved_tensors
        seen.extend([tangent(fw, a), k, tangent(fw, a * 2), ctx.needs_input_grad])
        return 2 * a * t * 3

    y = with_jvp(lib, forward, jvp).apply(dual(lib, fw), 3)
    z = with_jvp(lib, forward, jvp).apply(dual(lib, fw, requires_grad=True), 3)
    return [y, tangent(fw, y), seen, about(z), tangent(fw, z), tangent(fw, z).requires_grad, z.grad_fn.saved_for_forward]


@scenario
def a_jvp_that_is_differentiable(lib, fw):
    x = lib.tensor([1.0, 2.0], dtype=lib.float64, requires_grad=True)
    y = with_jvp(lib, lambda ctx, a: (ctx.save_for_forward(a), a**3)[1], lambda ctx, t: 3 * ctx.saved_tensors[0] ** 2 * t).apply(fw.make_dual(x, lib.ones(2, dtype=lib.float64)))
    return lib.autograd.grad(tangent(fw, y).sum(), x)


@scenario
def a_jvp_with_setup_context(lib, fw):
    F = define(lib, lambda a: a**2, setup_context=lambda ctx, i, o: ctx.save_for_forward(i[0], o), jvp=lambda ctx, t: 2 * ctx.saved_tensors[0] * t)
    y = F.apply(dual(lib, fw))
    return [y, tangent(fw, y)]


@scenario
def no_jvp(lib, fw):
    return define(lib, lambda ctx, a: a * 2).apply(dual(lib, fw))


@scenario
def no_tangent_no_jvp(lib, fw):
    return define(lib, lambda ctx, a: a * 2).apply(lib.ones(2))


for name, jvp in {
    "too_many": lambda ctx, t: (t, t),
    "text": lambda ctx, t: "text",
    "another_shape": lambda ctx, t: t.reshape(2, 1),
}.items():

    def bad_tangent(lib, fw, jvp=jvp):
        return with_jvp(lib, lambda ctx, a: a * 1, jvp).apply(dual(lib, fw))

    bad_tangent.__name__ = f"a_jvp_returns_{name}"
    scenario(bad_tangent)


@scenario
def a_tangent_for_integers(lib, fw):
    return with_jvp(lib, lambda ctx, a: a.long(), lambda ctx, t: t).apply(dual(lib, fw))


@scenario
def no_tangent_for_integers(lib, fw):
    y, z = with_jvp(lib, lambda ctx, a: (a.long(), a * 2), lambda ctx, t: (None, t * 2)).apply(dual(lib, fw))
    return [y, tangent(fw, y), z, tangent(fw, z)]


@scenario
def a_tangent_for_a_result_that_is_no_tensor(lib, fw):
    y, n = with_jvp(lib, lambda ctx, a: (a * 1, 3), lambda ctx, t: (t, None)).apply(dual(lib, fw))
    return [tangent(fw, y), n]


@scenario
def tangents_that_are_missing(lib, fw):
    seen = []

    def forward(ctx, a, b, c, materialize):
        ctx.set_materialize_grads(materialize)
        return a * b * c

    F = with_jvp(lib, forward, lambda ctx, *t: seen.append(t) or t[0])
    for materialize in (True, False):
        F.apply(dual(lib, fw), lib.ones(2), lib.ones(2, dtype=lib.int64), materialize)
    return seen


VIEWS = {
    "a_view": (lambda ctx, a: a.view(2, 1), lambda ctx, t: t.view(2, 1)),
    "an_input": (lambda ctx, a: a, lambda ctx, t: t.view_as(t)),
    "a_view_with_a_fresh_tangent": (lambda ctx, a: a.view(2), lambda ctx, t: t * 1),
    "a_view_with_the_tangent_itself": (lambda ctx, a: a.view(2), lambda ctx, t: t),
    "a_view_with_a_view_of_something_else": (lambda ctx, a: a.view(2), lambda ctx, t: (t * 1).view(2)),
    "an_input_with_the_tangent_itself": (lambda ctx, a: a, lambda ctx, t: t),
}
for name, (forward, jvp) in VIEWS.items():

    def returned(lib, fw, forward=forward, jvp=jvp):
        y = with_jvp(lib, forward, jvp).apply(dual(lib, fw))
        return [about(y), tangent(fw, y)]

    returned.__name__ = f"forward_returns_{name}"
    scenario(returned)


def write(ctx, a, *rest):
    ctx.mark_dirty(a)
    return a.mul_(2)


@scenario
def a_dual_written(lib, fw):
    d = dual(lib, fw)
    y = with_jvp(lib, write, lambda ctx, t: t.mul_(2)).apply(d)
    return [y is d, y, tangent(fw, d)]


@scenario
def a_dual_written_with_a_fresh_tangent(lib, fw):
    return with_jvp(lib, write, lambda ctx, t: t * 2).apply(dual(lib, fw))


@scenario
def a_dual_written_with_a_view_of_its_tangent(lib, fw):
    return with_jvp(lib, write, lambda ctx, t: t.mul_(2).view(2)).apply(dual(lib, fw))


@scenario
def a_plain_tensor_written_becomes_dual(lib, fw):
    plain = lib.ones(2, dtype=lib.float64)
    y = with_jvp(lib, write, lambda ctx, t, u: u * 2).apply(plain, dual(lib, fw))
    return [y is plain, tangent(fw, plain)]


@scenario
def a_view_written_makes_its_base_dual(lib, fw):
    base = lib.ones(4, dtype=lib.float64)
    v = base[:2]
    with_jvp(lib, write, lambda ctx, t, u: u * 2).apply(v, dual(lib, fw))
    return [base, tangent(fw, base), tangent(fw, v)]


@scenario
def forward_over_backward(lib, fw):
    def forward(ctx, a):
        ctx.save_for_backward(a)
        ctx.save_for_forward(a)
        return a**3

    F = define(lib, forward, lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2, jvp=lambda ctx, t: 3 * ctx.saved_tensors[0] ** 2 * t)
    x = lib.tensor([1.0, 2.0], dtype=lib.float64, requires_grad=True)
    d = fw.make_dual(x, lib.ones(2, dtype=lib.float64))
    (g,) = lib.autograd.grad(F.apply(d).sum(), d, create_graph=True)
    return [g, tangent(fw, g)]
