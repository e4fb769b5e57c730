"""Several Python threads recording and differentiating at once, and the modes that belong to one thread."""

from __future__ import annotations

import threading

import pytest

import undertow as ut
from undertow import autograd


def in_threads(count: int, work) -> list:
    """Runs work(i) in threads that start together; returns the results in order, raises the first error."""
    barrier = threading.Barrier(count)
    results, errors = [None] * count, []

    def run(i):
        try:
            barrier.wait()
            results[i] = work(i)
        except BaseException as e:  # noqa: BLE001
            errors.append(e)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]
    return results


def test_separate_graphs_in_separate_threads():
    def work(i):
        x = ut.tensor(float(i), requires_grad=True)
        for _ in range(50):
            x.grad = None
            y = x
            for _ in range(20):
                y = y * 2 + x
            y.backward()
        return x.grad.item()

    assert in_threads(4, work) == [2.0**21 - 1] * 4  # y is (2 ** 20 + 2 ** 19 + ... + 1) x


def test_grad_on_one_graph_from_several_threads():
    x = ut.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x
    for _ in range(50):
        y = y * 1.01
    loss = (y * y).sum()
    (wanted,) = autograd.grad(loss, x, retain_graph=True)

    def work(i):
        return [autograd.grad(loss, x, retain_graph=True)[0].tolist() for _ in range(50)]

    for grads in in_threads(4, work):
        assert all(g == wanted.tolist() for g in grads)


def test_graphs_that_share_their_lower_part():
    x = ut.tensor(2.0, requires_grad=True)
    shared = x
    for _ in range(200):
        shared = shared + 1
    roots = [shared * (i + 1) for i in range(4)]

    def work(i):
        return autograd.grad(roots[i], x, retain_graph=True)[0].item()

    for _ in range(20):
        assert in_threads(4, work) == [1.0, 2.0, 3.0, 4.0]


def test_every_thread_accumulates_into_one_leaf():
    x = ut.zeros(4, requires_grad=True)

    def work(i):
        for _ in range(100):
            (x * 1.0).sum().backward()

    x.grad = ut.zeros(4)
    in_threads(2, work)
    assert x.grad.tolist() == [200.0] * 4


def test_hooks_run_in_the_thread_that_called_backward():
    def work(i):
        x = ut.tensor(1.0, requires_grad=True)
        y, seen = x * 2, []
        y.register_hook(lambda g: seen.append(threading.get_ident()))
        y.backward()
        return seen == [threading.get_ident()]

    assert in_threads(4, work) == [True] * 4


def test_a_failing_pass_leaves_the_others_alone():
    x = ut.tensor(2.0, requires_grad=True)
    shared = x * 3

    def work(i):
        for _ in range(50):
            y = shared * 2
            if i % 2:
                y.register_hook(lambda g: 1 / 0)
                with pytest.raises(ZeroDivisionError):
                    autograd.grad(y, x, retain_graph=True)
            else:
                assert autograd.grad(y, x, retain_graph=True)[0].item() == 6.0
        return True

    assert in_threads(4, work) == [True] * 4


def test_one_thread_frees_what_another_made():
    made = []

    def build():
        x = ut.tensor(1.0, requires_grad=True)
        y = x
        for _ in range(2000):
            y = y * 1.0
        made.append((x, y))

    thread = threading.Thread(target=build)
    thread.start()
    thread.join()
    x, y = made.pop()
    y.backward()
    assert x.grad.item() == 1.0
    del x, y


def test_a_graph_made_by_several_threads_runs_in_one():
    x = ut.tensor(2.0, requires_grad=True)
    parts = in_threads(4, lambda i: x * float(i + 1))
    total = parts[0] + parts[1] + parts[2] + parts[3]
    total.backward()
    assert x.grad.item() == 10.0


def test_large_operations_in_several_threads():
    def work(i):
        x = ut.ones(100_000, requires_grad=True)
        for _ in range(5):
            x.grad = None
            ((x * 2).exp() * 0 + x * float(i)).sum().backward()
        return x.grad[0].item()

    assert in_threads(3, work) == [0.0, 1.0, 2.0]


# Modes belong to one thread.


def test_no_grad_applies_to_one_thread():
    with ut.no_grad():
        assert in_threads(2, lambda i: ut.is_grad_enabled()) == [True, True]
        assert not ut.is_grad_enabled()


def test_switching_grad_mode_in_a_thread_does_not_reach_the_others():
    def work(i):
        ut.set_grad_enabled(i % 2 == 0)
        return ut.is_grad_enabled()

    assert in_threads(4, work) == [True, False, True, False]
    assert ut.is_grad_enabled()


def test_inference_mode_applies_to_one_thread():
    with ut.inference_mode():
        assert in_threads(2, lambda i: ut.is_inference_mode_enabled()) == [False, False]


def test_inference_tensors_have_no_history_and_no_version():
    x = ut.ones(2, requires_grad=True)
    with ut.inference_mode():
        y = x * 2
    assert y.is_inference()
    assert not y.requires_grad
    with pytest.raises(RuntimeError, match=r"^Inference tensors do not track version counter"):
        y._version  # noqa: B018
    with pytest.raises(RuntimeError, match=r"^Inference tensors cannot be saved for backward"):
        y * x  # noqa: B018
    with pytest.raises(RuntimeError, match=r"^Inplace update to inference tensor outside InferenceMode is not allowed"):
        y.add_(1)
    assert not y.clone().is_inference()


def test_inference_mode_can_be_left_inside():
    with ut.inference_mode():
        with ut.inference_mode(False):
            x = ut.ones(2, requires_grad=True)
            assert (x * 2).requires_grad
        assert not (x * 2).requires_grad
