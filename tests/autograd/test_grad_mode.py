"""no_grad, enable_grad, inference_mode and related switches, as contexts, calls and decorators."""

from __future__ import annotations

import threading

import pytest

import undertow as ut
from undertow import autograd
from undertow.autograd.grad_mode import set_multithreading_enabled


@pytest.fixture(autouse=True)
def recording_before_and_after():
    assert ut.is_grad_enabled()
    yield
    assert ut.is_grad_enabled()


def test_no_grad_records_nothing_and_restores():
    x = ut.ones(2, requires_grad=True)
    with ut.no_grad():
        assert not ut.is_grad_enabled()
        assert not (x * 2).requires_grad
        with ut.enable_grad():
            assert (x * 2).requires_grad
        assert not ut.is_grad_enabled()


def test_no_grad_restores_after_an_error():
    with pytest.raises(KeyError), ut.no_grad():
        raise KeyError


@pytest.mark.parametrize("decorator", [ut.no_grad(), ut.no_grad], ids=["called", "bare"])
def test_no_grad_decorates_functions(decorator):
    @decorator
    def mode(value, *, other):
        """Its doc."""
        return ut.is_grad_enabled(), value, other

    assert mode(1, other=2) == (False, 1, 2)
    assert mode.__name__ == "mode"
    assert mode.__doc__ == "Its doc."
    assert hasattr(mode, "__wrapped__")


def test_enable_grad_decorates_without_parentheses():
    with ut.no_grad():
        assert ut.enable_grad(ut.is_grad_enabled)()


def test_a_decorated_function_may_call_itself():
    @ut.no_grad()
    def down(n):
        inside = [ut.is_grad_enabled()]
        return inside + (down(n - 1) if n else []) + [ut.is_grad_enabled()]

    assert down(3) == [False] * 8


def test_a_method_can_be_decorated_too():
    class Model:
        @ut.no_grad()
        def forward(self, x):
            return (x * 2).requires_grad

    assert not Model().forward(ut.ones(1, requires_grad=True))


def test_decorating_a_class_warns_and_covers_its_construction_only():
    class Model:
        def __init__(self):
            self.made_with = ut.is_grad_enabled()

        def mode(self):
            return ut.is_grad_enabled()

    with pytest.warns(
        FutureWarning, match=r"^Decorating classes is deprecated and will be disabled"
    ):
        decorated = ut.no_grad()(Model)
    model = decorated()
    assert not model.made_with
    assert model.mode()


def test_a_decorated_generator_leaves_the_mode_at_each_yield():
    seen = []

    @ut.no_grad()
    def steps():
        seen.append(ut.is_grad_enabled())
        got = yield "first"
        seen.append((got, ut.is_grad_enabled()))
        try:
            yield "second"
        except KeyError:
            seen.append(("thrown", ut.is_grad_enabled()))
        yield "third"
        return "done"

    gen = steps()
    assert next(gen) == "first"
    assert ut.is_grad_enabled()
    assert gen.send(5) == "second"
    assert ut.is_grad_enabled()
    assert gen.throw(KeyError()) == "third"
    assert ut.is_grad_enabled()
    with pytest.raises(StopIteration) as stop:
        next(gen)
    assert stop.value.value == "done"
    assert seen == [False, (5, False), ("thrown", False)]


def test_closing_a_decorated_generator_runs_its_end_in_the_mode():
    seen = []

    @ut.no_grad()
    def steps():
        try:
            yield 1
        finally:
            seen.append(ut.is_grad_enabled())

    gen = steps()
    next(gen)
    gen.close()
    assert seen == [False]


def test_set_grad_enabled_is_a_call():
    ut.set_grad_enabled(False)
    try:
        assert not ut.is_grad_enabled()
    finally:
        ut.set_grad_enabled(True)


def test_set_grad_enabled_restores_the_mode_of_its_construction():
    with ut.set_grad_enabled(False):
        assert not ut.is_grad_enabled()
    context = ut.set_grad_enabled(False)
    for _ in range(2):
        with context:
            assert not ut.is_grad_enabled()
        assert ut.is_grad_enabled()


def test_set_grad_enabled_decorates_without_switching():
    @ut.set_grad_enabled(False)
    def mode():
        return ut.is_grad_enabled()

    assert ut.is_grad_enabled()
    assert not mode()
    assert ut.is_grad_enabled()


