"""Scenarios of custom Functions, each a function of the library; test_function_parity.py runs them on both."""

from __future__ import annotations

from typing import Any

SCENARIOS: dict[str, Any] = {}


def scenario(f: Any) -> Any:
    SCENARIOS[f.__name__] = f
    return f


def define(lib: Any, forward: Any, backward: Any = lambda ctx, *grads: grads[0], **attributes: Any) -> Any:
    """A Function class `F` of the library."""
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    body |= {k: staticmethod(v) if callable(v) else v for k, v in attributes.items()}
    return type("F", (lib.autograd.Function,), body)


def leaf(lib: Any, *values: float) -> Any:
    return lib.tensor(values or (1.0, 2.0), dtype=lib.float64, requires_grad=True)


def name_of(t: Any) -> str | None:
    return None if t.grad_fn is None else t.grad_fn.name().split("::")[-1]


def about(t: Any) -> list:
    """What is known about a tensor's position in the graph."""
    return [t, t.requires_grad, t.is_leaf, t._is_view(), t.output_nr, t._version, name_of(t)]


# ---- calls, arguments, results ----


@scenario
def a_plain_function(lib):
    def forward(ctx, a, k):
        ctx.save_for_backward(a)
        ctx.k = k
        return a * a * k

    def backward(ctx, g):
        (a,) = ctx.saved_tensors
        return 2 * g * a * ctx.k, None

    x = leaf(lib)
    y = define(lib, forward, backward).apply(x, 3)
    fn = y.grad_fn
    facts = [about(y), fn.name(), type(fn).__name__, y.grad_fn is fn, fn.k, fn.needs_input_grad, len(fn.next_functions), fn.next_functions[0][1]]
    facts += [fn.saved_tensors[0] is x, len(fn._raw_saved_tensors), fn.to_save, fn.dirty_tensors, fn.non_differentiable, fn.saved_for_forward, fn.requires_grad]
    fn.metadata["note"] = 1
    facts += [y.grad_fn.metadata, len(fn._input_metadata), list(fn._input_metadata[0].shape)]
    y.sum().backward()
    return [*facts, x.grad, y.grad_fn is fn, y.grad_fn.k]


@scenario
def attributes_survive_while_only_the_graph_holds_the_node(lib):
    y = define(lib, lambda ctx, a: a * 2, lambda ctx, g: g * 2).apply(leaf(lib))
    y.grad_fn.note = [1]
    z = y * 3
    del y
    return [z.grad_fn.next_functions[0][0].note, z.grad_fn.next_functions[0][0].name()]


@scenario
def the_node_outlives_its_result(lib):
    fn = define(lib, lambda ctx, a: a * 2).apply(leaf(lib)).grad_fn
    return [fn.name(), len(fn.next_functions), fn.needs_input_grad, fn.saved_tensors]


@scenario
def backward_called_by_hand(lib):
    fn = define(lib, lambda ctx, a: a * 2, lambda ctx, g: g * 2).apply(leaf(lib)).grad_fn
    return fn.apply(lib.ones(2))


@scenario
def a_node_is_not_callable(lib):
    return define(lib, lambda ctx, a: a * 2).apply(leaf(lib)).grad_fn(lib.ones(2))


@scenario
def arguments_and_results_of_any_kind(lib):
    seen = []
    F = define(lib, lambda ctx, a, s, b, n: (a * b, s, None, [a], b * 2), lambda ctx, *g: seen.extend(x is None for x in g) or (g[0], None, g[4], None))
    x, y = leaf(lib), leaf(lib)
    out = F.apply(x, "text", y, None)
    out[0].sum().backward()
    return [type(out).__name__, len(out), about(out[0]), out[1], out[2], type(out[3]).__name__, about(out[4]), seen, x.grad, y.grad, len(out[0].grad_fn.next_functions)]


