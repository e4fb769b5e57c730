"""Hooks where it matters what else runs: on siblings, on accumulators, inside unpack hooks, and in custom Functions. Compared with torch."""

from __future__ import annotations

import pytest

MULTI = {
    "unbind": lambda lib, x: x.unbind(),
    "split": lambda lib, x: x.split(1),
    "chunk": lambda lib, x: x.chunk(2),
    "var_mean": lambda lib, x: lib.var_mean(x),
    "max": lambda lib, x: tuple(lib.stack([x, x]).max(0))[:1] * 2,
    "sort": lambda lib, x: tuple(lib.stack([x, x]).sort(0))[:1] * 2,
    "svd": lambda lib, x: lib.linalg.svd(lib.diag(x * lib.tensor([1.0, 2.0]))),
}


@pytest.mark.parametrize("op", MULTI)
@pytest.mark.parametrize("kind", ["hook", "retain", "prehook", "hook and result"])
def test_hooks_of_an_output_whose_sibling_alone_gets_a_gradient(same_as_torch, op, kind):
    def scenario(lib):
        seen = []
        x = lib.ones(2, requires_grad=True)
        a, b, *_ = MULTI[op](lib, x)
        if kind == "retain":
            a.retain_grad()
        elif kind == "prehook":
            a.grad_fn.register_prehook(lambda g: seen.append(list(g)))
        elif kind == "hook":
            a.register_hook(seen.append)
        else:
            a.register_hook(lambda g: seen.append(g) or lib.ones_like(a))
        b.sum().backward()
        return [seen, x.grad, a.grad if kind == "retain" else None]

    same_as_torch(scenario)


