"""Writes to tensors that a differentiated function did not get as arguments; what constants are constant for. Also runs on torch."""

from __future__ import annotations

import math

import pytest

import undertow as ut
from undertow.autograd import forward_ad
from undertow.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vjp
from undertow.utils.checkpoint import checkpoint

# torch names an operator with its overload; and an item is written by copy_ there.
UP_TO_THE_OPERATOR = len("During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation (")

WRITES = {
    "add_": lambda lib, c, x: c.add_(x),
    "a number": lambda lib, c, x: c.mul_(2),
    "an item": lambda lib, c, x: c.__setitem__(0, 1.0),
    "a view": lambda lib, c, x: c.view(3, 1).mul_(2),
    "one of several views": lambda lib, c, x: c.unbind()[0].mul_(2),
    "a detached view": lambda lib, c, x: c.detach().mul_(2),
    ".data": lambda lib, c, x: c.data.mul_(2),
    "contiguous, which is itself": lambda lib, c, x: c.contiguous().add_(x),
    "copy_": lambda lib, c, x: c.copy_(x),
    "fill_": lambda lib, c, x: c.fill_(x[0]),
    "random numbers": lambda lib, c, x: c.uniform_(),
    "a shape": lambda lib, c, x: c.unsqueeze_(0),
    "a size": lambda lib, c, x: c.resize_(2),
    "detach_": lambda lib, c, x: c.detach_(),
    "set_": lambda lib, c, x: c.set_(lib.zeros(3)),
    "an activation": lambda lib, c, x: lib.nn.functional.relu(c, inplace=True),
    "an initializer": lambda lib, c, x: lib.nn.init.ones_(c),
    "inside of vmap": lambda lib, c, x: lib.vmap(lambda y: c.mul_(2).sum())(x),
}
TRANSFORMS = {
    "grad": lambda lib, f, x: lib.func.grad(f)(x),
    "vjp": lambda lib, f, x: lib.func.vjp(f, x)[0],
    "jvp": lambda lib, f, x: lib.func.jvp(f, (x,), (x,)),
    "jacrev": lambda lib, f, x: lib.func.jacrev(f)(x),
    "hessian": lambda lib, f, x: lib.func.hessian(f)(x),
}


# vmap, which is a part of a Hessian, has an error of its own for random numbers.
PAIRS = [(t, w) for t in TRANSFORMS for w in WRITES if (t, w) != ("hessian", "random numbers")]


@pytest.mark.parametrize(("transform", "write"), PAIRS)
def test_a_write_to_a_captured_tensor_raises(same_as_torch, transform, write):
    def scenario(lib):
        captured = lib.tensor([1.0, 2.0, 3.0])

        def f(x):
            WRITES[write](lib, captured, x)
            return (captured * x).sum()

        return TRANSFORMS[transform](lib, f, lib.tensor([1.0, 2.0, 3.0]))

    same_as_torch(scenario, characters=UP_TO_THE_OPERATOR)


ALLOWED = {
    "a clone": lambda lib, c, x: c.clone().add_(x),
    "a new tensor": lambda lib, c, x: lib.zeros(3).add_(x),
    "a tensor of data": lambda lib, c, x: lib.tensor([1.0, 2.0, 3.0]).add_(x),
    "a view of a new tensor": lambda lib, c, x: (c + 1).view(3, 1).mul_(2).view(3) * x,
    "an item of a new tensor": lambda lib, c, x: (lambda y: (y.__setitem__(0, x[1]), y)[1])(lib.zeros(3)),
    "the result of another transform": lambda lib, c, x: lib.func.grad(lambda y: y.sin().sum())(x).mul_(2),
    "what vmap has mapped": lambda lib, c, x: lib.vmap(lambda y: y.mul_(2))(x * 1),
    "out=": lambda lib, c, x: lib.add(c, 1, out=c) * x,
    "statistics of batch_norm": lambda lib, c, x: lib.nn.functional.batch_norm(lib.stack([x, x * x + 1]), c, c.clone(), training=True),
    "a new module's parameter": lambda lib, c, x: lib.nn.init.ones_(lib.nn.Linear(3, 3).weight) @ x,
}


