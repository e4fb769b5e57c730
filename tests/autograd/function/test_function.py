"""Custom Functions: calling them, what forward and backward see and may return, second derivatives, old classes."""

from __future__ import annotations

import warnings

import pytest
from custom_functions import define, exp_function

import undertow as ut
from undertow.autograd import Function, gradcheck, gradgradcheck
from undertow.autograd.function import BackwardCFunction, FunctionCtx, FunctionMeta, once_differentiable


def leaf(*values: float) -> ut.Tensor:
    return ut.tensor(values or (1.0, 2.0), dtype=ut.float64, requires_grad=True)


class Product(Function):
    """x * y, saving both."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y, grad * x


Exp = exp_function(ut)


# ---- derivatives ----


@pytest.mark.parametrize("f, count", [(Product, 2), (Exp, 1)])
def test_first_and_second_derivatives_are_right(f, count):
    inputs = tuple(ut.rand(3, dtype=ut.float64, requires_grad=True) for _ in range(count))
    assert gradcheck(f.apply, inputs)
    assert gradgradcheck(f.apply, inputs)


def test_third_derivatives_go_through_a_saved_output():
    x = leaf(0.5)
    y = Exp.apply(x)
    for _ in range(3):
        (y,) = ut.autograd.grad(y.sum(), x, create_graph=True)
    assert y.item() == pytest.approx(x.exp().item())


def test_the_same_tensor_twice_gets_the_sum():
    x = leaf(3.0)
    Product.apply(x, x).backward()
    assert x.grad.item() == 6.0


def test_a_float64_gradient_of_a_float32_input_is_cast():
    x = ut.ones(2, requires_grad=True)
    define(lambda ctx, a: a * 2, lambda ctx, g: g.double() * 2).apply(x).sum().backward()
    assert x.grad.dtype is ut.float32


def test_a_broadcast_gradient_is_summed_to_its_input():
    x = leaf()
    define(lambda ctx, a: a.expand(3, 2), lambda ctx, g: g).apply(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_sixty_arguments_and_as_many_results():
    leaves = [leaf(float(i)) for i in range(60)]
    f = define(lambda ctx, *args: tuple(a * i for i, a in enumerate(args)), lambda ctx, *grads: tuple(g * i for i, g in enumerate(grads)))
    out = f.apply(*leaves)
    sum(o.sum() for o in out).backward()
    assert [x.grad.item() for x in leaves] == [float(i) for i in range(60)]
    assert out[59].output_nr == 59


def test_the_three_hundredth_result_saved_differentiates_again():
    x = leaf(2.0)

    def forward(ctx, a):
        results = tuple(a * i for i in range(300)) + (a.exp(),)
        ctx.save_for_backward(results[-1])
        return results

    def backward(ctx, *grads):
        return sum(g * i for i, g in enumerate(grads[:-1])) + grads[-1] * ctx.saved_tensors[0]

    y = define(forward, backward).apply(x)[-1]
    (g,) = ut.autograd.grad(y, x, create_graph=True)
    (h,) = ut.autograd.grad(g, x)
    assert h.item() == pytest.approx(x.exp().item())


# ---- needs_input_grad ----


def wanted(run) -> list[tuple[bool, ...]]:
    """ctx.needs_input_grad in the backward that `run(apply, x, y)` starts."""
    seen = []

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        return g, None, g

    run(define(lambda ctx, a, k, b: a * b, backward).apply, leaf(), leaf())
    return seen


def test_needs_input_grad_reflects_the_inputs_of_grad():
    assert wanted(lambda f, x, y: ut.autograd.grad(f(x, 3, y).sum(), x)) == [(True, False, False)]
    assert wanted(lambda f, x, y: ut.autograd.grad(f(x, 3, y).sum(), y)) == [(False, False, True)]
    assert wanted(lambda f, x, y: ut.autograd.grad(f(x, 3, y).sum(), [x, y])) == [(True, False, True)]


def test_needs_input_grad_reflects_the_inputs_of_backward():
    assert wanted(lambda f, x, y: f(x, 3, y).sum().backward(inputs=[y])) == [(False, False, True)]
    assert wanted(lambda f, x, y: f(x, 3, y).sum().backward()) == [(True, False, True)]


def test_needs_input_grad_sees_through_the_nodes_below():
    def run(f, x, y):
        z = x * 2
        ut.autograd.grad(f(z, 3, y * 2).sum(), x)

    assert wanted(run) == [(True, False, False)]


def test_needs_input_grad_is_right_after_a_write_through_a_view():
    seen = []

    def forward(ctx, a, b):
        ctx.mark_dirty(a)
        return a.mul_(b)

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        return g, g

    x, w = leaf(1.0, 2.0, 3.0), leaf(5.0)
    for inputs in ([x], [w], [x, w]):
        z = x * 1
        define(forward, backward).apply(z[:1], w)
        ut.autograd.grad(z.sum(), inputs)
    assert seen == [(True, False), (False, True), (True, True)]


def test_after_the_pass_needs_input_grad_reflects_requires_grad():
    x, y = leaf(), leaf()
    z = Product.apply(x, y)
    ut.autograd.grad(z.sum(), x)
    assert z.grad_fn.needs_input_grad == (True, True)


def test_needs_input_grad_can_be_replaced():
    def forward(ctx, a):
        ctx.needs_input_grad = (False,)
        return a * 1

    assert define(forward).apply(leaf()).grad_fn.needs_input_grad == (False,)


# ---- errors ----


@pytest.mark.parametrize(
    "backward, message",
    [
        (lambda ctx, g: g, r"function FBackward returned an incorrect number of gradients \(expected 2, got 1\)"),
        (lambda ctx, g: (g, g, g), r"function FBackward returned an incorrect number of gradients \(expected 2, got 3\)"),
        (lambda ctx, g: ("text", g), r"expected Variable or None \(got str\) as gradient 1 of FBackward"),
        (lambda ctx, g: (g.reshape(2, 1), g), r"Function FBackward returned an invalid gradient at index 0"),
    ],
)
def test_errors_about_wrong_gradients_name_the_function(backward, message):
    with pytest.raises(RuntimeError, match=message):
        define(lambda ctx, a, b: a * b, backward).apply(leaf(), leaf()).sum().backward()


def test_a_failed_pass_leaves_the_graph_usable():
    fail = [True]

    def backward(ctx, g):
        if fail.pop():
            raise ZeroDivisionError
        return g * ctx.saved_tensors[0]

    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * a

    x = leaf()
    y = define(forward, backward).apply(x).sum()
    with pytest.raises(ZeroDivisionError):
        y.backward()
    fail.append(False)
    y.backward()
    assert x.grad.tolist() == [1.0, 2.0]


def test_an_exception_in_forward_leaves_no_trace():
    def forward(ctx, a):
        ctx.save_for_backward(a)
        raise KeyError("here")

    x = leaf()
    with pytest.raises(KeyError, match="here"):
        define(forward).apply(x)
    assert ut.is_grad_enabled()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_freed_function_is_named():
    y = Product.apply(leaf(), leaf()).sum()
    y.backward()
    with pytest.raises(RuntimeError, match=r"Trying to backward through the graph a second time.*ProductBackward"):
        y.backward()


def test_a_written_saved_tensor_is_named_with_its_function():
    x = leaf() * 1
    y = Product.apply(x, leaf()).sum()
    x.add_(1)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*It was saved by ProductBackward"):
        y.backward()


def test_retain_graph_keeps_what_was_saved():
    x = leaf()
    y = Product.apply(x, leaf()).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [2.0, 4.0]


# ---- once_differentiable ----


def test_once_differentiable_raises_for_second_derivatives_of_chosen_inputs_too():
    f = define(lambda ctx, a: a * 2, once_differentiable(lambda ctx, g: g * 2))
    x = leaf()
    (g,) = ut.autograd.grad((f.apply(x) ** 2).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="trying to differentiate twice a function that was marked with @once_differentiable"):
        ut.autograd.grad(g.sum(), x)


def test_once_differentiable_does_not_affect_other_inputs():
    f = define(lambda ctx, a: a * 2, once_differentiable(lambda ctx, g: g * 2))
    x, w = leaf(), leaf()
    (g,) = ut.autograd.grad((f.apply(x) ** 2).sum(), x, create_graph=True)
    (h,) = ut.autograd.grad((g * w).sum(), w)
    assert h.tolist() == g.tolist()


def test_once_differentiable_restores_grad_mode_when_backward_raises():
    def backward(ctx, g):
        raise ZeroDivisionError

    x = leaf()
    with pytest.raises(ZeroDivisionError):
        ut.autograd.grad(define(lambda ctx, a: a * 2, once_differentiable(backward)).apply(x).sum(), x, create_graph=True)
    assert ut.is_grad_enabled()


def test_once_differentiable_keeps_the_functions_name():
    @once_differentiable
    def backward(ctx, g):
        """Documentation."""

    assert backward.__name__ == "backward" and backward.__doc__ == "Documentation."


# ---- classes ----


def test_the_ctx_is_an_instance_of_the_functions_own_backward_class():
    fn = Product.apply(leaf(), leaf()).grad_fn
    assert type(fn) is Product._backward_cls
    assert isinstance(fn, BackwardCFunction) and isinstance(fn, FunctionCtx) and isinstance(fn, ut._C._FunctionBase)
    assert isinstance(fn, ut.autograd.graph.Node)
    assert fn._forward_cls is Product and isinstance(Product, FunctionMeta)
    assert fn.name() == type(fn).__name__ == "ProductBackward"


def test_every_class_has_its_own_number():
    assert Product._backward_cls._autograd_function_id != Exp._backward_cls._autograd_function_id


def test_a_standalone_ctx_records_the_calls_of_forward():
    ctx = FunctionCtx()
    Product.forward(ctx, leaf(), leaf())
    ctx.mark_dirty(1)
    ctx.mark_non_differentiable(2)
    ctx.set_materialize_grads(False)
    assert len(ctx.to_save) == 2 and ctx.dirty_tensors == (1,) and ctx.non_differentiable == (2,) and ctx.materialize_grads is False


def test_a_method_of_any_kind_can_be_forward():
    class F(Function):
        @classmethod
        def forward(cls, ctx, x):
            return x * cls.factor

        @classmethod
        def backward(cls, ctx, g):
            return g * cls.factor

        factor = 3

    x = leaf()
    F.apply(x).sum().backward()
    F.factor = 5
    F.apply(x).sum().backward()
    assert x.grad.tolist() == [8.0, 8.0]


def test_a_change_in_a_base_class_is_seen():
    base = define(lambda ctx, a: a * 2, lambda ctx, g: g * 2)
    derived = type("Derived", (base,), {})
    x = leaf()
    assert derived.apply(x).tolist() == [2.0, 4.0]
    base.forward = staticmethod(lambda ctx, a: a * 3)
    assert derived.apply(x).tolist() == [3.0, 6.0]


def test_apply_may_be_overridden():
    class F(Product):
        @classmethod
        def apply(cls, x):
            return super().apply(x, x)

    assert F.apply(leaf(3.0)).item() == 9.0


def test_vmap_and_generate_vmap_rule_are_kept_as_attributes():
    f = define(lambda a: a, setup_context=lambda ctx, i, o: None, vmap=lambda info, in_dims, a: (a, in_dims[0]), generate_vmap_rule=True)
    assert f.generate_vmap_rule and f.vmap(None, (0,), 5) == (5, 0)
    with pytest.raises(NotImplementedError, match="you must either override the vmap staticmethod or set generate_vmap_rule=True"):
        Product.vmap(None, (0,))


def test_nested_structures_in_old_functions():
    class F(ut.autograd.NestedIOFunction):
        def forward_extended(self, pair, c):
            self.save_for_backward(pair, c)
            self.mark_dirty([pair[0]])
            return [pair[0] * 2, (pair[1] * 3, c * 4)]

        def backward_extended(self, first, rest):
            return (first * 2, rest[0] * 3), None, rest[1] * 4

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f = F()
    first, (second, third) = f((ut.ones(1), ut.ones(2)), ut.ones(3))
    assert first.tolist() == [2.0] and second.tolist() == [3.0] * 2 and third.tolist() == [4.0] * 3
    assert len(f.to_save) == 3 and len(f.dirty_tensors) == 1
    assert [None if g is None else g.tolist() for g in f.backward(ut.ones(1), ut.ones(2), ut.ones(3))] == [[2.0], [3.0] * 2, None, [4.0] * 3]
    with pytest.raises(ValueError, match="Auto nesting doesn't know how to process an input object of type int"):
        f(3)


def test_a_subclass_of_tensor_is_returned_as_it_is():
    class Mine(ut.Tensor):
        pass

    x = ut.ones(2).as_subclass(Mine).requires_grad_()
    y = define(lambda ctx, a: a).apply(x)
    assert type(y) is Mine and y is not x and y.data_ptr() == x.data_ptr()