def test_set_grad_enabled_shows_its_mode():
    assert repr(ut.set_grad_enabled(True)).endswith(
        "autograd.grad_mode.set_grad_enabled(mode=True)"
    )


@pytest.mark.parametrize("value", [3, "x", None])
def test_set_grad_enabled_wants_a_bool(value):
    clause = r"^set_grad_enabled\(\): argument 'enabled' \(position 1\) must be bool, not "
    with pytest.raises(TypeError, match=clause + type(value).__name__):
        ut.set_grad_enabled(value)


def test_the_mode_is_per_thread():
    seen = []
    with ut.no_grad():
        thread = threading.Thread(target=lambda: seen.append(ut.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_inference_mode_switches_recording_off():
    x = ut.ones(2, requires_grad=True)
    with ut.inference_mode():
        assert ut.is_inference_mode_enabled()
        assert not ut.is_grad_enabled()
        assert not (x * 2).requires_grad
        with ut.inference_mode(False):
            assert not ut.is_inference_mode_enabled()
            assert ut.is_grad_enabled()
    assert not ut.is_inference_mode_enabled()


def test_inference_mode_false_turns_recording_on_inside_no_grad():
    x = ut.ones(2, requires_grad=True)
    with ut.no_grad():
        with ut.inference_mode(False):
            assert ut.is_grad_enabled()
            assert (x * 2).requires_grad
        assert not ut.is_grad_enabled()


def test_nothing_is_recorded_in_inference_mode_even_with_enable_grad():
    with ut.inference_mode(), ut.enable_grad():
        y = ut.ones(2, requires_grad=True) * 2
    assert y.is_inference()
    assert not y.requires_grad
    assert ut.is_grad_enabled()


@pytest.mark.parametrize(
    "decorator", [ut.inference_mode(), ut.inference_mode], ids=["called", "bare"]
)
def test_inference_mode_decorates(decorator):
    @decorator
    def modes():
        return ut.is_inference_mode_enabled(), ut.is_grad_enabled()

    assert modes() == (True, False)


def test_multithreading_is_switched_by_call_and_by_context():
    enabled = autograd.is_multithreading_enabled
    before = enabled()
    with set_multithreading_enabled(not before):
        assert enabled() is not before
    assert enabled() is before
    set_multithreading_enabled(not before)
    assert enabled() is not before
    set_multithreading_enabled(before)


def test_anomaly_detection_is_a_context_that_warns():
    warning = r"^Anomaly Detection has been enabled\."
    with pytest.warns(UserWarning, match=warning), autograd.detect_anomaly(check_nan=False):
        assert ut.is_anomaly_enabled()
        assert not ut.is_anomaly_check_nan_enabled()
    assert not ut.is_anomaly_enabled()
    assert ut.is_anomaly_check_nan_enabled()


def test_anomaly_detection_is_set_by_call_and_by_context():
    with autograd.set_detect_anomaly(True):
        assert ut.is_anomaly_enabled()
    assert not ut.is_anomaly_enabled()
    autograd.set_detect_anomaly(True, False)
    assert (ut.is_anomaly_enabled(), ut.is_anomaly_check_nan_enabled()) == (True, False)
    autograd.set_detect_anomaly(False)
    assert (ut.is_anomaly_enabled(), ut.is_anomaly_check_nan_enabled()) == (False, True)


def test_a_first_gradient_keeps_its_strides_where_the_policy_is_off():
    def first_strides():
        p = ut.zeros(3, 2, requires_grad=True)
        (p.t() * ut.ones(2, 3)).sum().backward()
        q = ut.zeros(2, 3).t().requires_grad_()
        q.mul(ut.ones(3, 2)).sum().backward()
        return q.grad.stride()

    assert first_strides() == (1, 3)
    with ut.autograd.enforce_grad_layout_policy(False):
        assert first_strides() == (2, 1)
    assert first_strides() == (1, 3)

    @ut.autograd.enforce_grad_layout_policy(False)
    def relaxed():
        return first_strides()

    assert relaxed() == (2, 1) and first_strides() == (1, 3)


def test_versions_can_be_preserved_explicitly():
    x = ut.ones(2, requires_grad=True)
    y = x.clone()
    z = y * y
    with ut.autograd._unsafe_preserve_version_counter(y), ut.no_grad():
        y.fill_(5)
    assert y._version == 0
    z.sum().backward()
    assert x.grad.tolist() == [10.0, 10.0]
