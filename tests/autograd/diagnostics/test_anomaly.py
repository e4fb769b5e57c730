"""Anomaly mode: the forward line behind a failing backward node, in every thread."""

import threading
import warnings

import pytest

import undertow as ut


def failing(x):
    y = x * x  # this line is named
    y.grad_fn.register_prehook(lambda g: 1 / 0)
    return y


def test_a_failing_node_names_its_forward_line():
    with ut.autograd.set_detect_anomaly(True):
        y = failing(ut.ones(2, requires_grad=True))
        with pytest.warns(UserWarning, match=r"(?s)Error detected in MulBackward0. Traceback of forward call.*this line is named"):
            with pytest.raises(ZeroDivisionError):
                y.sum().backward()


def test_a_node_made_before_says_so():
    y = failing(ut.ones(2, requires_grad=True))
    with ut.autograd.set_detect_anomaly(True):
        with pytest.warns(UserWarning, match="Error detected in MulBackward0. No forward pass information available"):
            with pytest.raises(ZeroDivisionError):
                y.sum().backward()


def test_the_failure_is_raised_even_if_warnings_are_errors():
    with ut.autograd.set_detect_anomaly(True), warnings.catch_warnings():
        y = failing(ut.ones(2, requires_grad=True))
        warnings.simplefilter("error")
        with pytest.raises(ZeroDivisionError):
            y.sum().backward()


def test_nothing_is_reported_outside_anomaly_mode():
    y = failing(ut.ones(2, requires_grad=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ZeroDivisionError):
            y.sum().backward()


def test_double_backward_names_the_node_that_created_it():
    with ut.autograd.set_detect_anomaly(True):
        x = ut.ones(2, requires_grad=True)
        (g,) = ut.autograd.grad((x * x * x).sum(), x, create_graph=True)
        g.grad_fn.register_prehook(lambda g: 1 / 0)
        with pytest.warns(UserWarning) as caught, pytest.raises(ZeroDivisionError):
            g.sum().backward()
    assert any("Error detected in" in str(w.message) for w in caught)


def test_nans_are_found_unless_check_nan_is_off():
    x, nan = ut.tensor([0.0], requires_grad=True), ut.tensor([float("nan")])
    with ut.autograd.set_detect_anomaly(True):
        with pytest.warns(UserWarning, match="Error detected in MulBackward0"):
            with pytest.raises(RuntimeError, match="Function 'MulBackward0' returned nan values in its 0th output"):
                (x * nan).sum().backward()
    with ut.autograd.set_detect_anomaly(True, check_nan=False):
        (x * nan).sum().backward()


def test_the_mode_applies_to_the_whole_process():
    with ut.autograd.set_detect_anomaly(True):
        seen = []

        def work():
            seen.append(ut.is_anomaly_enabled())
            y = failing(ut.ones(1, requires_grad=True))
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    y.sum().backward()
                except ZeroDivisionError:
                    seen.append([str(w.message) for w in caught])

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert seen[0] is True and "this line is named" in seen[1][0]
    assert not ut.is_anomaly_enabled()


def test_recorded_lines_are_cheap_and_short():
    ut._C._record_lines(True)
    try:
        y = failing(ut.ones(1, requires_grad=True))
        ut._C._trace_start()
        with pytest.raises(ZeroDivisionError):
            y.backward()
        lines = {r["line"] for r in ut._C._trace_stop() if r["name"] == "MulBackward0"}
    finally:
        ut._C._record_lines(False)
    assert any("test_anomaly.py:" in line for line in lines)