@pytest.mark.parametrize("write", ALLOWED)
def test_what_the_function_has_made_can_be_written(same_as_torch, write):
    def scenario(lib):
        captured = lib.tensor([1.0, 2.0, 3.0])

        def f(x):
            return (ALLOWED[write](lib, captured, x) * x).sum()

        return lib.func.grad(f)(lib.tensor([1.0, 2.0, 3.0])), captured

    same_as_torch(scenario)


def test_arguments_that_are_not_differentiated_can_be_written(same_as_torch):
    def scenario(lib):
        def f(x, y, *, z):
            return (x * y["in a container"].mul_(2) * z.add_(1)).sum()

        y, z = lib.ones(3), lib.ones(3)
        return lib.func.grad(f)(lib.ones(3), {"in a container": y}, z=z), y, z

    same_as_torch(scenario)


def test_samples_of_an_argument_can_be_written(same_as_torch):
    def scenario(lib):
        y = lib.ones(2, 3)
        return lib.vmap(lambda w: lib.func.grad(lambda x, v: (x * v.mul_(2)).sum())(lib.ones(3), w))(y), y

    same_as_torch(scenario)


def test_jvp_may_write_its_input(same_as_torch):
    same_as_torch(lambda lib: lib.func.jvp(lambda x: (x.mul_(3) * x).sum(), (lib.tensor([1.0, 2.0]),), (lib.ones(2),)))


def test_a_tensor_of_an_outer_transform_is_captured_by_the_inner_one(same_as_torch):
    def scenario(lib):
        def f(x):
            y = x * 2
            return lib.func.grad(lambda z: (y.mul_(2) * z).sum())(x).sum()

        return lib.func.grad(f)(lib.ones(3))

    same_as_torch(scenario, characters=UP_TO_THE_OPERATOR)


def test_a_tensor_that_outlived_its_transform_is_captured_by_the_next(same_as_torch):
    def scenario(lib):
        kept = []
        lib.func.grad(lambda x: (kept.append(x * 2), x.sum())[1])(lib.ones(3))
        return lib.func.grad(lambda x: (kept[0].mul_(2) * x).sum())(lib.ones(3))

    same_as_torch(scenario, characters=UP_TO_THE_OPERATOR)


def test_a_hook_that_writes_to_a_captured_tensor_raises(same_as_torch):
    def scenario(lib):
        captured = lib.ones(3)

        def f(x):
            y = x * 2
            y.register_hook(lambda g: captured.mul_(2))
            return y.sum()

        return lib.func.grad(f)(lib.ones(3))

    same_as_torch(scenario, characters=UP_TO_THE_OPERATOR)


def test_counting_batches_in_a_module_that_is_captured_raises(same_as_torch):
    def scenario(lib):
        norm = lib.nn.BatchNorm1d(3)
        return lib.func.grad(lambda x: lib.func.functional_call(norm, dict(norm.named_buffers()), (x,)).sum())(lib.ones(2, 3))

    same_as_torch(scenario, characters=UP_TO_THE_OPERATOR)


def test_the_forward_of_a_custom_function_may_write_to_what_it_captured(same_as_torch):
    def scenario(lib):
        captured = lib.ones(3)

        class Twice(lib.autograd.Function):
            @staticmethod
            def forward(x):
                captured.add_(x)
                return x * 2

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

            @staticmethod
            def backward(ctx, g):
                return g * 2

        return lib.func.grad(lambda x: Twice.apply(x).sum())(lib.ones(3)), captured

    same_as_torch(scenario)


