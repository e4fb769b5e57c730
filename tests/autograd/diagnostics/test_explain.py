"""explain_grad: why a gradient is None, zero or not finite, with the operation and the line."""

from __future__ import annotations

import inspect
import warnings

import pytest

import undertow as ut
from undertow import autograd
from undertow.autograd import explain_grad


def leaf(*shape: int, value: float = 1.0) -> ut.Tensor:
    return ut.full(shape or (3,), value).requires_grad_()


def here() -> str:
    """file:line of the caller's line."""
    frame = inspect.currentframe().f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


# ---- cut off, with recording ----


def test_detach_is_named_with_its_line():
    w, x = leaf(), leaf()
    where = []

    def loss():
        where.append(here()); d = w.detach()  # noqa: E702
        return (d * x).sum()

    why = explain_grad(w, loss)
    assert (why.reason, why.operation, why.line) == ("detached", "detach", where[0])
    assert "detach()" in str(why)


def test_data_is_named():
    w, x = leaf(), leaf()
    why = explain_grad(w, lambda: (w.data * x).sum())
    assert (why.reason, why.operation) == ("detached", ".data")


def test_a_detached_intermediate_is_found_from_the_parameter_behind_it():
    w, x = leaf(), leaf()
    why = explain_grad(w, lambda: ((w * 2).exp().detach().sin() * x).sum())
    assert (why.reason, why.operation) == ("detached", "detach")


def test_detach_in_place_is_named():
    w, x = leaf(), leaf()
    why = explain_grad(w, lambda: ((w * 2).detach_() * x).sum())
    assert (why.reason, why.operation) == ("detached", "detach_")


def test_copying_by_tensor_or_parameter_loses_the_history():
    w, x = leaf(), leaf()
    with warnings.catch_warnings(action="ignore"):
        why = explain_grad(w, lambda: (ut.tensor(w * 2) * x).sum())
    assert (why.reason, why.operation) == ("detached", "tensor")
    why = explain_grad(w, lambda: (ut.nn.Parameter(w * 2) * x).sum())
    assert (why.reason, why.operation) == ("detached", "Parameter")


def test_no_grad_names_the_first_operation_inside():
    w, x = leaf(), leaf()

    def loss():
        with ut.no_grad():
            h = (w * 2).exp()
        return (h * x).sum()

    why = explain_grad(w, loss)
    assert (why.reason, why.operation) == ("no_grad", "mul")


def test_inference_mode_is_distinguished_from_no_grad():
    w, x = leaf(), leaf()

    def loss():
        with ut.inference_mode():
            h = w * 2
        return (h.clone() * x).sum()

    assert explain_grad(w, loss).reason == "inference_mode"


@pytest.mark.parametrize("cast", [lambda t: t.int(), lambda t: t.to(ut.int64), lambda t: t.bool(), lambda t: t.long()])
def test_a_cast_to_integers_is_named(cast):
    w, x = leaf(), leaf()
    why = explain_grad(w, lambda: (cast(w) * x).sum())
    assert (why.reason, why.operation) == ("integer", "to")


@pytest.mark.parametrize(("operation", "apply"), [("gt", lambda t: t > 0), ("argmax", lambda t: t.argmax(0, keepdim=True)), ("isnan", lambda t: t.isnan())])
def test_a_non_differentiable_operation_is_named(operation, apply):
    w, x = leaf(), leaf()
    why = explain_grad(w, lambda: (apply(w) * x).sum())
    assert (why.reason, why.operation) == ("nondifferentiable", operation)


def test_one_of_two_results_has_no_derivative():
    w, x = leaf(), leaf()
    why = explain_grad(w, lambda: (w.sort().indices * x).sum())
    assert (why.reason, why.operation) == ("nondifferentiable", "sort")


def test_a_write_in_place_under_no_grad_is_found_through_views():
    w, x = leaf(), leaf()

    def loss():
        table = ut.zeros(2, 3)
        with ut.no_grad():
            table[1] = w * 2
        return (table * x).sum()

    why = explain_grad(w, loss)
    assert why.reason == "no_grad"


def test_a_view_read_after_its_base_was_written_shows_what_was_written():
    w, x = leaf(), leaf()

    def loss():
        table = ut.zeros(2, 3)
        row = table[1]
        table.copy_(w.detach().expand(2, 3))
        return (row * x).sum()

    assert explain_grad(w, loss).operation == "detach"


