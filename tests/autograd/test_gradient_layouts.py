"""Gradients in any memory layout, and second derivatives of writes through views. The operators have properties of their own: tests/ops/checks_layout.py."""

from __future__ import annotations

import gc
import weakref

import pytest
from custom_functions import define

import undertow as ut

D = ut.float64


def numbers(*shape: int) -> ut.Tensor:
    return ut.arange(1, 1 + ut.zeros(shape).numel()).to(D).reshape(shape).div(10)


LAYOUTS = {
    "contiguous": lambda: numbers(3, 4),
    "expanded": lambda: numbers(1, 1).expand(3, 4),
    "expanded_rows": lambda: numbers(1, 4).expand(3, 4),
    "transposed": lambda: numbers(4, 3).t(),
    "strided": lambda: numbers(6, 9)[::2, 1::2],
    "overlapping": lambda: numbers(7).as_strided((3, 4), (1, 1), 1),
    "negated": lambda: ut.complex(numbers(3, 4), numbers(3, 4)).conj().imag,
}


def test_the_diagonal_that_was_filled_has_no_gradient():
    x = numbers(2, 2).requires_grad_()
    y = -x.sin()
    y.fill_diagonal_(0)
    assert y.grad_fn.name() == "FillDiagonalBackward0"
    y.sum().backward()
    assert x.grad.diagonal().tolist() == [0, 0]
    assert x.grad[0, 1] == -x[0, 1].cos()


def test_a_wrapped_diagonal_is_cut_off_as_a_whole():
    x = numbers(7, 2).requires_grad_()
    y = (x * 2).fill_diagonal_(5, wrap=True)
    (g,) = ut.autograd.grad(y, x, ut.ones(7, 2, dtype=D))
    filled = (y == 5).nonzero().tolist()
    assert filled == [[0, 0], [1, 1], [3, 0], [4, 1], [6, 0]]
    assert (g == 0).nonzero().tolist() == filled


