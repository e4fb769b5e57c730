"""`autograd.backward` and `autograd.grad` ask `__torch_function__`, as the operators do."""

from __future__ import annotations

import undertow as ut


class Recorded(ut.Tensor):
    seen: list = []  # noqa: RUF012

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.seen.append((func, args, kwargs))
        return super().__torch_function__(func, types, args, kwargs or {})


def recorded(use):
    Recorded.seen.clear()
    result = use()
    return result, [call for call in Recorded.seen if call[0] in (ut.autograd.backward, ut.autograd.grad)]


def test_backward_asks_with_the_outputs_as_a_tuple():
    x = ut.ones(2, requires_grad=True)
    y = (x * 2).as_subclass(Recorded)
    g = ut.ones(2)
    _, calls = recorded(lambda: ut.autograd.backward(y, g))
    ((func, args, kwargs),) = calls
    assert func is ut.autograd.backward and args[0][0] is y
    assert kwargs["grad_tensors"] is g and kwargs["inputs"] is None and set(kwargs) == {"grad_tensors", "retain_graph", "create_graph", "inputs"}
    assert x.grad.tolist() == [2.0, 2.0]


def test_grad_asks_for_outputs_and_inputs():
    x = ut.ones(2, requires_grad=True)
    y = (x * 2).as_subclass(Recorded)
    result, calls = recorded(lambda: ut.autograd.grad(y.sum(), {"x": x}))
    ((func, args, kwargs),) = calls
    assert func is ut.autograd.grad and args[1][0] is x and kwargs["allow_unused"] is False
    assert result["x"].tolist() == [2.0, 2.0]
    z = x.as_subclass(Recorded)
    assert len(recorded(lambda: ut.autograd.grad((z * 1).as_subclass(ut.Tensor).sum(), z))[1]) == 1


def test_a_mode_can_answer_for_both():
    class Mode(ut.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return "answered" if func is ut.autograd.grad else func(*args, **(kwargs or {}))

    x = ut.ones(2, requires_grad=True)
    y = (x * 2).sum()
    with Mode():
        assert ut.autograd.grad(y, x) == "answered"
    assert ut.autograd.grad(y, x)[0].tolist() == [2.0, 2.0]


def test_printing_a_subclass_asks_once():
    Recorded.seen.clear()
    repr(ut.ones(2).as_subclass(Recorded))
    assert [call[0] for call in Recorded.seen] == [ut.Tensor.__repr__]


def test_forward_events_name_thread_zero_and_creators_hold_their_allocation():
    x = ut.ones(3, requires_grad=True)
    with ut.autograd.profiler.profile() as prof:
        ut.randn(3)
        ut.ones(2).resize_(2)
        (x * 2).sum().backward()
    events = {event.name: event for event in prof.function_events}
    assert events["aten::mul"].fwd_thread == 0 and events["MulBackward0"].fwd_thread == events["aten::sum"].thread
    assert [child.name for child in events["aten::randn"].cpu_children] == ["aten::empty"]
    assert all(event.sequence_nr == -1 for event in prof.function_events if event.name == "aten::empty")
    assert "aten::resize_" in events
