"""Selective checkpoints: a policy chooses, by operator, which results are kept for the recomputation."""

from __future__ import annotations

import functools

import pytest

import undertow as ut
from undertow.utils._python_dispatch import TorchDispatchMode
from undertow.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

aten = ut.ops.aten


def selective(policy, **options):
    return functools.partial(create_selective_checkpoint_contexts, policy, **options)


def leaf(*shape):
    return ut.rand(*shape, dtype=ut.float64, requires_grad=True)


class Operators(TorchDispatchMode):
    """Collects the names of the operators that run."""

    def __init__(self):
        super().__init__()
        self.ran = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.ran.append(func)
        return func(*args, **(kwargs or {}))


def product_of_exponentials(w):
    return ut.mm(w, w).exp().sin()


@pytest.mark.parametrize("kept", [["mm"], ["exp"], ["mm", "exp"], ["mm", "exp", "sin"], []])
def test_what_is_kept_does_not_run_again(kept):
    w = leaf(3, 3)
    (plain,) = ut.autograd.grad(product_of_exponentials(w).sum(), w)
    kept = [getattr(aten, name).default for name in kept]
    with Operators() as mode:
        y = checkpoint(product_of_exponentials, w, use_reentrant=False, context_fn=selective(kept)).sum()
        before = len(mode.ran)
        (g,) = ut.autograd.grad(y, w)
    again = mode.ran[before:]
    assert ut.equal(g, plain)
    assert again.count(aten.exp.default) == (aten.exp.default not in kept)
    assert again.count(aten.mm.default) == 2 + (aten.mm.default not in kept)


def test_a_policy_sees_operators_with_their_arguments_and_results_once():
    seen = []

    def policy(ctx, op, *args, **kwargs):
        seen.append((ctx.is_recompute, op, [a.shape for a in args], ctx.op_output.shape))
        return CheckpointPolicy.MUST_SAVE if op is aten.exp.default else CheckpointPolicy.PREFER_RECOMPUTE

    x = leaf(3)
    y = checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False, context_fn=selective(policy))
    assert ut.equal(ut.autograd.grad(y.sum(), x)[0], ut.autograd.grad(x.exp().sin().sum(), x)[0])
    shape = ut.Size([3])
    assert seen == [(False, aten.exp.default, [shape], shape), (False, aten.sin.default, [shape], shape)]


@pytest.mark.parametrize("answer", [True, CheckpointPolicy.PREFER_SAVE, False, CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.MUST_CPU_OFFLOAD])
def test_answers_of_a_policy(answer):
    x = leaf(3)
    runs = Operators()
    y = checkpoint(lambda x: x.exp().sin().cos(), x, use_reentrant=False, context_fn=selective(lambda ctx, op, *args: answer))
    with runs:
        y.sum().backward()
    assert (aten.exp.default in runs.ran) == (answer not in (True, CheckpointPolicy.PREFER_SAVE))


def test_views_and_writes_run_again_whatever_the_policy_says():
    def function(w):
        y = ut.mm(w, w)
        y.t().mul_(2)
        first, second = y.split(2)
        return (first.exp() * second.sin()).cos()

    w = leaf(4, 4)
    (plain,) = ut.autograd.grad(function(w).sum(), w)
    for kept in ([aten.t.default, aten.split.Tensor], [aten.exp.default, aten.sin.default], [aten.t.default, aten.mul_.Tensor]):
        y = checkpoint(function, w, use_reentrant=False, context_fn=selective(kept))
        assert ut.equal(ut.autograd.grad(y.sum(), w)[0], plain)


def test_second_derivatives_need_what_was_kept_a_second_time_and_raise():
    w = leaf(3, 3)
    y = checkpoint(product_of_exponentials, w, use_reentrant=False, context_fn=selective([aten.mm.default]), early_stop=False)
    (g,) = ut.autograd.grad(y.sum(), w, create_graph=True)
    with pytest.raises(RuntimeError, match="backward an extra time"):
        ut.autograd.grad(g.sum(), w)


def test_a_second_pass_raises():
    x = leaf(3)
    y = checkpoint(lambda x: x.exp().sin().cos(), x, use_reentrant=False, context_fn=selective([aten.exp.default])).sum()
    y.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="only allowed to backward once on any region computed under selective activation checkpoint"):
        y.backward()


@pytest.mark.parametrize("allowed", [False, True])
def test_a_kept_result_that_was_overwritten(allowed):
    def function(x):
        y = x.exp()
        z = y * 2
        with ut.no_grad():
            y.add_(1)
        return z.sin()

    contexts = selective([aten.exp.default], allow_cache_entry_mutation=allowed)
    y = checkpoint(function, leaf(3), use_reentrant=False, context_fn=contexts).sum()
    if allowed:
        y.backward()
    else:
        with pytest.raises(RuntimeError, match="cached during selective activation checkpoint has been mutated"):
            y.backward()


@pytest.mark.parametrize("second", [lambda t: t.neg(), lambda t: t.exp()])
def test_a_function_that_calls_other_operators_the_second_time(second):
    runs = []

    def function(x):
        runs.append(1)
        y = x.exp()
        return (y if len(runs) == 1 else second(y)).sin()

    y = checkpoint(function, leaf(3), use_reentrant=False, context_fn=selective([aten.exp.default])).sum()
    with pytest.raises(RuntimeError, match="during backward but not found in storage"):
        y.backward()


def test_a_checkpoint_inside_a_selective_one():
    w = leaf(3, 3)

    def inner(a):
        return ut.mm(a.sin(), w).exp()

    def outer(a):
        return ut.mm(checkpoint(inner, ut.mm(a, w).sin(), use_reentrant=False), w).cos().sum()

    (plain,) = ut.autograd.grad(ut.mm(inner(ut.mm(w, w).sin()), w).cos().sum(), w)
    checkpoint(outer, w, use_reentrant=False, context_fn=selective([aten.mm.default, aten.sin.default])).backward()
    assert ut.allclose(w.grad, plain)


@pytest.mark.parametrize("op, hint", [(aten.mm, "aten.mm.default"), (ut.mm, "")])
def test_a_list_has_overloads_of_operators(op, hint):
    with pytest.raises(ValueError, match="to be an OpOverload but got.*" + hint):
        create_selective_checkpoint_contexts([op])
    with pytest.raises(TypeError, match="a function or a list of ops"):
        create_selective_checkpoint_contexts(3)
