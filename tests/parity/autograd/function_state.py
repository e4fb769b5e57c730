"""Scenarios of custom Functions that write in place or save tensors, for test_function_parity.py."""

from __future__ import annotations

from typing import Any

from function_scenarios import about, define, leaf, name_of

SCENARIOS: dict[str, Any] = {}


def scenario(f: Any) -> Any:
    SCENARIOS[f.__name__] = f
    return f


# ---- in place ----


def doubling(lib: Any, position: int = 0, **attributes: Any) -> Any:
    def forward(ctx, *args):
        ctx.mark_dirty(args[position])
        args[position].mul_(2)
        return args[position]

    def backward(ctx, g):
        return tuple(g * 2 if i == position else g * 7 if needed else None for i, needed in enumerate(ctx.needs_input_grad))

    return define(lib, forward, backward, **attributes)


@scenario
def an_input_written(lib):
    x = leaf(lib)
    z = x * 1
    y = doubling(lib).apply(z)
    y.sum().backward()
    return [y is z, about(y), x.grad]


@scenario
def an_input_written_that_needs_no_grad(lib):
    x = leaf(lib)
    buffer = lib.zeros(2, dtype=lib.float64)

    def forward(ctx, b, a):
        ctx.mark_dirty(b)
        return b.add_(a)

    y = define(lib, forward, lambda ctx, g: (None, g)).apply(buffer, x)
    (y * y).sum().backward()
    return [y is buffer, about(buffer), x.grad]


@scenario
def an_input_written_without_recording(lib):
    x, F = leaf(lib), doubling(lib)
    plain = x.detach()
    y = F.apply(plain)
    with lib.no_grad():
        z = x * 1
        w, v = F.apply(z), F.apply(x)
    return [y is plain, about(y), w is z, about(w), v is x, about(v), x]


@scenario
def a_view_written(lib):
    x = leaf(lib)
    z = x * 1
    v = z.view(2, 1)
    y = doubling(lib).apply(v)
    (z * z).sum().backward()
    return [y is v, about(y), about(z), x.grad]


@scenario
def part_of_a_base_written(lib):
    x = leaf(lib, 1.0, 2.0, 3.0)
    z = x * 1
    doubling(lib).apply(z[:2])
    (z * z).sum().backward()
    return [z, name_of(z), x.grad]


@scenario
def a_saved_tensor_written(lib):
    z = leaf(lib) * 1
    w = z * z
    doubling(lib).apply(z)
    w.sum().backward()


@scenario
def a_leaf_written(lib):
    return doubling(lib).apply(leaf(lib))


@scenario
def a_view_of_a_leaf_written(lib):
    return doubling(lib).apply(leaf(lib).view(2, 1))


@scenario
def one_of_several_views_written(lib):
    return doubling(lib).apply((leaf(lib) * 1).chunk(2)[0])


@scenario
def a_view_of_no_grad_written(lib):
    z = leaf(lib) * 1
    with lib.no_grad():
        v = z.view(2, 1)
    return doubling(lib).apply(v)


@scenario
def a_view_written_by_a_function_of_two_results(lib):
    def forward(ctx, a):
        ctx.mark_dirty(a)
        return a.mul_(2), 1

    return define(lib, forward).apply((leaf(lib) * 1).view(2, 1))


@scenario
def a_dirty_input_not_returned(lib):
    def forward(ctx, a):
        ctx.mark_dirty(a)
        return a * 2

    return define(lib, forward).apply(leaf(lib) * 1)


@scenario
def a_fresh_tensor_marked_dirty(lib):
    def forward(ctx, a):
        b = a * 2
        ctx.mark_dirty(b)
        return b

    return about(define(lib, forward).apply(leaf(lib)))


@scenario
def something_marked_dirty(lib):
    return define(lib, lambda ctx, a: ctx.mark_dirty(3)).apply(leaf(lib))


@scenario
def something_marked_non_differentiable(lib):
    return define(lib, lambda ctx, a: ctx.mark_non_differentiable(3)).apply(leaf(lib))


# ---- what is saved ----


def exp(lib: Any, **attributes: Any) -> Any:
    def forward(ctx, a):
        y = a.exp()
        ctx.save_for_backward(y)
        return y

    return define(lib, forward, lambda ctx, g: g * ctx.saved_tensors[0], **attributes)


