"""Hooks on tensors and nodes: when they run, in which order, what they may change, and how they are removed."""

from __future__ import annotations

import gc
import weakref

import pytest

import undertow as ut
from undertow import autograd


def leaf(*values: float) -> ut.Tensor:
    return ut.tensor(values, requires_grad=True)


# Tensor hooks.


@pytest.mark.parametrize("kind", ["leaf", "non-leaf"])
def test_hooks_run_in_the_order_of_their_registration(kind):
    x = leaf(1.0)
    t = x if kind == "leaf" else x * 1
    order = []
    for i in range(5):
        t.register_hook(lambda g, i=i: order.append(i))
    (t * 2).sum().backward()
    assert order == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("kind", ["leaf", "non-leaf"])
def test_each_hook_sees_what_the_one_before_it_returned(kind):
    x = leaf(1.0)
    t = x if kind == "leaf" else x * 1
    seen = []

    def add_one(g):
        seen.append(g.tolist())
        return g + 1

    t.register_hook(add_one)
    t.register_hook(lambda g: seen.append(g.tolist()))
    t.register_hook(add_one)
    (t * 2).sum().backward()
    assert seen == [[2.0], [3.0], [3.0]]
    assert x.grad.tolist() == [4.0]


def test_a_hook_that_returns_none_changes_nothing():
    x = leaf(1.0)
    x.register_hook(lambda g: None)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0]


def test_a_hook_sees_the_sum_of_all_contributions_once():
    x = leaf(1.0)
    y = x * 1
    seen = []
    y.register_hook(lambda g: seen.append(g.item()))
    (y * 2 + y * 3 + y).sum().backward()
    assert seen == [6.0]


def test_a_hook_on_a_leaf_runs_in_every_pass():
    x = leaf(1.0)
    seen = []
    x.register_hook(lambda g: seen.append(g.item()))
    for factor in (2.0, 3.0):
        (x * factor).sum().backward()
    assert seen == [2.0, 3.0]


def test_a_hook_on_a_leaf_may_come_after_the_graph_was_made():
    x = leaf(1.0)
    y = (x * 2).sum()
    x.register_hook(lambda g: g * 10)
    y.backward()
    assert x.grad.tolist() == [20.0]


def test_a_removed_hook_no_longer_runs():
    x = leaf(1.0)
    handle = x.register_hook(lambda g: g * 10)
    (x * 2).sum().backward()
    handle.remove()
    handle.remove()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [22.0]


def test_a_handle_is_a_context():
    x = leaf(1.0)
    with x.register_hook(lambda g: g * 10):
        (x * 2).sum().backward()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [22.0]


@pytest.mark.parametrize("kind", ["leaf", "non-leaf"])
def test_a_hook_may_remove_itself_while_it_runs(kind):
    x = leaf(1.0)
    t = x if kind == "leaf" else x * 1
    seen = []

    def once(g):
        seen.append("once")
        handle.remove()
        return g * 2

    handle = t.register_hook(once)
    t.register_hook(lambda g: seen.append("after"))
    y = (t * 2).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert seen.count("once") == 1
    assert seen.count("after") == 2
    assert x.grad.tolist() == [6.0]


def test_a_hook_may_add_a_hook():
    x = leaf(1.0)
    seen = []

    def first(g):
        seen.append("first")
        if len(seen) == 1:
            x.register_hook(lambda g: seen.append("late"))

    x.register_hook(first)
    (x * 2).sum().backward()
    assert "first" in seen
    (x * 2).sum().backward()
    assert seen[-2:] == ["first", "late"]


def test_an_exception_in_a_hook_reaches_the_caller_and_the_graph_stays_usable():
    x = leaf(1.0)
    y = x * 2
    handle = y.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()
    assert x.grad is None
    handle.remove()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0]
    assert ut.is_grad_enabled()


def test_a_hook_must_return_a_tensor_or_none():
    x = leaf(1.0)
    x.register_hook(lambda g: 3.0)
    with pytest.raises((TypeError, RuntimeError), match="expected Variable"):
        (x * 2).sum().backward()


def test_a_hook_must_keep_the_shape():
    x = leaf(1.0)
    x.register_hook(lambda g: g.expand(2, 1))
    with pytest.raises(RuntimeError, match=r"^hook '<lambda>' has changed the size of value"):
        (x * 2).sum().backward()


def test_a_hook_must_keep_the_dtype():
    x = leaf(1.0)

    def widen(g):
        return g.double()

    x.register_hook(widen)
    with pytest.raises(RuntimeError, match=r"^hook 'widen' has changed the type of value"):
        (x * 2).sum().backward()


def test_a_hook_needs_a_tensor_that_requires_grad():
    with pytest.raises(RuntimeError, match=r"^cannot register a hook on a tensor that doesn't require gradient"):
        ut.ones(1).register_hook(lambda g: g)


