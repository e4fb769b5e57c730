"""Custom Functions that write to their inputs or return views, and what they save."""

from __future__ import annotations

import pytest
from custom_functions import define
from test_function import leaf

import undertow as ut


def doubled(position: int, count: int, views: bool = False):
    """A function of `count` arguments that doubles one of them in place and adds the others to it."""

    def forward(ctx, *args):
        target = args[position]
        ctx.mark_dirty(target)
        target.mul_(2)
        for i, a in enumerate(args):
            if i != position:
                target.add_(a)
        return target

    return define(forward, lambda ctx, g: tuple(g * 2 if i == position else g for i in range(count)))


@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_view_at_any_position_may_be_written(position):
    base = leaf(1.0, 2.0, 3.0, 4.0)
    others = [leaf(), leaf()]
    z = base * 1
    args = list(others)
    args.insert(position, z[1:3])
    doubled(position, 3).apply(*args)
    (z * ut.tensor([1.0, 10.0, 100.0, 1000.0], dtype=ut.float64)).sum().backward()
    assert z.tolist() == [1.0, 6.0, 10.0, 4.0]
    assert base.grad.tolist() == [1.0, 20.0, 200.0, 1000.0]
    assert all(o.grad.tolist() == [10.0, 100.0] for o in others)


def test_a_written_view_differentiates_again():
    def forward(ctx, a, b):
        ctx.save_for_backward(a.clone(), b)
        ctx.mark_dirty(a)
        return a.mul_(b)

    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b, g * a

    x, w = leaf(1.0, 2.0, 3.0), leaf(5.0, 7.0)
    z = x * 1
    define(forward, backward).apply(z[:2], w)
    (g,) = ut.autograd.grad((z * z).sum(), x, create_graph=True)
    (h,) = ut.autograd.grad(g.sum(), x)
    assert g.tolist() == [50.0, 196.0, 6.0]
    assert h.tolist() == [50.0, 98.0, 2.0]


def test_a_view_that_was_overwritten_gets_no_gradient():
    def forward(ctx, a, b):
        ctx.mark_dirty(a)
        return a.copy_(b)

    x, w = leaf(1.0, 2.0, 3.0), leaf(5.0, 7.0)
    z = x * 1
    define(forward, lambda ctx, g: (None, g)).apply(z[:2], w)
    (z * z).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 6.0]
    assert w.grad.tolist() == [10.0, 14.0]


def test_a_written_input_loses_its_old_gradient():
    x = leaf()
    buffer = ut.zeros(2, dtype=ut.float64)
    buffer.grad = ut.ones(2, dtype=ut.float64)

    def forward(ctx, b, a):
        ctx.mark_dirty(b)
        return b.add_(a)

    define(forward, lambda ctx, g: (None, g)).apply(buffer, x)
    assert buffer.requires_grad and not buffer.is_leaf
    assert buffer._version == 2
    with pytest.warns(UserWarning, match="not a leaf Tensor"):
        assert buffer.grad is None


def test_retained_gradients_are_those_of_the_written_value():
    x = leaf()
    z = x * 3
    z.retain_grad()
    doubled(0, 1).apply(z)
    (z * 10).sum().backward()
    assert z.grad.tolist() == [10.0, 10.0]
    assert x.grad.tolist() == [60.0, 60.0]


