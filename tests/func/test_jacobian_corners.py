"""Corners of vjp, jvp and Jacobians: complex and integer tensors, one row at a time, forward mode that the caller disabled."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow.autograd import forward_ad


@pytest.mark.parametrize("transform", ["jacrev", "jacfwd", "hessian"])
@pytest.mark.parametrize("case", ["complex to complex", "real to complex"])
def test_jacobians_of_complex_tensors_raise(transform, case, same_as_torch):
    def run(L):
        x = L.tensor([0.5], dtype=L.complex64 if case == "complex to complex" else L.float32)
        return getattr(L.func, transform)(lambda x: (x * 0.5j).conj())(x)

    same_as_torch(run)


@pytest.mark.parametrize("outputs", [lambda x: x.long(), lambda x: (x, x > 0)], ids=["one", "one of two"])
def test_vjp_raises_for_an_output_without_derivatives(outputs, same_as_torch):
    same_as_torch(lambda L: L.func.vjp(outputs, L.ones(2)))


@pytest.mark.parametrize("which", ["primals", "tangents"])
def test_jvp_says_which_argument_is_no_tensor(which, same_as_torch):
    def run(L):
        x = L.ones(2)
        return L.func.jvp(L.sin, *((1.0,), (x,)) if which == "primals" else ((x,), (1.0,)))

    same_as_torch(run)


def test_a_jacobian_of_one_row_at_a_time_may_do_what_vmap_cannot():
    class Counts(ut.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            assert grad.nonzero().shape == (1, 2)
            return grad * 2

    x = ut.arange(4.0).reshape(2, 2)
    found = ut.func.jacrev(Counts.apply, chunk_size=1)(x)
    assert ut.equal(found, 2 * ut.eye(4).reshape(2, 2, 2, 2))
    with pytest.raises(RuntimeError, match="dynamic shape"):
        ut.func.jacrev(Counts.apply, chunk_size=2)(x)


@pytest.mark.parametrize("shape", [(), (0,), (3,)])
@pytest.mark.parametrize("count", [1, 2])
def test_the_size_of_chunks_does_not_change_a_jacobian(shape, count):
    def f(x, y):
        return x.sin() * y.sum(), {"y": y.exp()}

    x, y = ut.full(shape, 0.5), ut.arange(2.0)
    whole, parts = ut.func.jacrev(f, (0, 1))(x, y), ut.func.jacrev(f, (0, 1), chunk_size=count)(x, y)
    for a, b in zip(ut.utils._pytree.tree_leaves(whole), ut.utils._pytree.tree_leaves(parts), strict=True):
        assert a.shape == b.shape and ut.equal(a, b)


def test_jvp_differentiates_where_its_caller_disabled_forward_mode():
    x, t = ut.tensor(0.5), ut.tensor(1.0)
    with forward_ad._set_fwd_grad_enabled(False):
        assert ut.equal(ut.func.jvp(ut.sin, (x,), (t,))[1], x.cos())

    class Sine(ut.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return -ut.func.jvp(ut.cos, (x,), (ut.ones_like(x),))[1]

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * ut.func.jvp(ut.sin, (x,), (ut.ones_like(x),))[1]

    x.requires_grad_()
    y = Sine.apply(x)
    assert ut.equal(y, x.sin())
    assert ut.equal(ut.autograd.grad(y, x)[0], x.cos())