def test_a_hook_on_an_intermediate_runs_before_its_node():
    x = leaf(1.0)
    y = x * 2
    order = []
    y.grad_fn.register_prehook(lambda g: order.append("pre"))
    y.register_hook(lambda g: order.append("tensor"))
    y.grad_fn.register_hook(lambda gi, go: order.append("post"))
    y.retain_grad()
    y.sum().backward()
    assert order == ["tensor", "pre", "post"]


def test_a_retained_gradient_is_what_the_last_hook_returned():
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    assert y.grad.tolist() == [10.0]
    assert x.grad.tolist() == [20.0]


def test_grad_captures_the_gradient_after_the_hooks():
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: g * 100)
    assert autograd.grad(y.sum(), y, retain_graph=True)[0].tolist() == [10.0]
    assert autograd.grad(y.sum(), x, retain_graph=True)[0].tolist() == [2000.0]


def test_a_node_pre_hook_comes_after_the_capture():
    x = leaf(1.0)
    y = x * 2
    y.grad_fn.register_prehook(lambda g: (g[0] * 10,))
    gy, gx = autograd.grad(y.sum(), [y, x])
    assert gy.tolist() == [1.0]
    assert gx.tolist() == [20.0]


def test_a_hook_on_a_tensor_that_is_captured_and_runs_sees_the_gradient_once():
    x = leaf(1.0)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(g.item()))
    autograd.grad((y * 3).sum(), [y, x])
    assert seen == [3.0]


def test_hooks_before_and_after_an_in_place_write_stay_with_their_values():
    x = leaf(1.0)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(("before", g.item())))
    y.mul_(3)
    y.register_hook(lambda g: seen.append(("after", g.item())))
    y.sum().backward()
    assert seen == [("after", 1.0), ("before", 3.0)]
    assert x.grad.tolist() == [6.0]


def test_retain_grad_moves_to_the_value_written_in_place():
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    (y * 5).sum().backward()
    assert y.grad.tolist() == [5.0]


def test_a_hook_with_create_graph_is_part_of_the_graph():
    x = leaf(3.0)
    y = x * x
    y.register_hook(lambda g: g * x)
    (g,) = autograd.grad(y.sum(), x, create_graph=True)
    assert g.tolist() == [18.0]
    assert autograd.grad(g.sum(), x)[0].tolist() == [12.0]


def test_a_hook_may_write_into_the_gradient_in_place():
    x = leaf(1.0, 2.0)

    def double(g):
        g.mul_(2)

    y = x * 1
    y.register_hook(double)
    (y * 3).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_a_hook_does_not_keep_its_tensor_alive():
    class Marker:
        pass

    x, marker = leaf(1.0), Marker()
    gone = weakref.ref(marker)
    y = x * 2
    y.register_hook(lambda g, m=marker: None)
    del marker, y
    gc.collect()
    assert gone() is None


def test_a_hook_that_refers_to_its_own_tensor_is_collected():
    x = leaf(1.0)
    gone = []

    class Marker:
        def __del__(self):
            gone.append(True)

    def build():
        t = ut.tensor([1.0], requires_grad=True)
        t.marker = Marker()
        t.register_hook(lambda g: t)

    build()
    gc.collect()
    assert gone == [True]
    assert x.grad is None


# Post-accumulate hooks.


def test_a_post_accumulate_hook_sees_the_new_gradient():
    x = leaf(1.0)
    seen = []
    x.register_post_accumulate_grad_hook(lambda t: seen.append((t is x, t.grad.item())))
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    assert seen == [(True, 2.0), (True, 5.0)]


def test_post_accumulate_hooks_run_in_order_after_tensor_hooks():
    x = leaf(1.0)
    order = []
    x.register_post_accumulate_grad_hook(lambda t: order.append("post 1"))
    x.register_hook(lambda g: order.append("tensor"))
    x.register_post_accumulate_grad_hook(lambda t: order.append("post 2"))
    (x * 2).sum().backward()
    assert order == ["tensor", "post 1", "post 2"]


def test_a_post_accumulate_hook_may_clear_the_gradient():
    x = leaf(1.0)

    def step(t):
        with ut.no_grad():
            t.sub_(t.grad)
        t.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * 0.5).sum().backward()
    assert x.grad is None
    assert x.tolist() == [0.5]


def test_a_post_accumulate_hook_does_not_run_under_grad():
    x = leaf(1.0)
    seen = []
    x.register_post_accumulate_grad_hook(lambda t: seen.append(1))
    autograd.grad((x * 2).sum(), x)
    assert seen == []


def test_a_post_accumulate_hook_must_return_none():
    x = leaf(1.0)
    x.register_post_accumulate_grad_hook(lambda t: t.grad)
    with pytest.raises(RuntimeError, match=r"^Tensor post accumulate grad hooks should return None"):
        (x * 2).sum().backward()


