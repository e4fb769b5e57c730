"""Scenarios of what backward returns, and of the classes themselves, for test_function_parity.py."""

from __future__ import annotations

from typing import Any

from function_scenarios import about, define, leaf
from function_state import exp

SCENARIOS: dict[str, Any] = {}


def scenario(f: Any) -> Any:
    SCENARIOS[f.__name__] = f
    return f


# ---- gradients that backward returns ----


for name, (forward, backward) in {
    "too_few": (lambda ctx, a, b: a * b, lambda ctx, g: g),
    "too_many": (lambda ctx, a, b: a * b, lambda ctx, g: (g, g, g)),
    "too_many_but_none": (lambda ctx, a, b: a * b, lambda ctx, g: (g, g, None, None)),
    "a_list": (lambda ctx, a, b: a * b, lambda ctx, g: [g, g]),
    "text": (lambda ctx, a, b: a * b, lambda ctx, g: ("text", g)),
    "of_another_shape": (lambda ctx, a, b: a * b, lambda ctx, g: (g.reshape(2, 1), g)),
    "wider_by_broadcasting": (lambda ctx, a, b: a * b, lambda ctx, g: (g.expand(3, 2), g)),
    "of_another_dtype": (lambda ctx, a, b: a * b, lambda ctx, g: (g.float(), g.half())),
    "none": (lambda ctx, a, b: a * b, lambda ctx, g: (None, None)),
    "one_none": (lambda ctx, a, b: a * b, lambda ctx, g: (g, None)),
}.items():

    def returned(lib, forward=forward, backward=backward):
        x, y = leaf(lib), leaf(lib)
        define(lib, forward, backward).apply(x, y).sum().backward()
        return [x.grad, y.grad, x.grad is not None and str(x.grad.dtype).split(".")[1]]

    SCENARIOS[f"gradients_{name}"] = returned


@scenario
def a_gradient_for_a_number(lib):
    define(lib, lambda ctx, a, k: a * k, lambda ctx, g: (g, g)).apply(leaf(lib), 3).sum().backward()


@scenario
def a_gradient_for_a_tensor_that_needs_none(lib):
    x = leaf(lib)
    define(lib, lambda ctx, a, b: a * 1, lambda ctx, g: (g, g)).apply(x, lib.ones(5)).sum().backward()
    return x.grad


# ---- classes ----