def test_a_written_input_that_is_saved_is_an_output():
    def forward(ctx, a):
        ctx.mark_dirty(a)
        a.exp_()
        ctx.save_for_backward(a)
        return a

    x = leaf()
    z = x * 1
    y = define(forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(z)
    (g,) = ut.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = ut.autograd.grad(g.sum(), x)
    assert h.tolist() == pytest.approx(x.exp().tolist())


def test_a_result_without_derivative_may_be_saved():
    def forward(ctx, a):
        sign = a.sign()
        ctx.mark_non_differentiable(sign)
        ctx.save_for_backward(sign)
        return a.abs(), sign

    x = leaf(-1.0, 2.0)
    y, sign = define(forward, lambda ctx, g, _: g * ctx.saved_tensors[0]).apply(x)
    assert not sign.requires_grad and y.grad_fn.saved_tensors[0] is sign
    (g,) = ut.autograd.grad((y * y).sum(), x, create_graph=True)
    (h,) = ut.autograd.grad(g.sum(), x)
    assert h.tolist() == [2.0, 2.0]


def test_an_output_is_saved_without_a_ring():
    def forward(ctx, a):
        y = a.exp()
        ctx.save_for_backward(y)
        return y

    import gc
    import weakref

    gc.disable()
    try:
        fn = define(forward).apply(leaf()).grad_fn
        gone = weakref.ref(fn)
        del fn
        assert gone() is None
    finally:
        gc.enable()


def test_a_version_counter_is_bumped_once_for_each_mark():
    def forward(ctx, a):
        ctx.mark_dirty(a)
        return a

    z = leaf() * 1
    define(forward).apply(z)
    assert z._version == 1


def test_a_saved_intermediate_does_not_keep_the_result():
    def forward(ctx, a):
        ctx.save_for_backward(a * 2)
        return a * 3

    y = define(forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(leaf())
    assert y.grad_fn.saved_tensors[0].tolist() == [2.0, 4.0] and not y.grad_fn.saved_tensors[0].requires_grad


def test_saving_an_inference_tensor_raises():
    with ut.inference_mode():
        t = ut.ones(2)

    def forward(ctx, a):
        ctx.save_for_backward(t)
        return a * 1

    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        define(forward).apply(leaf())


def test_saved_tensors_are_packed_when_forward_has_returned():
    log = []

    def forward(ctx, a):
        ctx.save_for_backward(a)
        log.append("forward")
        return a * 1

    with ut.autograd.graph.saved_tensors_hooks(lambda t: log.append("pack") or t, lambda t: t):
        define(forward).apply(leaf())
    assert log == ["forward", "pack"]


def intermediate():
    def forward(ctx, a):
        b = a.exp()
        ctx.save_for_backward(a, b)
        return b * 1

    return define(forward, lambda ctx, g: g * ctx.saved_tensors[1])


def test_a_second_derivative_that_would_lose_a_term_raises():
    x = leaf()
    (g,) = ut.autograd.grad(intermediate().apply(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="FBackward is being differentiated again with respect to the tensor that it saved as number 1, which is neither"):
        ut.autograd.grad(g.sum(), x)
    (g,) = ut.autograd.grad(intermediate().apply(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="would be lost"):
        g.sum().backward()


def test_a_first_derivative_with_create_graph_accepts_an_intermediate():
    x = leaf()
    (g,) = ut.autograd.grad(intermediate().apply(x).sum(), x, create_graph=True)
    assert ut.allclose(g, x.exp())
    (h,) = ut.autograd.grad((intermediate().apply(x) * x).sum(), x)
    assert ut.allclose(h, (x + 1) * x.exp())


@pytest.mark.parametrize("compute", [
    lambda a: (a > 0).to(a.dtype), lambda a: a.sign(), lambda a: a.detach() * 2, lambda a: ut.rand_like(a), lambda a: ut.ones(a.shape, dtype=a.dtype),
])
def test_a_saved_constant_is_one_in_second_derivatives(compute):
    def forward(ctx, a):
        b = compute(a)
        ctx.save_for_backward(a, b)
        return a * a * b

    f = define(forward, lambda ctx, g: 2 * g * ctx.saved_tensors[0] * ctx.saved_tensors[1])
    x = leaf(-3.0, 0.5)
    y = f.apply(x)
    b = y.grad_fn.saved_tensors[1].clone()
    (g,) = ut.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = ut.autograd.grad(g.sum(), x)
    assert ut.equal(g, 2 * x * b)
    assert ut.equal(h, 2 * b)


def test_an_intermediate_written_in_place_counts_too():
    def forward(ctx, a):
        b = ut.zeros(a.shape, dtype=a.dtype)
        b.add_(a.exp())
        ctx.save_for_backward(b)
        return b * 1

    x = leaf()
    (g,) = ut.autograd.grad(define(forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="would be lost"):
        ut.autograd.grad(g.sum(), x)
