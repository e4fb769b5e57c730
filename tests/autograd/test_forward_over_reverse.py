"""Tangents of gradients: forward mode through the backward pass of what saved its tensors in some other way."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow.autograd import forward_ad
from undertow.autograd.graph import save_on_cpu, saved_tensors_hooks
from undertow.utils.checkpoint import checkpoint


class Exp(ut.autograd.Function):
    @staticmethod
    def forward(x):
        return x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]

    @staticmethod
    def jvp(ctx, t):
        return t * ctx.saved_tensors[0]


FUNCTIONS = {
    "saves its input": lambda x: x.sin() * x,
    "saves its result": lambda x: (x * 0.5).exp() * x.tanh(),
    "writes in place": lambda x: (x * x).sigmoid_() * x.clone().mul_(x),
    "reduces": lambda x: x.norm() * x.logsumexp(0),
    "custom": lambda x: Exp.apply(x) * x,
}


def in_a_checkpoint(f, x):
    return checkpoint(f, x, use_reentrant=False)


def in_two_checkpoints(f, x):
    return checkpoint(lambda t: checkpoint(f, t.sin(), use_reentrant=False).tanh(), x, use_reentrant=False)


def in_packed_form(f, x):
    with saved_tensors_hooks(lambda t: [t.clone()], lambda parts: parts[0]):
        return f(x)


def as_arrays(f, x):
    with saved_tensors_hooks(lambda t: t.numpy(force=True).copy(), ut.from_numpy):
        return f(x)


def on_the_cpu(f, x):
    with save_on_cpu():
        return f(x)


def weights(y):
    return ut.linspace(0.5, 1.5, y.numel(), dtype=y.dtype).reshape(y.shape)


def derivative_of_gradient(f, x, direction):
    """The same by two backward passes; symmetry of second derivatives turns the product around."""
    x = x.clone().requires_grad_()
    y = f(x)
    (g,) = ut.autograd.grad(y, x, weights(y), create_graph=True)
    return ut.autograd.grad(g, x, direction)[0]


def tangent_of_gradient(f, x, direction):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x.clone().requires_grad_(), direction)
        y = f(dual)
        (g,) = ut.autograd.grad(y, dual, weights(y))
        return forward_ad.unpack_dual(g).tangent


X = ut.tensor([0.3, -0.7, 1.1], dtype=ut.float64)
V = ut.tensor([1.0, 0.5, -2.0], dtype=ut.float64)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("saved", [in_a_checkpoint, in_packed_form, as_arrays, on_the_cpu])
def test_saved_tensors_keep_their_tangents(name, saved):
    f = FUNCTIONS[name]
    expected = derivative_of_gradient(f, X, V)
    ut.testing.assert_close(tangent_of_gradient(f, X, V), expected)
    ut.testing.assert_close(tangent_of_gradient(lambda x: saved(f, x), X, V), expected)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nested_checkpoints_keep_tangents(name):
    f = FUNCTIONS[name]
    expected = derivative_of_gradient(lambda x: f(x.sin()).tanh(), X, V)
    ut.testing.assert_close(tangent_of_gradient(lambda x: in_two_checkpoints(f, x), X, V), expected)


def test_hooks_registered_later_keep_the_tangent():
    def f(x):
        y = x.exp()
        y.grad_fn._raw_saved_result.register_hooks(lambda t: t.clone(), lambda t: t)
        return y * x

    ut.testing.assert_close(tangent_of_gradient(f, X, V), derivative_of_gradient(lambda x: x.exp() * x, X, V))


def test_a_packed_tensor_has_no_tangent_after_the_level():
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(X.clone().requires_grad_(), V)
        y = in_packed_form(lambda t: t.exp() * t, dual)
    (g,) = ut.autograd.grad(y.sum(), dual)
    with forward_ad.dual_level():
        assert forward_ad.unpack_dual(g).tangent is None
    ut.testing.assert_close(g, X.exp() * (X + 1))


def test_a_write_after_a_copy_was_saved_leaves_its_tangent_alone():
    def f(x):
        with saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
            y = x.exp()
        y.mul_(y.detach() * 0 + 2)
        return (y * y).sum()

    x, t = ut.tensor([0.3, -0.5], dtype=ut.float64), ut.tensor([1.0, 2.0], dtype=ut.float64)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x.clone().requires_grad_(), t)
        (gradient,) = ut.autograd.grad(f(dual), dual, create_graph=True)
        tangent = forward_ad.unpack_dual(gradient).tangent
    assert ut.allclose(tangent, 16 * (2 * x).exp() * t)  # f is the sum of 4 exp(2 x)