@scenario
def keyword_arguments(lib):
    F = define(lib, lambda ctx, a, k, b=None: a * k, lambda ctx, g: (g, None, None))
    return [F.apply(leaf(lib), k=3), F.apply(a=leaf(lib), k=2, b=1).grad_fn.needs_input_grad, F.apply(leaf(lib), 4).grad_fn.needs_input_grad]


for name, call in {
    "unknown": lambda F, x: F.apply(x, z=3),
    "skipped": lambda F, x: F.apply(x, b=3),
    "twice": lambda F, x: F.apply(x, 3, k=3),
    "none": lambda F, x: F.apply(x),
    "too_many": lambda F, x: F.apply(x, 1, 2, 3),
}.items():

    def bad_call(lib, call=call):
        return call(define(lib, lambda ctx, a, k, b=None: a * k), leaf(lib))

    SCENARIOS[f"keyword_{name}"] = bad_call


@scenario
def results_returned_twice(lib):
    def twice(ctx, a):
        b = a * 2
        return b, b

    one, two = define(lib, twice, lambda ctx, g, h: g + 10 * h).apply(leaf(lib))
    x = leaf(lib)
    three, four = define(lib, lambda ctx, a: (a, a), lambda ctx, g, h: g + 10 * h).apply(x)
    (three.sum() + 2 * four.sum()).backward()
    return [one is two, about(one), three is four, about(three), about(four), x.grad]


@scenario
def a_named_tuple_becomes_a_tuple(lib):
    from collections import namedtuple

    Pair = namedtuple("Pair", "a b")  # noqa: PYI024
    out = define(lib, lambda ctx, a: Pair(a * 1, a * 2), lambda ctx, g, h: g + h).apply(leaf(lib))
    return [type(out).__name__, about(out[1])]


@scenario
def results_that_are_not_tensors(lib):
    return [define(lib, lambda ctx, a, r=result: r).apply(leaf(lib)) for result in (None, 3, "s", [1], ())]


# ---- setup_context ----


def split(lib: Any, forward: Any, setup: Any, backward: Any = lambda ctx, *g: g[0]) -> Any:
    return define(lib, forward, backward, setup_context=setup)


@scenario
def setup_context_sees_inputs_with_defaults(lib):
    seen = []

    def setup(ctx, inputs, output):
        seen.append([type(inputs).__name__, len(inputs), inputs[1], output.requires_grad])
        ctx.k = inputs[1]

    F = split(lib, lambda a, k=2: a * k, setup, lambda ctx, g: (g * ctx.k, None))
    x = leaf(lib)
    for y in (F.apply(x), F.apply(x, 3), F.apply(a=x, k=4)):
        y.sum().backward()
    return [seen, x.grad]


for name, call in {
    "too_many": lambda F, x: F.apply(x, 5, 6),
    "too_few": lambda F, x: F.apply(),
    "unknown": lambda F, x: F.apply(x, z=5),
}.items():

    def bad_setup_call(lib, call=call):
        return call(split(lib, lambda a, k=2: a * k, lambda ctx, i, o: None), leaf(lib))

    SCENARIOS[f"setup_context_{name}"] = bad_setup_call


@scenario
def setup_context_with_variable_arguments(lib):
    seen = []
    F = split(lib, lambda a, *rest: a * len(rest), lambda ctx, i, o: seen.append(len(i)), lambda ctx, g: (g, None, None))
    return [F.apply(leaf(lib), 1, 2), seen]


@scenario
def setup_context_may_not_save_a_returned_input(lib):
    return split(lib, lambda a: a, lambda ctx, i, o: ctx.save_for_backward(i[0])).apply(leaf(lib))


@scenario
def setup_context_may_not_save_a_returned_input_without_grad_either(lib):
    return split(lib, lambda a: a, lambda ctx, i, o: ctx.save_for_backward(i[0])).apply(leaf(lib).detach())


# ---- what inputs and views become ----