def test_every_cut_is_listed_once():
    w, x = leaf(), leaf()

    def loss():
        a = w.detach()
        with ut.no_grad():
            b = w * 2
        return (a * x + b * x).sum()

    why = explain_grad(w, loss)
    assert [cut[0] for cut in why.cuts] == ["detached", "no_grad"]
    assert "Also:" in str(why)


def test_a_parameter_that_was_never_used():
    w, x = leaf(), leaf()
    why = explain_grad(w, lambda: (x * 2).sum())
    assert (why.reason, why.operation, why.cuts) == ("unused", None, [])


def test_a_shape_is_not_a_use():
    w, x = leaf(), leaf()
    assert explain_grad(w, lambda: (ut.zeros_like(w) * x).sum()).reason == "unused"


def test_a_value_that_left_as_a_number_is_mentioned():
    w, x = leaf(), leaf()
    why = explain_grad(w, lambda: x.sum() * (w * 2).sum().item())
    assert why.reason == "unused"
    assert "item() at" in str(why)
    why = explain_grad(w, lambda: x[w.argmax()])
    assert "item() at" in str(why)
    assert "item()" not in str(explain_grad(leaf(), lambda: (x * 2).sum()))


def test_a_whole_loss_without_a_graph_is_explained():
    w = leaf()

    def loss():
        with ut.no_grad():
            return (w * 2).sum()

    assert explain_grad(w, loss).reason == "no_grad"
    assert explain_grad(w, lambda: (w * 2).sum().detach()).reason == "detached"


def test_requires_grad_set_after_the_use():
    w, x = ut.ones(3), leaf()

    def loss():
        out = (w * x).sum()
        w.requires_grad_()
        return out

    assert explain_grad(w, loss).reason == "frozen"


# ---- the tensor itself ----


def test_a_frozen_leaf():
    w = ut.ones(3)
    why = explain_grad(w, (leaf() * w).sum())
    assert (why.reason, why.operation) == ("frozen", None)


def test_an_integer_tensor_has_no_gradient():
    assert explain_grad(ut.tensor([1, 2]), leaf().sum()).reason == "integer"


def test_a_tensor_made_by_detach_is_reported():
    w = leaf()
    kept = []
    explain_grad(w, lambda: (kept.append(w.detach()) or w * 2).sum())
    assert explain_grad(kept[0], (w * 2).sum()).reason == "detached"


def test_a_non_leaf_needs_retain_grad():
    h = leaf() * 2
    loss = h.sum()
    why = explain_grad(h, loss)
    assert (why.reason, why.operation) == ("non_leaf", "MulBackward0")
    h.retain_grad()
    assert explain_grad(h, loss).reason == "fine"


# ---- used: what happened to the gradient ----


def test_a_good_gradient_is_fine():
    w = leaf()
    why = explain_grad(w, (w * 3).sum())
    assert why.reason == "fine"
    assert why.grad.tolist() == [3.0, 3.0, 3.0]


def test_the_node_that_made_it_zero_is_named_with_its_line():
    w = leaf()
    where = []

    def loss():
        where.append(here()); dead = (w - 2).relu()  # noqa: E702
        return (dead * 3).sum()

    why = explain_grad(w, loss)
    assert (why.reason, why.operation, why.line) == ("zero", "ReluBackward0", where[0])


def test_cancellation_is_distinguished_from_a_node_that_returns_zero():
    w = leaf()
    why = explain_grad(w, (w * 2 - w * 2).sum())
    assert why.reason == "zero"
    assert "add up to zero" in str(why)


def test_a_zero_branch_is_not_blamed_if_another_is_nonzero():
    w = leaf()
    assert explain_grad(w, ((w - 2).relu() + w * 2).sum()).reason == "fine"


def test_the_node_that_made_it_nan_or_infinite_is_named():
    w = leaf(value=0.0)
    why = explain_grad(w, (w.sqrt() * 2).exp().sum())
    assert (why.reason, why.operation) == ("nonfinite", "SqrtBackward0")
    why = explain_grad(w, (w.sqrt() * 0).sum())  # 0 * inf
    assert (why.reason, why.operation) == ("nonfinite", "SqrtBackward0")


