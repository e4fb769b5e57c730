"""The texts of autograd's errors: which operation they name, and where they go when warnings are errors. Compared with torch."""

from __future__ import annotations

import contextlib
import io
import re
import warnings

import pytest
from custom_functions import exp_function


def own_function(lib):
    class MyFunc(exp_function(lib)):
        pass

    return MyFunc


WRITTEN = {
    "exp": lambda lib, x: x.exp().add_(1),
    "tanh": lambda lib, x: x.tanh().add_(1),
    "softmax": lambda lib, x: x.softmax(0).add_(1),
    "a function": lambda lib, x: own_function(lib).apply(x).add_(1),
    "an input": lambda lib, x: read_then_written(x + 1),
    "a sum": lambda lib, x: read_then_written(x[None].sum(0)),
    "a leaf": lambda lib, x: weight_written(lib, x),
    "max": lambda lib, x: lib.logsumexp(x, 0).add_(1),
}


def read_then_written(y):
    z = y * y
    y.detach().add_(1)
    return z


def weight_written(lib, x):
    w = lib.ones(2)
    y = x * w
    w.add_(1)
    return y


@pytest.mark.parametrize("what", WRITTEN)
def test_the_error_of_a_write_names_the_operation(same_as_torch, what):
    def scenario(lib):
        x = lib.ones(2, requires_grad=True)
        try:
            WRITTEN[what](lib, x).sum().backward()
        except RuntimeError as error:
            return re.search(r"(?:, which is (output \d of \w+),)? is at version (\d+); expected version (\d+)", str(error)).groups()

    assert same_as_torch(scenario) is not None


@pytest.mark.parametrize(("tensor", "gradient"), [("float16", "float32"), ("float64", "int64"), ("float32", "complex64"), ("float32", "bfloat16")])
def test_the_error_of_a_gradient_of_another_dtype_names_both(same_as_torch, tensor, gradient):
    def scenario(lib):
        x = lib.ones(2, dtype=getattr(lib, tensor), requires_grad=True)
        x.grad = lib.ones(2, dtype=getattr(lib, gradient))

    same_as_torch(scenario)


def test_grad_dtype_cannot_contradict_a_gradient(same_as_torch):
    def scenario(lib):
        x = lib.ones(2, requires_grad=True)
        x.grad = lib.ones(2)
        x.grad_dtype = lib.float16

    same_as_torch(scenario)


def test_anomaly_mode_prints_its_report_where_warnings_are_errors(same_as_torch):
    def scenario(lib):
        x = lib.tensor([-1.0], requires_grad=True)
        text = io.StringIO()
        with warnings.catch_warnings(), contextlib.redirect_stderr(text):
            warnings.filterwarnings("ignore", "Anomaly Detection")
            warnings.filterwarnings("error", "Error detected")
            try:
                with lib.autograd.set_detect_anomaly(True):
                    (x**1.5).sum().backward()
            except RuntimeError as error:
                return [str(error), text.getvalue().split(":\n")[0], "x**1.5" in text.getvalue()]

    same_as_torch(scenario)


def test_a_flag_of_view_tracking_can_be_set_and_read(same_as_torch):
    def scenario(lib):
        track = lib.autograd._force_original_view_tracking
        x = lib.arange(4.0, requires_grad=True)

        def gradient():
            base = x * 1
            v = base.view(2, 2)[0]
            base.mul_(2)
            return lib.autograd.grad((v * v).sum(), x)[0]

        with track(True):
            inside = gradient()
        track(True)
        track(False)
        decorated = track(True)(gradient)
        return [inside, gradient(), decorated()]

    same_as_torch(scenario)
