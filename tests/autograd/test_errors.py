"""Errors in a pass: their messages, and that everything stays usable afterwards."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow import autograd


def leaf(*values: float) -> ut.Tensor:
    return ut.tensor(values, requires_grad=True)


def failing(x: ut.Tensor) -> ut.Tensor:
    """x * 3, whose backward raises until the second call."""
    y = x * 3
    calls = []

    def hook(g):
        calls.append(1)
        if len(calls) == 1:
            raise KeyError("first call")

    y.register_hook(hook)
    return y


def test_a_failed_pass_can_be_run_again():
    x = leaf(2.0)
    z = (failing(x) * x).sum()
    with pytest.raises(KeyError):
        z.backward(retain_graph=True)
    x.grad = None
    z.backward()
    assert x.grad.tolist() == [12.0]


def test_a_failed_pass_leaves_other_graphs_alone():
    x = leaf(2.0)
    other = x * x
    with pytest.raises(KeyError):
        failing(x).sum().backward()
    other.sum().backward()
    assert x.grad.tolist() == [4.0]


def test_a_failed_pass_leaves_grad_old_or_new():
    x, y = leaf(2.0), leaf(5.0)
    x.grad, y.grad = ut.tensor([100.0]), ut.tensor([100.0])
    with pytest.raises(KeyError):
        (failing(x) * y).sum().backward()
    assert x.grad.tolist() == [100.0]
    assert y.grad.tolist() in ([100.0], [106.0])


def test_a_failed_grad_returns_the_modes():
    x = leaf(2.0)
    with pytest.raises(KeyError):
        autograd.grad(failing(x).sum(), x)
    assert ut.is_grad_enabled()
    assert ut._C._current_graph_task_id() == -1
    assert ut._C._current_autograd_node() is None


def test_gradients_that_had_arrived_are_dropped():
    x = leaf(2.0)
    a, b = x * 2, x * 3  # b runs first, and its gradient waits in x's buffer
    a.register_hook(lambda g: 1 / 0)
    z = (a + b).sum()
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            z.backward(retain_graph=True)
    assert x.grad is None
    a._backward_hooks.clear()
    z.backward()
    assert x.grad.tolist() == [5.0]


def test_a_failing_final_callback_is_raised():
    x = leaf(2.0)
    y = x * 3
    y.register_hook(lambda g: autograd.Variable._execution_engine.queue_callback(lambda: 1 / 0))
    with pytest.raises(ZeroDivisionError):
        y.backward()
    assert x.grad.tolist() == [3.0]


def test_the_exception_keeps_its_traceback_and_type():
    class Mine(Exception):
        pass

    def hook(g):
        raise Mine("text")

    x = leaf(2.0)
    y = x * 3
    y.register_hook(hook)
    with pytest.raises(Mine) as caught:
        y.backward()
    assert "hook" in [frame.name for frame in caught.traceback]


def test_keyboard_interrupt_passes_through():
    x = leaf(2.0)
    y = x * 3

    def hook(g):
        raise KeyboardInterrupt

    y.register_hook(hook)
    with pytest.raises(KeyboardInterrupt):
        y.backward()


def test_a_warning_turned_error_in_a_hook_is_raised():
    import warnings

    x = leaf(2.0)
    y = x * 3
    y.register_hook(lambda g: warnings.warn("careful", stacklevel=1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="careful"):
            y.backward()


def test_an_out_argument_that_requires_grad_raises():
    clause = r"functions with out=\.\.\. arguments don't support automatic differentiation, but one of the arguments requires grad"
    with pytest.raises(RuntimeError, match=clause):
        ut.mul(leaf(1.0), 2, out=ut.empty(1))
    with ut.no_grad():
        assert ut.mul(leaf(1.0), 2, out=ut.empty(1)).tolist() == [2.0]


def test_writing_to_a_view_made_in_no_grad_raises():
    base = leaf(1.0, 2.0) * 1
    with ut.no_grad():
        view = base.view(2, 1)
    with pytest.raises(RuntimeError, match=r"^A view was created in no_grad mode and is being modified inplace with grad mode enabled"):
        view.mul_(2)


def test_writing_to_one_of_several_views_raises():
    first, _ = (leaf(1.0, 2.0) * 1).unbind()
    clause = (r"^Output 0 of Unbind(Backward0)? is a view and is being modified inplace\. "
              r"This view is the output of a function that returns multiple views")
    with pytest.raises(RuntimeError, match=clause):
        first.mul_(2)


@pytest.mark.parametrize("make", [
    lambda: ut.ones(2) + ut.ones(3),
    lambda: ut.ones(2, 3) * ut.ones(2, 4),
])
def test_shapes_that_do_not_broadcast_are_named(make):
    with pytest.raises(RuntimeError, match=r"^The size of tensor a \(\d\) must match the size of tensor b \(\d\) at non-singleton dimension \d"):
        make()


def test_an_in_place_result_must_fit():
    with pytest.raises(RuntimeError, match=r"^output with shape \[2\] doesn't match the broadcast shape \[3, 2\]"):
        ut.ones(2).add_(ut.ones(3, 2))
    with pytest.raises(RuntimeError, match=r"^result type Float can't be cast to the desired output type (Long|Int)"):
        ut.ones(2, dtype=ut.int64).add_(1.5)