def test_a_loss_that_is_not_finite_is_mentioned():
    w = leaf(value=0.0)
    why = explain_grad(w, w.log().sum())
    assert (why.reason, why.operation) == ("nonfinite", "LogBackward0")
    assert "The loss itself is not finite" in str(why)


def test_a_hook_that_spoils_the_gradient_is_named_as_a_hook():
    w = leaf()
    h = w * 2
    h.register_hook(lambda g: g * 0)
    why = explain_grad(w, h.exp().sum())
    assert (why.reason, why.operation) == ("zero", "MulBackward0")
    assert "hook" in str(why)
    v = leaf()
    v.register_hook(lambda g: g * float("nan"))
    assert "hook" in str(explain_grad(v, v.exp().sum()))


def test_a_loss_of_several_elements_is_summed():
    w = leaf()
    assert explain_grad(w, w * 2).grad.tolist() == [2.0, 2.0, 2.0]


def test_the_pass_leaves_every_grad_and_the_graph_as_they_were():
    w = leaf()
    h = w * 2
    h.retain_grad()
    loss = h.exp().sum()
    explain_grad(w, loss)
    assert w.grad is None
    assert h.grad is None
    loss.backward()
    assert w.grad is not None
    before = w.grad.clone(), h.grad.clone()
    again = (w * 2).exp().sum()
    explain_grad(w, again)
    assert ut.equal(w.grad, before[0])
    assert ut.equal(h.grad, before[1])


def test_the_watch_ends_with_the_pass_even_if_it_fails():
    w = leaf()
    h = w * 2
    h.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        explain_grad(w, h.sum())
    assert ut._C._watched_grads() == []
    (w * 3).sum().backward()


def test_with_several_workers_the_same_node_is_named():
    w = leaf()
    loss = sum(((w - 2 - i).relu() * i).sum() for i in range(6))
    ut.autograd.set_num_workers(3)
    try:
        why = explain_grad(w, loss)
    finally:
        ut.autograd.set_num_workers(1)
    assert (why.reason, why.operation) == ("zero", "ReluBackward0")


def test_a_long_chain_is_explained():
    w = leaf(1)
    y = (w - 2).relu()
    for _ in range(100_000):
        y = y * 1.0
    assert explain_grad(w, y.sum()).operation == "ReluBackward0"


def test_after_backward_the_grad_itself_is_looked_at():
    w, v = leaf(), leaf()
    loss = (w * v.relu()).sum()
    loss.backward()
    assert explain_grad(w, loss).reason == "fine"
    w.grad = None
    assert explain_grad(w, loss).reason == "freed"
    w.grad = ut.zeros(3)
    assert explain_grad(w, loss).reason == "zero"
    assert explain_grad(leaf(), loss).reason == "unused_or_cut"


# ---- custom functions ----


class Halves(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        low = x * 0.5
        ctx.mark_non_differentiable(low)
        return low, x * 2

    @staticmethod
    def backward(ctx, _, grad):
        return grad * 2


def test_a_result_that_a_custom_function_marked_is_named_by_the_function():
    w, x = leaf(), leaf()
    why = explain_grad(w, lambda: (Halves.apply(w)[0] * x).sum())
    assert (why.reason, why.operation) == ("nondifferentiable", "HalvesBackward")
    assert explain_grad(w, lambda: (Halves.apply(w)[1] * x).sum()).reason == "fine"


def test_a_backward_that_returns_none_is_named():
    class Forgets(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return None

    w = leaf()
    why = explain_grad(w, Forgets.apply(w * 2).exp().sum())
    assert (why.reason, why.operation) == ("nondifferentiable", "ForgetsBackward")


def test_arguments_of_the_wrong_type_raise():
    with pytest.raises(TypeError, match="expects a tensor"):
        explain_grad(3, leaf())
    with pytest.raises(TypeError, match="or a function"):
        explain_grad(leaf(), 3)
    with pytest.raises(TypeError, match="should return a tensor"):
        explain_grad(leaf(), lambda: None)


def test_the_repr_is_short_and_the_text_explains():
    w = leaf()
    why = explain_grad(w, lambda: (w.detach() * leaf()).sum())
    assert repr(why).startswith("GradExplanation(reason='detached', operation='detach', line='")
    assert str(why).startswith("detached: the loss was computed from it, but detach() at ")
