"""Passes for chosen inputs, nodes called by hand and what they say, compared with torch: only what a requested gradient needs may run."""

from __future__ import annotations

import gc
import weakref

import pytest


def printing(lib, log):
    class Printing(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            log.append("ran")
            return g

    return Printing


def test_a_pass_that_reaches_no_input_runs_nothing(same_as_torch):
    def scenario(lib):
        log = []
        F = printing(lib, log)
        a, y = lib.ones(2, requires_grad=True), lib.ones(2, requires_grad=True)
        got = lib.autograd.grad(F.apply(a).sum(), y, allow_unused=True)
        lib.autograd.backward(F.apply(a).sum(), inputs=[y])
        lib.autograd.backward((F.apply(a).sum(), F.apply(a * 2).sum()), inputs=[y])
        got += lib.autograd.grad([F.apply(a), F.apply(a)], [y, y * 2], [lib.ones(2)] * 2, allow_unused=True)
        return [got, log, a.grad, y.grad]

    assert same_as_torch(scenario)[1] == []


def test_a_pass_that_reaches_one_of_its_inputs_runs_what_it_needs(same_as_torch):
    def scenario(lib):
        log = []
        F = printing(lib, log)
        a, b, y = (lib.ones(2, requires_grad=True) for _ in range(3))
        got = lib.autograd.grad((F.apply(a).sum() + b.sum()), [y, b], allow_unused=True)
        z = F.apply(a)
        got += lib.autograd.grad(z, [z, y], lib.ones(2), allow_unused=True)
        got += lib.autograd.grad(z, [z, a, y], lib.ones(2), allow_unused=True)
        return [got, log]

    same_as_torch(scenario)


def test_a_pass_that_runs_nothing_keeps_the_graph(same_as_torch):
    def scenario(lib):
        a, y = lib.ones(2, requires_grad=True), lib.ones(2, requires_grad=True)
        z = (a * a).sum()
        lib.autograd.grad(z, y, allow_unused=True)
        z.backward()
        return a.grad

    same_as_torch(scenario)


def test_hooks_of_a_graph_that_reaches_no_input_do_not_run(same_as_torch):
    def scenario(lib):
        log = []
        a, y = lib.ones(2, requires_grad=True), lib.ones(2, requires_grad=True)
        z = a * 3
        z.register_hook(lambda g: log.append("tensor"))
        z.retain_grad()
        z.grad_fn.register_prehook(lambda g: log.append("before"))
        z.grad_fn.register_hook(lambda i, o: log.append("after"))
        got = lib.autograd.grad(z, y, lib.ones(2), allow_unused=True)
        lib.autograd.backward(z, lib.ones(2), inputs=[y])
        return [got, log, z.grad, a.grad, y.grad]

    same_as_torch(scenario)


def test_an_input_that_the_root_alone_does_not_reach_raises(same_as_torch):
    def scenario(lib):
        a, y = lib.ones(2, requires_grad=True), lib.ones(2, requires_grad=True)
        lib.autograd.grad((a * 2).sum(), y)

    same_as_torch(scenario)


def test_callbacks_and_leaf_roots_with_unreached_inputs(same_as_torch):
    def scenario(lib):
        a, y = lib.ones(2, requires_grad=True), lib.ones(2, requires_grad=True)
        got = lib.autograd.grad(a, y, lib.ones(2), allow_unused=True)
        lib.autograd.backward(a, lib.ones(2), inputs=[y])
        return [got, a.grad, y.grad]

    same_as_torch(scenario)


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_a_node_takes_one_gradient_for_each_output(same_as_torch, count):
    def scenario(lib):
        x = lib.full((1,), 3.0, requires_grad=True)
        return (x**2).grad_fn(*[lib.ones(1)] * count)

    same_as_torch(scenario)


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_a_node_of_several_outputs_takes_one_gradient_for_each(same_as_torch, count):
    def scenario(lib):
        x = lib.tensor([3.0, 4.0], requires_grad=True)
        return x.unbind()[0].grad_fn(*[lib.tensor(1.0)] * count)

    same_as_torch(scenario)


@pytest.mark.parametrize("gradient", [None, 1.0, "a", [1.0]])
def test_a_node_takes_tensors_and_none(same_as_torch, gradient):
    same_as_torch(lambda lib: (lib.full((1,), 3.0, requires_grad=True) ** 2).grad_fn(gradient))


def test_a_node_takes_no_keywords(same_as_torch):
    def scenario(lib):
        x = lib.full((1,), 3.0, requires_grad=True)
        return (x**2).grad_fn(lib.ones(1), k=1)

    same_as_torch(scenario)


def test_a_custom_node_takes_one_gradient_for_each_output(same_as_torch):
    def scenario(lib):
        return printing(lib, []).apply(lib.ones(2, requires_grad=True)).grad_fn(lib.ones(2), lib.ones(2))

    same_as_torch(scenario)


@pytest.mark.parametrize("shape", [(2,), (3,), (1,), (), (4, 2), (2, 2)])
def test_an_accumulator_called_by_hand_checks_the_shape(same_as_torch, shape):
    def scenario(lib):
        x = lib.ones(2, requires_grad=True)
        node = (x * 2).grad_fn.next_functions[0][0]
        got = node(lib.ones(shape))
        return [got, x.grad]

    same_as_torch(scenario)


@pytest.mark.parametrize("dtype", ["float64", "float16", "complex64", "int64"])
def test_an_accumulator_called_by_hand_checks_the_dtype(same_as_torch, dtype):
    def scenario(lib):
        x = lib.ones(2, requires_grad=True)
        node = (x * 2).grad_fn.next_functions[0][0]
        got = node(lib.ones(2, dtype=getattr(lib, dtype)))
        return [got, x.grad]

    same_as_torch(scenario)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_an_accumulator_takes_one_gradient(same_as_torch, count):
    def scenario(lib):
        x = lib.ones(2, requires_grad=True)
        return [(x * 2).grad_fn.next_functions[0][0](*[lib.ones(2)] * count), x.grad]

    same_as_torch(scenario)


def test_hooks_run_when_a_node_is_called_by_hand(same_as_torch):
    def scenario(lib):
        log = []
        x = lib.ones(2, requires_grad=True)
        y = x * 2
        x.register_hook(lambda g: log.append(("leaf", g)) or g * 10)
        y.register_hook(lambda g: log.append(("tensor", g)) or g * 3)
        y.grad_fn.register_prehook(lambda g: log.append(("before", g[0])))
        y.grad_fn.register_hook(lambda i, o: log.append(("after", i[0], o[0])))
        x.register_post_accumulate_grad_hook(lambda t: log.append(("accumulated", t.grad)))
        got = y.grad_fn(lib.ones(2))
        node = y.grad_fn.next_functions[0][0]
        node.register_hook(lambda i, o: log.append(("node after", len(i), o[0])))
        node(lib.ones(2))
        return [got, log, x.grad]

    same_as_torch(scenario)


@pytest.mark.parametrize("leaf", [True, False])
def test_metadata_of_a_node_dies_with_its_graph(same_as_torch, leaf):
    def scenario(lib):
        class Held:
            pass

        held = Held()
        a = lib.ones(2, requires_grad=True)
        y = a * 2
        node = y.grad_fn.next_functions[0][0] if leaf else y.grad_fn
        node.metadata["k"] = held
        dead = weakref.ref(held)
        del held, node
        facts = [dead() is not None]
        del y, a
        gc.collect()
        return [*facts, dead() is None]

    same_as_torch(scenario)


def test_metadata_of_an_accumulator_dies_when_no_graph_uses_it(same_as_torch):
    def scenario(lib):
        a = lib.ones(2, requires_grad=True)
        y = a * 2
        y.grad_fn.next_functions[0][0].metadata["k"] = 1
        kept = dict(y.grad_fn.next_functions[0][0].metadata)
        del y
        gc.collect()
        return [kept, dict((a * 2).grad_fn.next_functions[0][0].metadata)]

    same_as_torch(scenario)


def test_metadata_that_holds_the_leaf_is_collected():
    import undertow as ut

    class Held:
        pass

    held = Held()
    a = ut.ones(2, requires_grad=True)
    y = a * 2
    node = y.grad_fn.next_functions[0][0]
    node.metadata["k"] = held
    held.node = node
    dead = weakref.ref(held)
    del held, node, y, a
    gc.collect()
    assert dead() is None


def test_a_retained_gradient_of_a_batched_pass_is_an_ordinary_tensor(same_as_torch):
    def scenario(lib):
        def f(x):
            w = x.clone()
            w.retain_grad()
            return w * w

        x = lib.tensor(2.0, dtype=lib.float64, requires_grad=True)
        checked = lib.autograd.gradcheck(f, (x,), check_batched_grad=True)
        return checked

    same_as_torch(scenario)


def test_a_batched_pass_accumulates_nothing(same_as_torch):
    def scenario(lib):
        x = lib.tensor([2.0, 3.0], dtype=lib.float64, requires_grad=True)
        w = x.clone()
        w.retain_grad()
        y = w * w
        (g,) = lib.autograd.grad(y, x, lib.eye(2, dtype=lib.float64), is_grads_batched=True, retain_graph=True)
        y.sum().backward()
        return [g, x.grad]

    same_as_torch(scenario)


def test_backward_for_inner_inputs_then_a_batched_pass(same_as_torch):
    def scenario(lib):
        x = lib.tensor([2.0, 3.0], dtype=lib.float64, requires_grad=True)
        w = x * 1
        y = w * w
        y.sum().backward(inputs=(w,), retain_graph=True)
        first = w.grad.clone()
        (g,) = lib.autograd.grad(y, x, lib.eye(2, dtype=lib.float64), is_grads_batched=True, retain_graph=True)
        w.grad = None
        y.sum().backward()
        return [first, g, w.grad, x.grad]

    same_as_torch(scenario)


def test_a_multi_grad_hook_does_not_wait_for_inputs_outside_the_graph():
    import undertow as ut

    outside, used = ut.ones(2, requires_grad=True) * 2, ut.ones(2, requires_grad=True)
    calls = []
    ut.autograd.graph.register_multi_grad_hook((outside, used), lambda grads: calls.append([g is not None for g in grads]))
    for inputs in [(outside, used), (outside,), (used,)]:
        (used * 3).sum().backward(inputs=inputs)
    assert calls == [[False, True], [False, True]]


def test_whether_a_leaf_will_run_is_unknown_in_a_pass_that_returns_gradients():
    import undertow as ut

    x = ut.ones(2, requires_grad=True)
    y = x * 2
    accumulator = y.grad_fn.next_functions[0][0]
    y.register_hook(lambda grad: ut._C._will_engine_execute_node(accumulator) and None)
    y.sum().backward(retain_graph=True)
    with pytest.raises(RuntimeError, match=r"currently running autograd.grad\(\)"):
        ut.autograd.grad(y.sum(), x)
    with pytest.raises(RuntimeError, match="expects an grad_fn"):
        ut._C._will_engine_execute_node(y)