@scenario
def no_backward(lib):
    class F(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

    F.apply(leaf(lib)).sum().backward()


@scenario
def no_forward(lib):
    return lib.autograd.Function.apply(leaf(lib))


@scenario
def vjp_is_backward(lib):
    class F(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

        @staticmethod
        def vjp(ctx, g):
            return g * 2

    x = leaf(lib)
    F.apply(x).sum().backward()
    return x.grad


@scenario
def both_vjp_and_backward(lib):
    F = define(lib, lambda ctx, a: a * 2, vjp=lambda ctx, g: g)
    F.apply(leaf(lib)).sum().backward()


@scenario
def methods_that_are_not_static(lib):
    class F(lib.autograd.Function):
        def forward(ctx, a):  # noqa: N805
            return a * 2

        def backward(ctx, g):  # noqa: N805
            return g * 2

    x = leaf(lib)
    F.apply(x).sum().backward()
    return x.grad


@scenario
def called_by_hand(lib):
    return define(lib, lambda ctx, a: a)()(leaf(lib))


@scenario
def made_by_hand(lib):
    f = define(lib, lambda ctx, a: a * 2)()
    return [f.name(), f.next_functions, f.saved_tensors, f.needs_input_grad, f.to_save, f.requires_grad, f.metadata, f._raw_saved_tensors, f.apply(leaf(lib))]


@scenario
def the_base_class_raises(lib):
    F, out = lib.autograd.Function, []
    for call in (lambda: F.forward(1), lambda: F.backward(1), lambda: F.vjp(1), lambda: F.jvp(1), lambda: F.setup_context(1, 2, 3), lambda: F.vmap(1, 2)):
        try:
            call()
        except Exception as e:  # noqa: BLE001
            out.append([type(e).__name__, str(e)])
    return [out, F.generate_vmap_rule, F.boxed_grads_call, F.clear_saved_tensors_on_access]


@scenario
def a_class_changed_after_its_first_use(lib):
    F = define(lib, lambda ctx, a: a * 2, lambda ctx, g: g * 2)
    x = leaf(lib)
    y = F.apply(x)
    F.forward = staticmethod(lambda ctx, a: a * 5)
    F.backward = staticmethod(lambda ctx, g: g * 5)
    z = F.apply(x)
    (y + z).sum().backward()
    return [y, z, x.grad]


@scenario
def inheritance(lib):
    Base = define(lib, lambda ctx, a: a * 2, lambda ctx, g: g * 2)
    Derived = type("Derived", (Base,), {"forward": staticmethod(lambda ctx, a: a * 3)})
    x = leaf(lib)
    y = Derived.apply(x)
    y.sum().backward()
    return [about(y), x.grad]


@scenario
def what_forward_sees(lib):
    seen = []

    def forward(ctx, a, b):
        seen.extend([lib.is_grad_enabled(), ctx.needs_input_grad, ctx.saved_tensors, ctx.name(), len(ctx.next_functions), ctx.to_save, a.requires_grad, (a * 2).requires_grad])
        return a * b

    F = define(lib, forward)
    F.apply(leaf(lib), lib.ones(2))
    with lib.no_grad():
        F.apply(leaf(lib), lib.ones(2))
    return seen


@scenario
def what_backward_sees(lib):
    seen = []

    def backward(ctx, g):
        seen.extend([lib.is_grad_enabled(), ctx.needs_input_grad, g.requires_grad, lib._C._current_autograd_node() is ctx])
        return g, None

    F, x = define(lib, lambda ctx, a, b: a * 2, backward), leaf(lib)
    F.apply(x, lib.ones(2)).sum().backward()
    lib.autograd.grad((F.apply(x, 3) ** 2).sum(), x, create_graph=True)
    return seen


@scenario
def hooks_on_the_node(lib):
    log, x = [], leaf(lib)
    y = define(lib, lambda ctx, a: a * 2, lambda ctx, g: g * 2).apply(x)
    y.grad_fn.register_prehook(lambda g: log.append(["pre", g]) or (g[0] * 10,))
    y.grad_fn.register_hook(lambda gi, go: log.append(["post", gi, go]) or (gi[0] + 1,))
    y.register_hook(lambda g: log.append(["tensor", g]))
    y.retain_grad()
    y.sum().backward()
    return [log, x.grad, y.grad]


@scenario
def nested_functions(lib):
    Inner = exp(lib)

    def forward(ctx, a):
        ctx.save_for_backward(a)
        return Inner.apply(a) * 2

    def backward(ctx, g):
        (a,) = ctx.saved_tensors
        return 2 * g * Inner.apply(a)

    x = leaf(lib)
    (g,) = lib.autograd.grad(define(lib, forward, backward).apply(x).sum(), x, create_graph=True)
    return [g, lib.autograd.grad(g.sum(), x)]


@scenario
def recording_inside_forward(lib):
    def forward(ctx, a):
        with lib.enable_grad():
            ctx.inner = a.detach().requires_grad_()
            ctx.result = ctx.inner**3
        return ctx.result.detach()

    x = leaf(lib)
    y = define(lib, forward, lambda ctx, g: lib.autograd.grad(ctx.result, ctx.inner, g)[0]).apply(x)
    y.sum().backward()
    return [about(y), x.grad]


@scenario
def once_differentiable_in_a_second_derivative(lib):
    F = define(lib, lambda ctx, a: a * 2, lib.autograd.function.once_differentiable(lambda ctx, g: (g * 2) if not lib.is_grad_enabled() else None))
    x = leaf(lib)
    (g,) = lib.autograd.grad((F.apply(x) ** 2).sum(), x, create_graph=True)
    facts = [g, g.requires_grad, g.grad_fn.name()]
    g.sum().backward()
    return facts


@scenario
def once_differentiable_in_a_first_derivative(lib):
    F = define(lib, lambda ctx, a, b: a * 2, lib.autograd.function.once_differentiable(lambda ctx, g: (g * 2, None)))
    x = leaf(lib)
    (g,) = lib.autograd.grad(F.apply(x, 3).sum(), x, create_graph=True)
    F.apply(x, 3).sum().backward()
    return [g, g.requires_grad, x.grad]


@scenario
def the_old_shared_storage_mark(lib):
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        define(lib, lambda ctx, a: (ctx.mark_shared_storage((a, a)), a * 1)[1]).apply(leaf(lib))
    return [w.category.__name__ for w in caught]


@scenario
def the_old_saved_variables(lib):
    import warnings

    y = exp(lib).apply(leaf(lib))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = y.grad_fn.saved_variables
    return [value, [[w.category.__name__, str(w.message)] for w in caught]]


@scenario
def an_instance_warns(lib):
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        define(lib, lambda ctx, a: a)()
        lib.autograd.function.InplaceFunction(inplace=True)
    return [w.category.__name__ for w in caught]