def test_after_a_transform_everything_can_be_written_again():
    captured, x = ut.ones(3), ut.ones(3)
    with pytest.raises(RuntimeError, match="mutate a captured Tensor.*shape is \\[3\\]"):
        grad(lambda t: (captured.mul_(2) * t).sum())(x)
    for transform in (grad, jacrev, jacfwd, hessian):
        transform(lambda t: (captured * t).sum())(x)
    _, pull = vjp(lambda t: captured * t, x)
    jvp(lambda t: captured * t, (x,), (x,))
    pull(x)[0].mul_(2)
    captured.mul_(2)
    assert captured.tolist() == [2.0, 2.0, 2.0]


def test_gradients_that_workers_made_inside_of_a_transform_can_be_written():
    ut.autograd.set_num_workers(2)
    try:
        found = grad(lambda x: grad(lambda y: (y.sin() * y.cos()).sum())(x).mul_(2).sum())(ut.ones(3))
    finally:
        ut.autograd.set_num_workers(1)
    assert found.tolist() == pytest.approx([-4 * math.sin(2)] * 3)


def test_checkpoints_recompute_inside_of_transforms():
    def f(x):
        return checkpoint(lambda y: y.sin().mul_(2), x, use_reentrant=False).sum()

    assert grad(f)(ut.zeros(2)).tolist() == [2.0, 2.0]


def test_buffers_given_as_arguments_are_updated():
    norm = ut.nn.BatchNorm1d(3)
    buffers = {name: b.clone() for name, b in norm.named_buffers()}
    grad(lambda x, b: functional_call(norm, b, (x,)).sum())(ut.ones(2, 3), buffers)
    assert int(buffers["num_batches_tracked"]) == 1 and norm.num_batches_tracked == 0


def test_retain_grad_inside_of_a_transform_raises(same_as_torch):
    def scenario(lib):
        def f(x):
            y = x.sin()
            y.retain_grad()
            return y.sum()

        return lib.func.grad(f)(lib.ones(3))

    same_as_torch(scenario, characters=100)


# ---- what is constant for which transform ----


def test_disabled_forward_mode_makes_constants_for_every_jvp(same_as_torch):
    def scenario(lib):
        def f(x):
            with lib.autograd.forward_ad._set_fwd_grad_enabled(False):
                constant = x**2
            return x**3 - constant

        x, t = lib.tensor(0.5), lib.tensor(1.0)
        once = lib.func.jvp(f, (x,), (t,))
        twice = lib.func.jvp(lambda x: lib.func.jvp(f, (x,), (t,)), (x,), (t,))
        thrice = lib.func.jvp(lambda x: lib.func.jvp(lambda x: lib.func.jvp(f, (x,), (t,)), (x,), (t,)), (x,), (t,))
        return once, twice, thrice, lib.func.grad(lambda x: lib.func.jvp(f, (x,), (t,))[1])(x)

    same_as_torch(scenario)
    assert forward_ad._current_level == -1 and ut.is_grad_enabled() and ut._C._is_fwd_grad_enabled()


def test_the_function_from_a_vjp_in_no_grad_records_where_gradients_are_recorded(same_as_torch):
    def scenario(lib):
        x = lib.tensor(3.0, requires_grad=True)
        with lib.no_grad():
            out, pull = lib.func.vjp(lambda t: t**3, x)
            (constant,) = pull(lib.tensor(1.0))
        (y,) = pull(lib.tensor(1.0))
        return out.requires_grad, constant.requires_grad, y, lib.autograd.grad(y, x)

    same_as_torch(scenario)


def test_results_of_nested_transforms_do_not_require_grad(same_as_torch):
    def scenario(lib):
        def cube(x):
            return x**3

        x, t = lib.tensor(0.5), lib.tensor(1.0)
        jvp, vjp, grad_and_value = lib.func.jvp, lib.func.vjp, lib.func.grad_and_value
        found = [
            jvp(lambda x: jvp(cube, (x,), (t,)), (x,), (t,)),
            jvp(lambda x: jvp(lambda x: jvp(cube, (x,), (t,)), (x,), (t,)), (x,), (t,)),
            jvp(lambda x: vjp(cube, x)[0], (x,), (t,)),
            jvp(lambda x: grad_and_value(cube)(x), (x,), (t,)),
            lib.vmap(lambda x: jvp(lambda x: vjp(cube, x)[0], (x,), (lib.ones_like(x),)))(lib.ones(2)),
        ]
        return found, [t.requires_grad for t in lib.utils._pytree.tree_flatten(found)[0]]

    same_as_torch(scenario)


