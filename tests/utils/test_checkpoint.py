"""Checkpoints: the same gradients with less memory, and errors that name what differs."""

import functools
import gc
import weakref

import pytest

import undertow as ut
from undertow.utils.checkpoint import (
    CheckpointError,
    GraphExecGroup,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)
from undertow.utils.checkpoint import checkpoint as either_checkpoint

checkpoint = functools.partial(either_checkpoint, use_reentrant=False)


def gradients(f, *inputs):
    return ut.autograd.grad(f(*inputs).sum(), inputs, allow_unused=True)


def leaf(*shape):
    return ut.rand(*shape, requires_grad=True)


def deep(x, y):
    return (x * y).exp().sin() * x.cos()


def test_gradients_are_those_without_a_checkpoint():
    x, y = leaf(4), leaf(4)
    plain = gradients(deep, x, y)
    assert all(ut.equal(a, b) for a, b in zip(plain, gradients(lambda *t: checkpoint(deep, *t), x, y)))


def test_no_intermediate_tensor_is_kept():
    x = leaf(100_000)

    def held(f):
        before = ut._C._memory_stats()["in_use"]
        result = f(x)
        counted = ut._C._memory_stats()["in_use"] - before
        del result
        return counted / x.untyped_storage().nbytes()

    def function(x):
        for _ in range(20):
            x = x.sin()
        return x

    assert held(function) > 19
    assert held(lambda x: checkpoint(function, x)) < 1.5


def test_the_function_runs_once_more_for_each_pass():
    calls = []

    def function(x):
        calls.append(1)
        return x.exp().sin()

    y = checkpoint(function, leaf(3)).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert len(calls) == 3


def test_nested_checkpoints_of_three_levels():
    x = leaf(3)

    def level(n):
        return (lambda t: t.exp().sin()) if n == 0 else (lambda t: checkpoint(level(n - 1), t.cos()) * t)

    assert ut.equal(gradients(level(3), x)[0], gradients(lambda t: checkpoint(level(3), t), x)[0])


def test_random_numbers_are_the_same_again():
    x = leaf(8)

    def function(x):
        return (x * ut.rand(8)).exp()

    ut.manual_seed(3)
    plain = gradients(function, x)[0]
    after = ut.rand(1)
    ut.manual_seed(3)
    assert ut.equal(plain, gradients(lambda t: checkpoint(function, t), x)[0])
    assert ut.equal(after, ut.rand(1))


def test_keyword_arguments_reach_the_function():
    x, w = leaf(3), leaf(3)
    (checkpoint(lambda x, *, w, scale: (x * w).exp() * scale, x, w=w, scale=2).sum()).backward()
    assert ut.allclose(w.grad, (x * (x * w).exp() * 2).detach())


def test_recomputation_stops_at_the_last_tensor_needed():
    reached = []

    def function(x):
        y = x.exp()
        reached.append("end") if reached or y.requires_grad else None
        return y + 1

    checkpoint(function, leaf(2)).sum().backward()
    assert len(reached) == 1
    reached.clear()
    with set_checkpoint_early_stop(False):
        checkpoint(function, leaf(2)).sum().backward()
    assert len(reached) == 2


def test_a_pass_inside_the_function():
    x = leaf(3)

    def function(x):
        y = (x * x).exp()
        (g,) = ut.autograd.grad(y.sum(), x, create_graph=True)
        return g.sin()

    assert ut.allclose(gradients(function, x)[0], gradients(lambda t: checkpoint(function, t), x)[0])


def test_double_backward_through_a_checkpoint():
    x = leaf(3)

    def second(f):
        (g,) = ut.autograd.grad(f(x).sum(), x, create_graph=True)
        return ut.autograd.grad(g.sum(), x)[0]

    function = lambda x: x.exp().sin()
    assert ut.allclose(second(function), second(lambda t: checkpoint(function, t)))


