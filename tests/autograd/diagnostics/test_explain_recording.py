"""explain_grad without records, and how recording is switched on and off."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import weakref

import pytest

import undertow as ut
from undertow import autograd
from undertow.autograd import explain_grad


def leaf(*shape: int, value: float = 1.0) -> ut.Tensor:
    return ut.full(shape or (3,), value).requires_grad_()


# ---- without recording ----


def test_without_recording_shared_memory_reveals_detach_and_data():
    w, x = leaf(), leaf()
    assert explain_grad(w, (w.detach() * x).sum()).operation == "detach"
    assert explain_grad(w, (w.data * x).sum()).operation == ".data"


def test_without_recording_parts_of_one_buffer_are_distinguished():
    buffer = ut.ones(6)
    w, other, x = buffer[:3].detach().requires_grad_(), buffer[3:].detach(), leaf()
    assert explain_grad(w, (other * x).sum()).reason == "unused_or_cut"
    assert explain_grad(w, (buffer[2:5].detach() * x).sum()).reason == "detached"


def test_without_recording_a_view_made_in_no_grad_reveals_its_mode():
    w, x = leaf(), leaf()
    with ut.no_grad():
        view = w.view(3)
    assert explain_grad(w, (view * x).sum()).reason == "no_grad"


def test_without_recording_a_late_requires_grad_is_seen():
    w, x = ut.ones(3), leaf()
    loss = (w * x).sum()
    assert explain_grad(w.requires_grad_(), loss).reason == "frozen"


def test_without_recording_results_that_were_cut_off_are_named():
    w, x = leaf(), leaf()
    why = explain_grad(w, ((w > 0) * x).sum())
    assert why.reason == "unused_or_cut"
    assert "gt made bool [3], which MulBackward0 saved as `self`" in str(why)
    assert "to made int32 [3]" in str(explain_grad(w, (w.int() * x).sum()))


def test_without_recording_nothing_is_claimed_and_recording_is_suggested():
    w, x = leaf(), leaf()
    why = explain_grad(w, (x * 2).sum())
    assert why.reason == "unused_or_cut"
    assert "UNDERTOW_TRACE=1" in str(why)


def test_without_recording_a_loss_from_an_operation_without_derivative():
    w = leaf()
    why = explain_grad(w, w.argmax())
    assert (why.reason, why.operation) == ("nondifferentiable", "argmax")
    with ut.inference_mode():
        loss = (w * 2).sum()
    assert explain_grad(w, loss).reason == "inference_mode"


# ---- switching recording ----


def test_anomaly_mode_records_where_each_tensor_comes_from():
    w, x = leaf(), leaf()
    with autograd.set_detect_anomaly(True):
        loss = (w.detach() * x).sum()
        with ut.no_grad():
            h = w * 2
        other = (h * x).sum()
    why = explain_grad(w, loss)
    assert why.reason == "detached"
    assert os.path.basename(__file__) in why.line
    assert explain_grad(w, other).reason == "no_grad"


def test_anomaly_mode_applies_to_threads_started_later():
    w, x = leaf(), leaf()
    results = []

    def work():
        with ut.no_grad():
            h = w * 2
        results.append((h * x).sum())

    with autograd.set_detect_anomaly(True):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert explain_grad(w, results[0]).reason == "no_grad"


def test_recording_ends_where_it_was_switched_off():
    w, x = leaf(), leaf()
    explain_grad(w, lambda: (w * x).sum())
    assert not ut._C._is_recording_lines()
    loss = ((w * 2).exp().detach() * x).sum()
    assert loss.grad_fn.metadata == {}
    assert explain_grad(w, loss).line is None


def test_a_failing_function_leaves_recording_off():
    with pytest.raises(ZeroDivisionError):
        explain_grad(leaf(), lambda: 1 / 0)
    assert not ut._C._is_recording_lines()


def test_a_chain_of_records_dies_without_recursion():
    w, x = leaf(), leaf()
    before = ut._C._record_lines(True)
    try:
        with ut.no_grad():
            state = w
            for _ in range(200_000):
                state = state * 1.0
        assert explain_grad(w, (state * x).sum()).reason == "no_grad"  # the chain leads back to w
    finally:
        ut._C._record_lines(before)
    gone = weakref.ref(state)
    del state
    assert gone() is None


def test_records_keep_no_tensor_alive():
    import gc

    before = ut._C._record_lines(True)
    try:
        gc.collect()
        in_use = ut._C._memory_stats()["in_use"]
        y = ut.ones(100_000) * 2
        z = (y + 1).sum()
        del y
        assert ut._C._memory_stats()["in_use"] - in_use < 100_000
    finally:
        ut._C._record_lines(before)
    assert z.item() == 300_000


def test_the_environment_switches_recording_on_from_import():
    program = """
import undertow as ut
w, x = ut.ones(3, requires_grad=True), ut.ones(3, requires_grad=True)
with ut.no_grad():
    h = w * 2
why = ut.autograd.explain_grad(w, (h * x).sum())
print(why.reason, why.operation, why.line.rpartition(":")[2])
report = ut.autograd.saved_tensors_report((w * x).sum())
print(report.has_lines)
"""
    environment = {**os.environ, "UNDERTOW_TRACE": "1", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["no_grad", "mul", "5", "True"]
