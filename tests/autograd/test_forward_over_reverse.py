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


def _hooked(v, calls):
    v.grad_fn  # noqa: B018  # torch crashes if the node of a view is stale when a hook is registered
    v.register_hook(lambda g: (calls.append(1), g * 10)[1])
    return v


# y is the base, v a view of it with a hook that is then written.
HOOKED_WRITES = {
    "by a constant": lambda lib, x, y, v: v.mul_(3),
    "by a tensor": lambda lib, x, y, v: v.mul_(x[1]),
    "by its base": lambda lib, x, y, v: v.mul_(y[1] * 1),
    "a power": lambda lib, x, y, v: v.pow_(3),
    "a copy": lambda lib, x, y, v: v.copy_(x[1]),
    "an item": lambda lib, x, y, v: v.__setitem__(0, x[1, 1]),
    "twice": lambda lib, x, y, v: v.mul_(x[1]).div_(x[0]),
    "through another view": lambda lib, x, y, v: y[0].mul_(x[1]),
    "zeros": lambda lib, x, y, v: v.zero_(),
    "a sum of products": lambda lib, x, y, v: v.addcmul_(x[0], x[1]),
    "where a mask says": lambda lib, x, y, v: v.masked_fill_(lib.tensor([True, False]), 2.0),
}


@pytest.mark.parametrize("order", ["before the write", "after the write"])
@pytest.mark.parametrize("write", HOOKED_WRITES)
def test_a_reverse_pass_is_the_same_in_a_dual_level(same_as_torch, write, order):
    def scenario(lib):
        def outcome(x, tangent_of):
            calls = []
            y = x * 2
            v = _hooked(y[0], calls) if order == "before the write" else y[0]
            HOOKED_WRITES[write](lib, x, y, v)
            if order == "after the write":
                _hooked(v, calls)
            (g,) = lib.autograd.grad((y * y).sum() + v.sum(), x, create_graph=True)
            first = len(calls)
            tangent = tangent_of(g)
            (second,) = lib.autograd.grad((g * g).sum(), x)
            return g, tangent, second, first, len(calls)

        values = lib.tensor([[0.5, 1.5], [2.0, 3.0]], dtype=lib.float64)
        level = lib.autograd.forward_ad
        plain = outcome(values.clone().requires_grad_(), lambda g: None)
        with level.dual_level():
            dual = outcome(level.make_dual(values.clone().requires_grad_(), lib.ones_like(values)), lambda g: level.unpack_dual(g).tangent)
        return plain, dual

    same_as_torch(scenario)


@pytest.mark.parametrize("name", ["exp_", "sigmoid_", "tanh_", "sqrt_", "reciprocal_", "relu_", "square_", "sin_", "neg_"])
@pytest.mark.parametrize("whole", [True, False])
def test_tangents_of_gradients_through_a_write_that_saves_its_result(name, whole):
    def f(x):
        y = x * x + 0.5
        getattr(y if whole else y[1:], name)()
        return (y * y * y).sum()

    x, t = ut.tensor([0.3, -0.5, 0.8], dtype=ut.float64), ut.tensor([1.0, 2.0, -1.0], dtype=ut.float64)
    ut.testing.assert_close(tangent_of_gradient(f, x, t), derivative_of_gradient(f, x, t))


def test_random_numbers_written_to_a_dual_are_drawn_once():
    ut.manual_seed(0)
    expected = ut.rand(3)
    ut.manual_seed(0)
    with forward_ad.dual_level():
        x = forward_ad.make_dual(ut.ones(3), ut.ones(3))
        assert x.uniform_().tolist() == expected.tolist()
        assert forward_ad.unpack_dual(x).tangent.tolist() == [0.0] * 3


def test_a_write_of_a_wider_dtype_to_a_dual_keeps_the_tangents_dtype():
    with forward_ad.dual_level():
        x = ut.ones(2)
        x.mul_(forward_ad.make_dual(ut.full((2,), 2.0, dtype=ut.float64), ut.ones(2, dtype=ut.float64)))
        tangent = forward_ad.unpack_dual(x).tangent
        assert x.dtype == tangent.dtype == ut.float32 and tangent.tolist() == [1.0, 1.0]