def test_saved_values_can_be_inspected():
    y = checkpoint(lambda x: x.exp().sin(), x := leaf(3))
    assert ut.equal(y.grad_fn._saved_self, x.exp())
    assert ut.equal(y.grad_fn._saved_self, x.exp())


def changing(first, second):
    calls = []

    def function(x):
        calls.append(1)
        return (first if len(calls) == 1 else second)(x)

    return function


def test_an_operation_that_changes_is_named():
    y = checkpoint(changing(lambda x: (x * x).exp(), lambda x: x.exp()), leaf(3))
    with pytest.raises(CheckpointError, match="A different number of tensors was saved") as caught:
        y.sum().backward()
    assert "MulBackward0" in str(caught.value) and "ExpBackward0" in str(caught.value) and __file__ in str(caught.value)


def test_a_shape_that_changes_is_named():
    y = checkpoint(changing(lambda x: x.exp(), lambda x: x[:2].exp()), leaf(3))
    with pytest.raises(CheckpointError, match="different metadata than during the forward pass") as caught:
        y.sum().backward()
    assert "tensor at position 0" in str(caught.value)


def test_the_determinism_check_can_be_left_out():
    y = checkpoint(changing(lambda x: x.sin(), lambda x: x.double().sin()), leaf(3), determinism_check="none")
    y.sum().backward()
    with pytest.raises(ValueError, match="determinism_check should be one of"):
        checkpoint(ut.exp, leaf(2), determinism_check="perhaps")


def test_an_input_changed_in_place_raises():
    x = leaf(3).exp()
    y = checkpoint(lambda x: x.exp().sin(), x)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_sequence_in_segments(reentrant):
    x = leaf(4)
    functions = [ut.exp, ut.sin, ut.cos, ut.tanh, ut.sum]
    y = checkpoint_sequential(functions, 2, x, use_reentrant=reentrant)
    y.backward()
    assert ut.equal(x.grad, gradients(lambda x: x.exp().sin().cos().tanh(), x)[0])
    with pytest.raises(ValueError, match="Unexpected keyword arguments"):
        checkpoint_sequential(functions, 2, x, use_reentrant=reentrant, size=1)


def test_reentrant_only_arguments_are_checked():
    with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
        checkpoint(ut.exp, leaf(2), use_reentrant=True, debug=True)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: size"):
        checkpoint(ut.exp, leaf(2), use_reentrant=True, size=1)


def test_reentrant_gradients_are_the_same():
    x, y = leaf(4), leaf(4)
    plain = gradients(deep, x, y)
    z = checkpoint(deep, x, y, use_reentrant=True)
    assert z.grad_fn.name() == "CheckpointFunctionBackward"
    z.sum().backward()
    assert ut.equal(x.grad, plain[0]) and ut.equal(y.grad, plain[1])


def test_reentrant_checkpoints_raise_for_passes_over_chosen_inputs():
    x = leaf(3)
    with pytest.raises(RuntimeError, match=r"incompatible with .grad\(\) or passing an `inputs` parameter"):
        ut.autograd.grad(checkpoint(ut.exp, x, use_reentrant=True).sum(), x)


def test_reentrant_checkpoints_warn_when_no_input_requires_grad():
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        assert not checkpoint(ut.exp, ut.ones(2), use_reentrant=True).requires_grad


def test_reentrant_checkpoints_a_hundred_deep():
    x = leaf(2)

    def nest(n):
        return ut.sin if n == 0 else (lambda t: checkpoint(nest(n - 1), t, use_reentrant=True) * 1.0)

    checkpoint(nest(100), x, use_reentrant=True).sum().backward()
    assert ut.allclose(x.grad, x.detach().cos())


def test_inspecting_a_saved_value_outside_of_a_pass_keeps_nothing():
    x = ut.randn(3, requires_grad=True)
    y = checkpoint(lambda x: x.exp(), x, use_reentrant=False)
    first = y.grad_fn._saved_result
    alive = weakref.ref(first)
    assert ut.equal(first, x.exp())
    del first
    assert alive() is None
    y.sum().backward()
    assert ut.equal(x.grad, x.exp())