def test_a_post_accumulate_hook_is_for_leaves():
    y = leaf(1.0) * 2
    with pytest.raises(RuntimeError, match=r"^post accumulate grad hooks cannot be registered on non-leaf tensors"):
        y.register_post_accumulate_grad_hook(lambda t: None)


def test_a_post_accumulate_hook_needs_requires_grad():
    with pytest.raises(RuntimeError, match=r"^cannot register a hook on a tensor that doesn't require gradient"):
        ut.ones(1).register_post_accumulate_grad_hook(lambda t: None)


def test_a_removed_post_accumulate_hook_no_longer_runs():
    x = leaf(1.0)
    seen = []
    handle = x.register_post_accumulate_grad_hook(lambda t: seen.append(1))
    (x * 2).sum().backward()
    handle.remove()
    (x * 2).sum().backward()
    assert seen == [1]


# Node hooks.


def test_a_node_hook_gets_grad_inputs_and_grad_outputs():
    x, y = leaf(2.0), leaf(3.0)
    z = x * y
    seen = []
    z.grad_fn.register_hook(lambda gi, go: seen.append(([g.item() for g in gi], [g.item() for g in go])))
    (z * 10).sum().backward()
    assert seen == [([30.0, 20.0], [10.0])]


def test_a_node_hook_sees_none_for_an_operand_without_history():
    z = leaf(2.0) * ut.tensor([3.0])
    seen = []
    z.grad_fn.register_hook(lambda gi, go: seen.append([g is None for g in gi]))
    z.sum().backward()
    assert seen == [[False, True]]


def test_a_node_hook_may_replace_the_grad_inputs():
    x = leaf(2.0)
    z = x * 3
    z.grad_fn.register_hook(lambda gi, go: (gi[0] * 10, None))
    z.sum().backward()
    assert x.grad.tolist() == [30.0]


def test_a_node_prehook_may_replace_the_grad_outputs():
    x = leaf(2.0)
    z = x * 3
    z.grad_fn.register_prehook(lambda go: (go[0] * 10,))
    z.sum().backward()
    assert x.grad.tolist() == [30.0]


def test_node_hooks_run_in_order_and_are_removed():
    x = leaf(2.0)
    z = x * 3
    order = []
    handles = [z.grad_fn.register_hook(lambda gi, go, i=i: order.append(i)) for i in range(3)]
    handles[1].remove()
    z.sum().backward()
    assert order == [0, 2]


def test_a_node_hook_must_return_as_many_gradients():
    z = leaf(2.0) * leaf(3.0)
    z.grad_fn.register_hook(lambda gi, go: (gi[0],))
    with pytest.raises(RuntimeError, match=r"^hook .*has returned an incorrect number of values \(got 1, but expected 2\)"):
        z.sum().backward()


def test_a_hook_on_an_accumulator_runs_after_accumulation():
    x = leaf(1.0)
    y = x * 2
    node = y.grad_fn.next_functions[0][0]
    seen = []
    node.register_hook(lambda gi, go: seen.append((len(gi), x.grad.item())))
    y.sum().backward()
    assert seen == [(0, 2.0)]


def test_a_prehook_on_an_accumulator_may_change_what_is_accumulated():
    x = leaf(1.0)
    y = x * 2
    y.grad_fn.next_functions[0][0].register_prehook(lambda go: (go[0] * 10,))
    y.sum().backward()
    assert x.grad.tolist() == [20.0]


def test_an_exception_in_a_node_hook_reaches_the_caller():
    x = leaf(1.0)
    y = x * 2
    y.grad_fn.register_hook(lambda gi, go: {}["missing"])
    with pytest.raises(KeyError, match="missing"):
        y.sum().backward()
    assert x.grad is None


# Hooks over several tensors.


@pytest.mark.parametrize("mode", ["all", "any"])
def test_a_hook_over_several_tensors_runs_once_a_pass(mode):
    x, y = leaf(1.0), leaf(2.0)
    seen = []
    ut.autograd.graph.register_multi_grad_hook((x, y), lambda g: seen.append(g), mode=mode)
    (x * y).sum().backward()
    (x * y).sum().backward()
    assert len(seen) == 2


def test_a_hook_over_several_tensors_gets_none_for_those_not_reached():
    x, y = leaf(1.0), leaf(2.0)
    seen = []
    ut.autograd.graph.register_multi_grad_hook((x, y), lambda gs: seen.append([g is None for g in gs]))
    (x * 2).sum().backward()
    assert seen == [[False, True]]


def test_a_node_hook_that_replaces_gradients_returns_a_tuple():
    for register in (lambda n: n.register_prehook(lambda grads: grads[0] * 2), lambda n: n.register_hook(lambda inputs, outputs: inputs[0] * 2)):
        x = ut.ones(2, requires_grad=True)
        y = x.exp()
        register(y.grad_fn)
        with pytest.raises(TypeError, match="expected tuple, but hook returned 'Tensor'"):
            y.sum().backward()