def test_fill_diagonal_under_vmap_and_forward_mode():
    x = numbers(3, 2, 2)
    wanted = ut.stack([t.clone().fill_diagonal_(0) for t in x])
    assert ut.func.vmap(lambda t: t.clone().fill_diagonal_(0))(x).equal(wanted)
    grads = ut.func.vmap(ut.func.grad(lambda t: (t * t).fill_diagonal_(0).sum()))(x)
    assert ut.allclose(grads, 2 * wanted)
    value, tangent = ut.func.jvp(lambda t: t.clone().fill_diagonal_(0), (x[0],), (x[1],))
    assert value.equal(wanted[0])
    assert tangent.equal(wanted[1])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_given_gradient_is_never_written_to(layout: str):
    given = LAYOUTS[layout]()
    before, version = given.clone(), given._version
    wanted = given.contiguous().resolve_neg() * 3
    x = ut.zeros(3, 4, dtype=D, requires_grad=True)
    middle = x * 1
    middle.retain_grad()
    (middle + middle.view(3, 4) + middle.t().t()).backward(given)  # three contributions to one node
    for grad in (x.grad, middle.grad):
        assert ut.allclose(grad, wanted)
    x.backward(given)  # and to a leaf that has a gradient
    assert ut.allclose(x.grad, wanted + before)
    x.grad = None
    x.backward(given)
    x.backward(given)
    assert ut.allclose(x.grad, 2 * before)
    assert given.equal(before)
    assert given._version == version


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_custom_function_is_given_the_gradient_and_may_pass_it_on(layout: str):
    class Same(ut.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad.detach()

    given = LAYOUTS[layout]()
    before = given.clone()
    x = ut.zeros(3, 4, dtype=D, requires_grad=True)
    for _ in range(2):
        Same.apply(x).backward(given)
    assert given.equal(before)
    assert ut.allclose(x.grad, 2 * before)


WRITES = {"tanh_": lambda t: t.tanh_(), "exp_": lambda t: t.exp_(), "sigmoid_": lambda t: t.sigmoid_(), "sqrt_": lambda t: t.sqrt_(), "relu_": lambda t: t.relu_(),
          "reciprocal_": lambda t: t.reciprocal_(), "cumprod_": lambda t: t.cumprod_(0)}


def second(x: ut.Tensor, base: ut.Tensor) -> ut.Tensor:
    w = numbers(*base.shape) * 10
    (g,) = ut.autograd.grad((base * w).sum(), x, create_graph=True)
    return ut.autograd.grad((g * numbers(*x.shape)).sum(), x)[0]


@pytest.mark.parametrize("name", WRITES)
def test_second_derivative_of_a_write_through_a_transpose(name: str):
    x = numbers(2, 2).requires_grad_()
    written, copied = x.sin(), x.sin()
    WRITES[name](written.t())
    copied = WRITES[name](copied.t().clone()).t()
    assert ut.allclose(second(x, written), second(x, copied))


def test_second_derivative_beside_known_numbers():
    x = ut.arange(1.0, 5.0).to(D).reshape(2, 2).div(10).requires_grad_()
    w = ut.tensor([[1.0, 2.0], [3.0, 4.0]]).to(D)
    b = x.sin()
    b.t().tanh_()
    (g,) = ut.autograd.grad((b * w).sum(), x, create_graph=True)
    (h,) = ut.autograd.grad((g * w).sum(), x)
    assert ut.allclose(h, ut.tensor([[-0.2939, -2.2130], [-6.7693, -14.0569]]).to(D), atol=1e-4)


def test_second_derivative_of_relu_on_a_view_of_the_same_shape():
    x = ut.ones(3, requires_grad=True)
    t = (x + 1).view_as(x).relu_()
    (g,) = ut.autograd.grad(t.sigmoid().sum(), x, create_graph=True)
    g.sum().backward()
    assert ut.allclose(x.grad, ut.full((3,), -0.0799), atol=1e-3)


def test_a_written_view_keeps_its_second_derivative_when_it_is_gone_and_when_it_is_not():
    found = []
    for keep in (True, False):
        x = numbers(2, 3).requires_grad_()
        b = x.sin()
        v = b.t()[1:]
        v.tanh_()
        if not keep:
            del v
        found.append(second(x, b))
    assert found[0].equal(found[1])


def test_writes_to_several_views_of_one_base():
    def f(x, write):
        b = x * 1
        for part, name in ((b[0], "sin_"), (b.t()[1], "cos_"), (b.view(-1)[2:4], "tanh_")):
            if write:
                getattr(part, name)()
            else:
                part.copy_(getattr(part.clone(), name)())
        return b

    x = numbers(2, 3).requires_grad_()
    assert ut.allclose(second(x, f(x, True)), second(x, f(x, False)))


def test_a_later_write_to_the_base_is_noticed():
    x = numbers(2, 2).requires_grad_()
    b = x.sin()
    b.t().tanh_()
    b.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        b.sum().backward()


def test_saved_tensor_hooks_give_a_written_view_back():
    def f(x):
        b = x.sin()
        b.t().tanh_()
        return b

    x = numbers(2, 3).requires_grad_()
    wanted = second(x, f(x))
    with ut.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone().contiguous(), lambda t: t.clone()):
        b = f(x)
    assert ut.allclose(second(x, b), wanted)


def test_a_custom_function_that_writes_to_a_view_and_saves_it():
    def forward(ctx, x):
        x.exp_()
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    x = numbers(2, 3).requires_grad_()
    b, c = x.sin(), x.sin()
    define(forward, lambda ctx, grad: grad * ctx.saved_tensors[0]).apply(b.t())
    c.t().copy_(c.t().clone().exp())
    assert ut.allclose(second(x, b), second(x, c))


def test_a_second_pass_over_a_written_view_says_that_it_was_freed():
    x = numbers(2, 2).requires_grad_()
    b = x.sin()
    b.t().tanh_()
    loss = b.sum()
    loss.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        loss.backward()


def test_the_graph_of_a_second_derivative_of_a_written_view_is_freed():
    x = numbers(2, 2).requires_grad_()
    b = x.sin()
    b.t().tanh_()
    (g,) = ut.autograd.grad(b.sum(), x, create_graph=True)
    ut.autograd.grad(g.sum(), x, retain_graph=True)
    dead = weakref.ref(b)
    del b, g
    gc.collect()
    assert dead() is None