def test_passes_of_one_group_share_a_recomputation():
    runs = []

    def function(x):
        runs.append(1)
        return x.exp(), x.sin()

    x = ut.randn(3, requires_grad=True)
    a, b = checkpoint(function, x, use_reentrant=False, early_stop=False)
    with GraphExecGroup():
        a.sum().backward()
        b.sum().backward()
    assert len(runs) == 2
    assert ut.allclose(x.grad, x.exp() + x.cos())
    with GraphExecGroup(), pytest.raises(RuntimeError, match="cannot be nested"), GraphExecGroup():
        pass


def test_names_of_reentrant_checkpoints_are_public():
    from undertow.utils import checkpoint as module

    assert set(module.__all__) <= set(dir(module))
    x = ut.ones(2, requires_grad=True)
    (y,) = module.detach_variable((x.exp(),))
    assert y.is_leaf and y.requires_grad
    with pytest.warns(UserWarning, match="None of the inputs"):
        module.check_backward_validity([ut.ones(1)])
    assert module.get_device_states(x) == ([], [])


def test_an_input_that_was_detached_in_place_raises():
    x = leaf(3) * 2
    y = checkpoint(ut.exp, x)
    x.detach_()
    with pytest.raises(RuntimeError, match="detached in-place"):
        y.sum().backward()


def test_a_saved_tensor_is_read_once_in_a_pass():
    class Exp(ut.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0] * (ctx.saved_tensors[0] > 0)

    x = leaf(3)
    Exp.apply(x).sum().backward()
    with pytest.raises(CheckpointError, match="already unpacked once. If you are calling ctx.saved_tensors in backward, make sure to do so only once"):
        checkpoint(Exp.apply, x).sum().backward()


def test_second_derivatives_read_a_saved_tensor_in_two_passes():
    x = leaf(3)
    y = checkpoint(lambda x: x.exp().sin(), x).sum()
    (g,) = ut.autograd.grad(y, x, create_graph=True)
    (h,) = ut.autograd.grad(g.sum(), x)
    (plain,) = ut.autograd.grad(ut.autograd.grad(x.exp().sin().sum(), x, create_graph=True)[0].sum(), x)
    assert ut.allclose(h, plain)


@pytest.mark.parametrize(
    "call, name",
    [(lambda x: either_checkpoint(ut.exp, x), "utils.checkpoint"),
     (lambda x: checkpoint_sequential([ut.exp, ut.sum], 2, x), "utils.checkpoint.checkpoint_sequential")],
)
def test_without_a_choice_it_warns_and_is_reentrant(call, name):
    with pytest.warns(UserWarning, match=f"{name}: the use_reentrant parameter should be passed explicitly") as caught:
        y = call(leaf(3))
    assert caught[0].filename == __file__
    node = y.grad_fn
    while "Checkpoint" not in node.name():
        node = node.next_functions[0][0]
    assert node.name() == "CheckpointFunctionBackward"
    with pytest.warns(UserWarning, match="explicitly"), pytest.raises(ValueError, match="Unexpected keyword arguments: size"):
        either_checkpoint(ut.exp, leaf(2), size=1)


class SavesItsOutput(ut.autograd.Function):
    made = []

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        SavesItsOutput.made.append(weakref.ref(y))
        return y

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


def test_a_function_that_saves_its_output_is_freed_after_the_recomputation():
    SavesItsOutput.made.clear()
    checkpoint(SavesItsOutput.apply, leaf(3)).sum().backward()
    gc.collect()
    assert [r() is None for r in SavesItsOutput.made] == [True, True]