@scenario
def a_saved_output_differentiates_again(lib):
    x = leaf(lib)
    (g,) = lib.autograd.grad(exp(lib).apply(x).sum(), x, create_graph=True)
    (h,) = lib.autograd.grad(g.sum(), x, create_graph=True)
    return [g, h, lib.autograd.grad(h.sum(), x)]


@scenario
def a_saved_input_differentiates_again(lib):
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a**3

    x = leaf(lib)
    (g,) = lib.autograd.grad(define(lib, forward, lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2).apply(x).sum(), x, create_graph=True)
    return [g, lib.autograd.grad(g.sum(), x)]


@scenario
def none_among_the_saved(lib):
    def forward(ctx, a):
        ctx.save_for_backward(None, a, None)
        return a * 1

    return define(lib, forward).apply(leaf(lib)).grad_fn.saved_tensors


@scenario
def a_non_tensor_saved(lib):
    def forward(ctx, a):
        ctx.save_for_backward(a, 3)
        return a * 1

    return define(lib, forward).apply(leaf(lib))


@scenario
def a_non_tensor_saved_without_recording(lib):
    def forward(ctx, a):
        ctx.save_for_backward(a, 3)
        return a * 1

    return define(lib, forward).apply(leaf(lib).detach())


@scenario
def a_non_tensor_saved_for_forward(lib):
    return define(lib, lambda ctx, a: ctx.save_for_forward(3)).apply(leaf(lib))


@scenario
def to_save_must_be_a_tuple(lib):
    def forward(ctx, a):
        ctx.to_save = [a]
        return a * 1

    return define(lib, forward).apply(leaf(lib))


@scenario
def backward_twice(lib):
    y = exp(lib).apply(leaf(lib)).sum()
    y.backward()
    y.backward()


@scenario
def saved_tensors_after_backward(lib):
    y = exp(lib).apply(leaf(lib))
    y.sum().backward()
    return y.grad_fn.saved_tensors


@scenario
def raw_saved_tensors_after_backward(lib):
    y = exp(lib).apply(leaf(lib))
    y.sum().backward()
    return y.grad_fn._raw_saved_tensors


@scenario
def saved_tensors_of_a_function_that_saved_nothing_after_backward(lib):
    y = define(lib, lambda ctx, a: a * 1).apply(leaf(lib))
    y.sum().backward()
    y.sum().backward()
    return y.grad_fn.saved_tensors


@scenario
def a_saved_output_written_later(lib):
    y = exp(lib).apply(leaf(lib))
    y.mul_(2)
    y.sum().backward()


@scenario
def a_saved_input_written_later(lib):
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * 1

    z = leaf(lib) * 1
    y = define(lib, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(z)
    z.mul_(2)
    y.sum().backward()


@scenario
def saved_tensors_cleared_on_access(lib):
    return exp(lib, clear_saved_tensors_on_access=True).apply(leaf(lib)).sum().backward()


@scenario
def saved_tensors_read_twice_though_cleared_on_access(lib):
    F = define(lib, lambda ctx, a: (ctx.save_for_backward(a), a * 1)[1], lambda ctx, g: ctx.saved_tensors[0] * ctx.saved_tensors[0], clear_saved_tensors_on_access=True)
    F.apply(leaf(lib)).sum().backward()


@scenario
def clear_saved_tensors_on_access_wants_a_bool(lib):
    return exp(lib, clear_saved_tensors_on_access=3).apply(leaf(lib))


@scenario
def gradients_in_a_box(lib):
    seen = []
    x = leaf(lib)
    define(lib, lambda ctx, a: (a * 1, a * 2), lambda ctx, g: seen.append([type(g).__name__, len(g)]) or g.pop(), boxed_grads_call=True).apply(x)[1].sum().backward()
    return [seen, x.grad]


@scenario
def saved_tensor_hooks_apply(lib):
    log = []
    with lib.autograd.graph.saved_tensors_hooks(lambda t: log.append("pack") or t * 10, lambda t: log.append("unpack") or t / 10):
        x = leaf(lib)
        y = exp(lib).apply(x)
    y.sum().backward()
    return [log, x.grad]


@scenario
def hooks_on_a_raw_saved_tensor(lib):
    x = leaf(lib)
    y = exp(lib).apply(x)
    y.grad_fn._raw_saved_tensors[0].register_hooks(lambda t: t.tolist(), lambda t: lib.tensor(t, dtype=lib.float64) * 2)
    y.sum().backward()
    return x.grad