@scenario
def an_input_returned(lib):
    x = leaf(lib)
    F = define(lib, lambda ctx, a: a, lambda ctx, g: g * 5)
    y = F.apply(x)
    y.sum().backward()
    z = x.detach()
    w = F.apply(z)
    with lib.no_grad():
        v = F.apply(x)
    return [y is x, about(y), y._base is x, x.grad, w is z, about(w), v is x, about(v)]


@scenario
def a_returned_input_may_not_be_written(lib):
    return define(lib, lambda ctx, a: a).apply(leaf(lib) * 1).mul_(2)


@scenario
def the_base_of_a_returned_input_may_not_be_written(lib):
    z = leaf(lib) * 1
    y = define(lib, lambda ctx, a: a).apply(z)
    z.mul_(2)
    y.sum().backward()


@scenario
def a_view_returned(lib):
    x = leaf(lib)
    y = define(lib, lambda ctx, a: a.view(2, 1), lambda ctx, g: g.view(2) * 3).apply(x)
    y.sum().backward()
    return [about(y), y._base is x, x.grad]


@scenario
def a_returned_view_may_not_be_written(lib):
    return define(lib, lambda ctx, a: a.view(2, 1)).apply(leaf(lib) * 1).mul_(2)


@scenario
def one_of_several_returned_views_may_not_be_written(lib):
    return define(lib, lambda ctx, a: (a.view(2, 1), a * 2)).apply(leaf(lib) * 1)[0].mul_(2)


@scenario
def a_view_of_a_fresh_tensor_may_not_be_written(lib):
    return define(lib, lambda ctx, a: (a * 2).view(2, 1)).apply(leaf(lib)).mul_(2)


# ---- non-differentiable results, materialized gradients ----


@scenario
def results_without_a_derivative(lib):
    seen = []

    def forward(ctx, a):
        b, c, d = a * 2, a * 3, a.long()
        ctx.mark_non_differentiable(b)
        return b, c, d

    x = leaf(lib)
    b, c, d = define(lib, forward, lambda ctx, *g: seen.extend(g) or g[1]).apply(x)
    c.sum().backward()
    return [about(b), about(c), about(d), seen, [str(g.dtype).split(".")[1] for g in seen], x.grad]


@scenario
def an_input_marked_non_differentiable(lib):
    def forward(ctx, a):
        ctx.mark_non_differentiable(a)
        return a

    x = leaf(lib)
    y = define(lib, forward).apply(x)
    return [about(y), y is x, x.requires_grad]


@scenario
def a_view_marked_non_differentiable(lib):
    def forward(ctx, a):
        v = a.view(2, 1)
        ctx.mark_non_differentiable(v)
        return v

    return [about(define(lib, forward).apply(leaf(lib)))[:4], about(define(lib, forward).apply(leaf(lib) * 1))[:4]]


@scenario
def gradients_that_did_not_arrive(lib):
    seen = []

    def forward(ctx, a, materialize):
        ctx.set_materialize_grads(materialize)
        return a * 1, a.double().view(2, 1) * 2, 3

    F = define(lib, forward, lambda ctx, *g: seen.append(g) or (None if g[0] is None else g[0], None))
    x = leaf(lib)
    for materialize in (True, False):
        F.apply(x, materialize)[0].sum().backward()
        F.apply(x, materialize)[1].sum().backward()
    return [seen, x.grad]


@scenario
def gradients_that_did_not_arrive_for_non_differentiable_results(lib):
    seen = []

    def forward(ctx, a):
        ctx._materialize_non_diff_grads = False
        b = a * 2
        ctx.mark_non_differentiable(b)
        return b, a * 3

    define(lib, forward, lambda ctx, *g: seen.extend(g) or g[1]).apply(leaf(lib))[1].sum().backward()
    return seen


@scenario
def materialize_grads_wants_a_bool(lib):
    def forward(ctx, a):
        ctx.set_materialize_grads(3)

    return define(lib, forward).apply(leaf(lib))