def test_a_function_is_freed_after_an_error_of_a_pack_hook():
    SavesItsOutput.made.clear()

    def pack(tensor):
        raise ValueError("no")

    with ut.autograd.graph.saved_tensors_hooks(pack, lambda t: t), pytest.raises(ValueError, match="no"):
        SavesItsOutput.apply(leaf(3))
    gc.collect()
    assert SavesItsOutput.made[0]() is None


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize(("first", "second"), [(True, False), (False, True), (True, True)])
def test_the_recomputation_has_the_autocast_of_the_first_run(reentrant, first, second):
    seen = []

    def function(x):
        seen.append((ut.is_autocast_enabled("cpu"), ut.get_autocast_dtype("cpu")))
        return ut.mm(x, x).float()

    x = leaf(2, 2)
    with ut.autocast("cpu", dtype=ut.float16, enabled=first):
        loss = either_checkpoint(function, x, use_reentrant=reentrant).sum()
    with ut.autocast("cpu", dtype=ut.bfloat16, enabled=second):
        loss.backward()
    assert seen == [(first, ut.float16)] * 2
    assert not ut.is_autocast_enabled("cpu")


def test_the_recomputation_has_the_default_device_of_the_first_run():
    devices = []

    def function(x):
        devices.append(ut.zeros(1).device.type)
        return x.exp()

    x = leaf(2)
    with ut.device("meta"):
        y = checkpoint(function, x)
    y.sum().backward()
    assert devices == ["meta", "meta"]


def test_more_saved_tensors_in_the_recomputation_raise_without_early_stop():
    y = checkpoint(changing(lambda x: x.exp(), lambda x: x.exp().sin()), leaf(3), early_stop=False)
    with pytest.raises(CheckpointError, match="trying to save more tensors during recomputation than during the original forward pass") as caught:
        y.sum().backward()
    assert "SinBackward0" in str(caught.value)


@pytest.mark.parametrize("globally", [False, True])
def test_with_debug_an_error_lists_the_operators_of_both_runs(globally):
    with set_checkpoint_debug_enabled(True if globally else None):
        y = checkpoint(changing(lambda x: (x * x).exp(), lambda x: x.exp()), leaf(3), debug=not globally)
    with pytest.raises(CheckpointError, match="You are seeing this error because you passed `debug=True` to checkpoint") as caught:
        y.sum().backward()
    forward, again = str(caught.value).split("Operations executed during the original forward:")[1].split("Operations executed during recomputation:")
    assert "float32[3] = mul(float32[3], float32[3])" in forward and "exp(float32[3])" in forward
    assert "exp(float32[3])" in again and "mul" not in again
    assert __file__ in str(caught.value)
    assert "A different number of tensors" in str(caught.value.__cause__)


def test_debug_has_its_own_contexts_and_can_be_switched_off():
    with pytest.raises(ValueError, match="debug=True is incompatible with non-default context_fn"):
        checkpoint(ut.exp, leaf(2), debug=True, context_fn=lambda: create_selective_checkpoint_contexts([ut.ops.aten.exp.default]))
    with set_checkpoint_debug_enabled(False):
        y = checkpoint(changing(lambda x: (x * x).exp(), lambda x: x.exp()), leaf(3), debug=True)
    with pytest.raises(CheckpointError, match="A different number"):
        y.sum().backward()


def test_overlapping_passes_of_one_group_raise():
    y = checkpoint(ut.sin, leaf(3))
    with GraphExecGroup(), pytest.raises(CheckpointError, match="Performing two backward calls that overlap"):
        y.sum().backward(retain_graph=True)
        y.sum().backward()


@pytest.mark.parametrize("nested", [False, True])
def test_an_input_saved_by_a_function_comes_back_as_the_same_object(nested):
    b, same = ut.rand(3), []

    class Times(ut.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            same.append(ctx.saved_tensors[0] is b)
            return g * b, None

    function = (lambda a, b: checkpoint(Times.apply, a, b)) if nested else Times.apply
    checkpoint(function, leaf(3), b).sum().backward()
    assert same == [True]
