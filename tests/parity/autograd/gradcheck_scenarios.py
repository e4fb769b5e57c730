"""Calls of gradcheck and gradgradcheck that fail or must pass; each takes the library and the switches."""

from __future__ import annotations

from typing import Any


def leaf(L: Any, *shape: int, dtype: str = "float64") -> Any:
    count = 1
    for s in shape:
        count *= s
    x = L.arange(1, count + 1, dtype=L.float64).reshape(shape) / (count + 1)
    if dtype == "complex128":
        x = L.complex(x, x.flip(0) - 0.3) if shape else L.complex(x, x - 0.3)
    return x.to(getattr(L, dtype)).requires_grad_()


def scaled(L: Any, forward: float = 2.0, backward: float = 2.0, tangent: float = 2.0, saves: bool = True) -> Any:
    """x * x with derivatives of our choice: right ones are all 2."""

    class Scaled(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return x * x * (forward / 2)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * backward * (x if saves else x.detach()).conj()

        @staticmethod
        def jvp(ctx, t):
            (x,) = ctx.saved_tensors
            return t * tangent * x

    return Scaled.apply


def right(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(scaled(L), leaf(L, 2, 3), **switches)


def right_complex(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(scaled(L), leaf(L, 2, 3, dtype="complex128"), **switches)


def complex_to_real(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(lambda x: (x.abs(), L.view_as_real(x)), leaf(L, 3, dtype="complex128"), **switches)


def real_to_complex(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(lambda x: L.complex(x.sin(), x.cos()), leaf(L, 3), **switches)


def wrong_backward(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(scaled(L, backward=2.1), leaf(L, 2, 3), **switches)


def wrong_backward_complex(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(scaled(L, backward=2.1), leaf(L, 2, dtype="complex128"), **switches)


def wrong_tangent(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(scaled(L, tangent=2.1), leaf(L, 2, 3), check_forward_ad=True, **switches)


def wrong_tangent_complex(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(scaled(L, tangent=2.1), leaf(L, 2, dtype="complex128"), check_forward_ad=True, **switches)


def wrong_tangent_unseen(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(scaled(L, tangent=2.1), leaf(L, 2, 3), **switches)


def tangent_alone(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(scaled(L, backward=2.1), leaf(L, 2, 3), check_forward_ad=True, check_backward_ad=False, **switches)


def second_of_two(L: Any, **switches: Any) -> Any:
    f = scaled(L, backward=2.1)
    return L.autograd.gradcheck(lambda a, b: (a * b, f(b)), (leaf(L, 2), leaf(L, 2)), **switches)


def not_raised(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(scaled(L, backward=2.1), leaf(L, 2, 3), raise_exception=False, **switches)


def lenient(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(scaled(L, backward=2.0001), leaf(L, 2, 3), rtol=1e-2, **switches)


def other_inputs_are_left_alone(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(lambda x, n, y: x * n + y, (leaf(L, 2), 3, leaf(L, 2).detach()), **switches)


def no_input_requires_grad(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(lambda x: x * 2, leaf(L, 2).detach(), **switches)


def overlapping_input(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(lambda x: x * 2, leaf(L, 1).detach().expand(3).requires_grad_(), **switches)


def flat_without_derivative(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(lambda x: x.detach() * 0, leaf(L, 2), **switches)


def steep_without_derivative(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(lambda x: x.detach() * 2, leaf(L, 2), **switches)


def integer_output(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(lambda x: (x * 2, x.argmax()), leaf(L, 3), **switches)


def empty_input(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(lambda x: x * 2, leaf(L, 0, 3), **switches)


def scalar_input(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(lambda x: x.sin(), leaf(L), **switches)


def transposed_input(L: Any, **switches: Any) -> Any:
    x = leaf(L, 2, 3).detach().t().requires_grad_()
    return L.autograd.gradcheck(lambda x: x.sin(), x, **switches)


def output_is_input(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(lambda x: x, leaf(L, 2), **switches)


def output_is_view(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(lambda x: x.view(-1), leaf(L, 2, 2), **switches)


def unused_input(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(lambda x, y: x * 2, (leaf(L, 2), leaf(L, 3)), **switches)


def _undefined(L: Any, accepts: bool) -> Any:
    class Two(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            if accepts:
                if a is None and b is None:
                    return None
                return (0 if a is None else a * 2) + (0 if b is None else b * 3)
            return a * 2 + b * 3

    return Two.apply


def undefined_accepted(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(_undefined(L, True), leaf(L, 2), **switches)


def undefined_rejected(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(_undefined(L, False), leaf(L, 2), **switches)


def undefined_rejected_unchecked(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(_undefined(L, False), leaf(L, 2), check_undefined_grad=False, **switches)


def undefined_single_output(L: Any, **switches: Any) -> Any:
    class One(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    return L.autograd.gradcheck(One.apply, leaf(L, 2), **switches)


def undefined_gives_ones(L: Any, **switches: Any) -> Any:
    class One(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return L.ones(2, dtype=L.float64) if g is None else g * 2

    return L.autograd.gradcheck(One.apply, leaf(L, 2), **switches)


def ignores_cotangent(L: Any, **switches: Any) -> Any:
    class Sum(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sum()

        @staticmethod
        def backward(ctx, g):
            return L.ones(2, dtype=L.float64)

    return L.autograd.gradcheck(Sum.apply, leaf(L, 2), **switches)


def wanders(L: Any, **switches: Any) -> Any:
    calls = [0]

    class Wanders(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            calls[0] += 1
            return g * (2 + 1e-7 * calls[0])

    return L.autograd.gradcheck(Wanders.apply, leaf(L, 2), **switches)


def wanders_within(L: Any, **switches: Any) -> Any:
    return wanders(L, nondet_tol=1e-3, **switches)


def without_jvp(L: Any, **switches: Any) -> Any:
    class Plain(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    return L.autograd.gradcheck(Plain.apply, leaf(L, 2), check_forward_ad=True, **switches)


def batched(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(lambda x: x.sin() * x, leaf(L, 2, 3), check_batched_grad=True, check_forward_ad=True,
                                check_batched_forward_grad=True, **switches)


def no_direction(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(lambda x: x, leaf(L, 2), check_backward_ad=False, **switches)


def raises_in_forward(L: Any, **switches: Any) -> Any:
    def f(x):
        raise KeyError("mine")

    return L.autograd.gradcheck(f, leaf(L, 2), **switches)


def half_precision(L: Any, **switches: Any) -> Any:
    return L.autograd.gradcheck(lambda x: x * 2, leaf(L, 2, dtype="float32"), eps=1e-2, atol=1e-2, **switches)


def second_right(L: Any, **switches: Any) -> Any:
    return L.autograd.gradgradcheck(scaled(L), leaf(L, 2), **switches)


def second_right_complex(L: Any, **switches: Any) -> Any:
    return L.autograd.gradgradcheck(lambda x: x * x, leaf(L, 2, dtype="complex128"), **switches)


def second_wrong(L: Any, **switches: Any) -> Any:
    return L.autograd.gradgradcheck(scaled(L, saves=False), leaf(L, 2), **switches)


def second_forward_over_reverse(L: Any, **switches: Any) -> Any:
    return L.autograd.gradgradcheck(lambda x: x.sin(), leaf(L, 2), check_fwd_over_rev=True, check_rev_over_rev=False, check_undefined_grad=False,
                                    **switches)


def second_given_cotangents(L: Any, **switches: Any) -> Any:
    return L.autograd.gradgradcheck(lambda x: (x.sin(), x.exp()), leaf(L, 2), (leaf(L, 2), leaf(L, 2)), **switches)


def second_strided_cotangents(L: Any, **switches: Any) -> Any:
    return L.autograd.gradgradcheck(lambda x: x.sin(), leaf(L, 2, 2), gen_non_contig_grad_outputs=True, **switches)


def second_no_direction(L: Any, **switches: Any) -> Any:
    return L.autograd.gradgradcheck(lambda x: x, leaf(L, 2), check_rev_over_rev=False, **switches)


def second_linear(L: Any, **switches: Any) -> Any:
    return L.autograd.gradgradcheck(lambda x: x * 2, leaf(L, 2), **switches)


def second_not_raised(L: Any, **switches: Any) -> Any:
    return L.autograd.gradgradcheck(scaled(L, saves=False), leaf(L, 2), raise_exception=False, **switches)


def _said(check: Any) -> Any:
    """The class of the error and the part of its message that names no library."""
    try:
        return check()
    except Exception as error:
        return type(error).__name__, str(error.args[0]).partition(", but got")[0].partition(" 0 when")[0].rstrip()


def shape_changes(L: Any, **switches: Any) -> Any:
    x = L.ones(1, dtype=L.float64, requires_grad=True)
    return _said(lambda: L.autograd.gradcheck(lambda x: L.cat([x, x]) if L.all(x >= 1) else x, (x,), **switches))


def dtype_changes(L: Any, **switches: Any) -> Any:
    x = L.ones(1, dtype=L.float64, requires_grad=True)
    return _said(lambda: L.autograd.gradcheck(lambda x: x if L.all(x >= 1) else x.float(), (x,), **switches))


def shape_changes_unraised(L: Any, **switches: Any) -> Any:
    """A changing shape is no wrong gradient, so raise_exception does not concern it."""
    x = L.ones(1, dtype=L.float64, requires_grad=True)
    return _said(lambda: L.autograd.gradcheck(lambda x: L.cat([x, x]) if L.all(x >= 1) else x, (x,), raise_exception=False, **switches))


def _counting(L: Any, **more: Any) -> Any:
    """The number of calls of a jvp with two inputs."""
    calls = []

    class Sum(L.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def jvp(ctx, x, y):
            calls.append(1)
            return x + y

    x, y = leaf(L, 1), leaf(L, 1)
    return L.autograd.gradcheck(Sum.apply, (x, y), check_forward_ad=True, check_backward_ad=False, **more), len(calls)


def runs_of_forward_mode(L: Any, **switches: Any) -> Any:
    return _counting(L, **switches)


def runs_of_forward_mode_without_undefined(L: Any, **switches: Any) -> Any:
    return _counting(L, check_undefined_grad=False, **switches)


def runs_of_batched_forward_mode(L: Any, **switches: Any) -> Any:
    return _counting(L, check_batched_forward_grad=True, **switches)


def inputs_of_forward_mode(L: Any, **switches: Any) -> Any:
    """Every differentiable input is a dual that does not require grad."""
    seen, F = set(), L.autograd.forward_ad

    def f(x, y):
        if F._current_level >= 0:
            seen.add((x.requires_grad, y.requires_grad, F.unpack_dual(x).tangent is None, F.unpack_dual(y).tangent is None))
        return x * y

    L.autograd.gradcheck(f, (leaf(L, 1), leaf(L, 1)), check_forward_ad=True, check_undefined_grad=False, **switches)
    return sorted(seen)


def undefined_tangent(L: Any, **switches: Any) -> Any:
    """A jvp that takes a missing tangent for ones."""

    class Wrong(L.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.set_materialize_grads(False)
            return x + y

        @staticmethod
        def jvp(ctx, x, y):
            return (1.0 if x is None else x) + (1.0 if y is None else y)

    inputs = leaf(L, 2), leaf(L, 2)
    return _said(lambda: L.autograd.gradcheck(Wrong.apply, inputs, check_forward_ad=True, check_backward_ad=False, **switches))


def tolerance_of_complex_inputs(L: Any, **switches: Any) -> Any:
    """A gradient that is wrong by a little less than atol in every element."""

    class Near(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g * (1 + 0.9e-5)

    return L.autograd.gradcheck(Near.apply, (leaf(L, 3, 2, dtype="complex128"),), rtol=0, **switches)


def node_hook_that_needs_gradients(L: Any, **switches: Any) -> Any:
    def f(x):
        def hook(gradients):
            if gradients[0] is None:
                raise RuntimeError("a gradient is undefined")

        y = x.clone()
        y.grad_fn.register_prehook(hook)
        return y

    return L.autograd.gradcheck(f, (leaf(L, 1),), **switches)


SCENARIOS = {name: f for name, f in list(globals().items()) if callable(f) and not name.startswith("_") and name not in ("leaf", "scaled", "Any")}