def test_derivatives_by_outer_tensors_pass_a_jvp_of_a_vjp():
    x, z = ut.tensor(0.5), ut.tensor(2.0, requires_grad=True)
    _, tangent = jvp(lambda x: vjp(lambda y: y**3 * z, x)[0], (x,), (ut.ones(()),))
    assert ut.autograd.grad(tangent, z)[0].item() == pytest.approx(0.75)


def test_no_grad_makes_constants_for_every_transform(same_as_torch):
    def scenario(lib):
        def f(x):
            with lib.no_grad():
                constant = x * x
            return constant * x

        def in_no_grad(x):
            with lib.no_grad():
                return lib.func.grad(lambda y: y**3)(x) * x

        x, grad = lib.tensor(3.0), lib.func.grad
        mixed = lib.func.jvp(grad(f), (x,), (x,)), grad(lambda x: lib.func.jvp(f, (x,), (lib.ones_like(x),))[1])(x)
        return grad(f)(x), grad(grad(f))(x), grad(lambda x: in_no_grad(x) * x)(x), mixed, lib.func.hessian(f)(x), lib.func.jacrev(lib.func.jacrev(f))(x)

    same_as_torch(scenario)


def test_inference_tensors_can_be_primals_and_tangents(same_as_torch):
    def scenario(lib):
        with lib.inference_mode():
            v = lib.tensor([0.3, 0.5]) * 2

        def f(t):
            return (t.exp() * t).sum()

        nested = lib.func.jvp(lambda t: lib.func.jvp(f, (t,), (v,))[1], (v,), (v,))
        return lib.func.jvp(lib.func.grad(f), (v,), (v,)), nested, lib.func.grad(f)(v), lib.func.hessian(f)(v)

    same_as_torch(scenario)


def test_transforms_in_inference_mode_leave_it(same_as_torch):
    def scenario(lib):
        modes = []

        def f(x):
            modes.append([lib.is_inference_mode_enabled(), lib.is_grad_enabled(), x.requires_grad, x.is_inference(), lib.ones(1).is_inference()])
            return (x.sin() * weight).sum()

        weight = lib.tensor(2.0, requires_grad=True)
        with lib.inference_mode():
            x = lib.tensor([0.5, 1.0])
            out, pull = lib.func.vjp(lib.sin, x)
            found = [lib.func.grad(f)(x), *lib.func.jvp(lib.sin, (x,), (x,)), out, *pull(x), lib.func.jacrev(lib.sin)(x)]
            found += [lib.func.hessian(f)(x), lib.func.vmap(lib.func.grad(lambda x: x.sin()))(x), lib.func.grad(f)(lib.ones(2))]
        found.append(pull(lib.ones(2)))
        kinds = [(t.is_inference(), t.requires_grad) for t in lib.utils._pytree.tree_flatten(found)[0]]
        return found, kinds, modes[0]

    same_as_torch(scenario)


def test_inference_mode_has_no_tangents(same_as_torch):
    def scenario(lib):
        level = lib.autograd.forward_ad
        with level.dual_level():
            x = level.make_dual(lib.ones(3), lib.ones(3))
            with lib.inference_mode():
                inside = [level.unpack_dual(t).tangent for t in (x, x * 2, x.view(3, 1))]
                y = x + x
                x.mul_(3)
                with lib.inference_mode(False):
                    again = level.unpack_dual(x * 2).tangent
            return inside, again, [level.unpack_dual(t).tangent for t in (x, y)], level.unpack_dual(x * 2).tangent

    same_as_torch(scenario)
