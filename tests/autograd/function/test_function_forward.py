"""Custom Functions in forward mode."""

from __future__ import annotations

import pytest
from custom_functions import define
from test_function import leaf

import undertow as ut
import undertow.autograd.forward_ad as fw
from undertow.autograd import gradcheck


def cube():
    def forward(ctx, a):
        ctx.save_for_backward(a)
        ctx.save_for_forward(a)
        return a**3

    return define(forward, lambda ctx, g: 3 * g * ctx.saved_tensors[0] ** 2, jvp=lambda ctx, t: 3 * t * ctx.saved_tensors[0] ** 2)


def dual(tangent=(1.0, 10.0)):
    return fw.make_dual(leaf(), ut.tensor(tangent, dtype=ut.float64))


def test_jvp_agrees_with_finite_differences_and_with_backward():
    assert gradcheck(cube().apply, (leaf(0.5, 1.5),), check_forward_ad=True)


def test_operations_inside_forward_see_no_tangents():
    seen = []

    def forward(ctx, a):
        seen.append(fw.unpack_dual(a).tangent)
        seen.append(fw.unpack_dual(a.exp()).tangent)
        a.detach().clone().mul_(a)
        return a * 2

    with fw.dual_level():
        y = define(forward, jvp=lambda ctx, t: t * 2).apply(dual())
        assert fw.unpack_dual(y).tangent.tolist() == [2.0, 20.0]
    assert seen == [None, None]


def test_an_operator_without_forward_mode_may_be_used_inside_forward():
    def forward(ctx, a):
        with pytest.raises(NotImplementedError):
            with fw._set_fwd_grad_enabled(True):
                without_forward_mode(a)
        without_forward_mode(a)
        return a * 2

    with fw.dual_level():
        y = define(forward, jvp=lambda ctx, t: t * 2).apply(dual())
        assert fw.unpack_dual(y).tangent is not None


def without_forward_mode(a):
    """A function without a rule for forward mode."""
    return define(lambda ctx, x: x * 1).apply(a)


def test_forward_mode_can_be_switched_off():
    with fw.dual_level():
        d = dual()
        with fw._set_fwd_grad_enabled(False):
            assert fw.unpack_dual(d * 2).tangent is None
            assert fw.unpack_dual(cube().apply(d)).tangent is None
        assert fw.unpack_dual(d * 2).tangent.tolist() == [2.0, 20.0]


def test_a_tangent_may_be_none_where_a_result_does_not_change():
    with fw.dual_level():
        y, z = define(lambda ctx, a: (a * 2, a * 0), jvp=lambda ctx, t: (t * 2, None)).apply(dual())
        assert fw.unpack_dual(y).tangent.tolist() == [2.0, 20.0]
        assert fw.unpack_dual(z).tangent is None


def test_every_view_of_a_plain_input_gets_its_tangent():
    with fw.dual_level():
        plain = ut.ones(2, dtype=ut.float64)
        f = define(lambda ctx, a, b: (a.view(2), b * 1), jvp=lambda ctx, t, u: (u * 3, u * 1))
        view, other = f.apply(plain, dual())
        assert fw.unpack_dual(view).tangent.tolist() == [3.0, 30.0]
        assert fw.unpack_dual(other).tangent.tolist() == [1.0, 10.0]


def test_what_was_saved_for_jvp_is_gone_afterwards():
    with fw.dual_level():
        fn = cube().apply(dual()).grad_fn
    assert fn.saved_for_forward is None
    assert len(fn.saved_tensors) == 1