def test_hooks_see_none_for_a_gradient_that_a_function_does_not_give(same_as_torch):
    def scenario(lib):
        seen = []

        class Nothing(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()

            @staticmethod
            def backward(ctx, g):
                return None

        x = lib.ones(2, requires_grad=True)
        y = x * 2
        x.register_hook(lambda g: seen.append(("leaf", g)))
        x.register_post_accumulate_grad_hook(lambda t: seen.append(("accumulated", t.grad)))
        y.register_hook(lambda g: seen.append(("inner", g)))
        y.retain_grad()
        Nothing.apply(y).sum().backward()
        return [seen, x.grad, y.grad]

    same_as_torch(scenario)


@pytest.mark.parametrize("returned", ["zeros", "scalar", "number"])
def test_a_hook_may_replace_none(same_as_torch, returned):
    def scenario(lib):
        made = {"zeros": lib.full((), 5.0), "scalar": lib.full((3,), 5.0), "number": 5.0}[returned]
        x = lib.ones(2, requires_grad=True)
        a, b = x.unbind()
        a.register_hook(lambda g: made)
        b.backward()
        return x.grad

    same_as_torch(scenario)


@pytest.mark.parametrize("hooks", [1, 2])
def test_hooks_after_none_is_replaced(same_as_torch, hooks):
    def scenario(lib):
        seen = []
        x = lib.ones(2, requires_grad=True)
        a, b = x.unbind()
        for i in range(hooks):
            a.register_hook(lambda g, i=i: seen.append((i, g)) or lib.tensor(i + 2.0))
        b.backward()
        return [seen, x.grad]

    same_as_torch(scenario)


def test_a_multi_grad_hook_with_a_sibling_without_gradient(same_as_torch):
    def scenario(lib):
        seen = []
        x = lib.ones(3, requires_grad=True)
        a, b, c = x.unbind()
        lib.autograd.graph.register_multi_grad_hook((a, b), lambda g: seen.append(("any", g)), mode="any")
        b.backward()
        return seen

    same_as_torch(scenario)


def test_hooks_with_chosen_inputs_and_a_sibling_without_gradient(same_as_torch):
    def scenario(lib):
        seen = []
        x = lib.ones(2, requires_grad=True)
        a, b = x.unbind()
        a.register_hook(lambda g: seen.append(g))
        got = lib.autograd.grad(b, x, retain_graph=True)
        got += lib.autograd.grad(b, [a], retain_graph=True, allow_unused=True)
        got += lib.autograd.grad(b, [a, x], allow_unused=True)
        return [seen, got]

    same_as_torch(scenario)


@pytest.mark.parametrize("before", [False, True])
def test_a_hook_after_accumulation_sees_the_memory_of_grad(same_as_torch, before):
    def scenario(lib):
        log = []
        t = lib.ones(2, requires_grad=True)
        if before:
            t.grad = lib.ones(2)
        y = (t * 2).sum()
        node = y.grad_fn.next_functions[0][0].next_functions[0][0]
        node.register_hook(lambda gi, go: log.append([len(gi), go[0].data_ptr() == t.grad.data_ptr(), go[0].clone()]))

        def after(p):
            p.grad.mul_(10)

        t.register_post_accumulate_grad_hook(after)
        y.backward()
        return [log, t.grad]

    same_as_torch(scenario)


@pytest.mark.parametrize("kept", [False, True])
def test_a_gradient_that_somebody_else_owns_is_not_stolen(same_as_torch, kept):
    def scenario(lib):
        log, seen = [], []
        t = lib.ones(2, requires_grad=True)
        y = (t * 2).sum()
        node = y.grad_fn.next_functions[0][0].next_functions[0][0]
        t.register_hook(lambda g: seen.append(g) if kept else None)
        node.register_hook(lambda gi, go: log.append(go[0].data_ptr() == t.grad.data_ptr()))
        y.backward()
        t.grad.mul_(5)
        return [log, seen]

    same_as_torch(scenario)


def test_a_hook_registered_inside_an_unpack_hook_runs_for_the_running_node(same_as_torch):
    def scenario(lib):
        log = []

        def unpack(t):
            node = lib._C._current_autograd_node()
            node.register_hook(lambda i, o: log.append(("after", node.name(), i, o)))
            node.register_prehook(lambda o: log.append("too late"))
            return t

        x = lib.ones(2, requires_grad=True)
        with lib.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
            y = x.exp()
        y.sum().backward(retain_graph=True)
        first = list(log)
        return [first, x.grad]

    same_as_torch(scenario)


def test_a_hook_registered_inside_an_unpack_hook_may_replace_the_gradient(same_as_torch):
    def scenario(lib):
        def unpack(t):
            lib._C._current_autograd_node().register_hook(lambda i, o: tuple(g * 3 if g is not None else None for g in i))
            return t

        x = lib.ones(2, requires_grad=True)
        with lib.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
            y = x * x
        y.sum().backward()
        return x.grad

    same_as_torch(scenario)


@pytest.mark.parametrize("case", ["view of an intermediate", "intermediate", "view of an input", "input"])
def test_what_may_be_marked_dirty(same_as_torch, case):
    def scenario(lib):
        class Writes(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                made = {
                    "view of an intermediate": lambda: (x * 2).view(-1),
                    "intermediate": lambda: x * 2,
                    "view of an input": lambda: x.view(-1),
                    "input": lambda: x,
                }[case]()
                made.mul_(2)
                ctx.mark_dirty(made)
                return made

            @staticmethod
            def backward(ctx, g):
                return g * 2

        x = lib.ones(2, requires_grad=True)
        y = Writes.apply(x.clone())
        y.sum().backward()
        return [y, x.grad]

    same_as_torch(scenario)


def test_saved_tensors_hooks_may_be_left_without_arguments(same_as_torch):
    def scenario(lib):
        log = []
        c = lib.autograd.graph.saved_tensors_hooks(lambda t: log.append("packed") or t, lambda t: t)
        c.__enter__()
        c.__exit__()
        lib.ones(2, requires_grad=True).exp()
        with lib.autograd.graph.save_on_cpu() as entered:
            pass
        d = lib.autograd.graph.save_on_cpu()
        d.__enter__()
        d.__exit__(None, None, None)
        return [log, entered]

    same_as_torch(scenario)


@pytest.mark.parametrize("what", ["entered", "left", "entered twice"])
def test_hooks_entered_or_left_in_an_unpack_hook_stay_inside(same_as_torch, what):
    def scenario(lib):
        log = []
        hooks = lambda name: lib.autograd.graph.saved_tensors_hooks(lambda t: log.append(name) or t, lambda t: t)
        outer = hooks("outer")

        def unpack(t):
            if what == "left":
                outer.__exit__()
            for _ in range({"entered": 1, "entered twice": 2}.get(what, 0)):
                hooks("inner").__enter__()
            return t

        x = lib.ones(2, requires_grad=True)
        with lib.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
            y = x.exp()
        outer.__enter__()
        y.sum().backward()
        x.exp()
        outer.__exit__()
        x.exp()
        return [log, x.grad]

    same_as_torch(scenario)


def test_hooks_entered_in_a_tensor_hook_or_a_custom_backward(same_as_torch):
    def scenario(lib):
        log = []
        hooks = lambda name: lib.autograd.graph.saved_tensors_hooks(lambda t: log.append(name) or t, lambda t: t)
        stack = []

        def enter(name):
            stack.append(hooks(name))
            stack[-1].__enter__()

        class Enters(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()

            @staticmethod
            def backward(ctx, g):
                enter("function")
                return g

        x = lib.ones(2, requires_grad=True)
        y = Enters.apply(x)
        y.register_hook(lambda g: enter("hook"))
        y.sum().backward()
        x.exp()
        return log

    same_as_torch(scenario)
