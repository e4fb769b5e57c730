"""The engine under transforms: anomaly mode, workers, threads, leaves as outputs."""

from __future__ import annotations

import threading
import warnings

import pytest

import undertow as ut
from undertow.func import grad, jacrev, vmap

D = ut.float64


def test_anomaly_mode_looks_at_every_sample():
    x = ut.tensor([0.0, 1.0], requires_grad=True)
    y = x.sqrt() * 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with ut.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="returned nan values"):
            ut.autograd.grad(y, x, ut.eye(2), is_grads_batched=True)
        with ut.autograd.detect_anomaly():
            (rows,) = ut.autograd.grad((x * x), x, ut.eye(2), is_grads_batched=True)
    assert rows.tolist() == [[0.0, 0.0], [0.0, 2.0]]


def test_workers_pass_batches_on():
    x = ut.arange(4, dtype=D)
    f = lambda a: sum((a * k).sin() for k in range(6))  # noqa: E731
    wanted = jacrev(f)(x)
    ut.autograd.set_num_workers(3)
    try:
        got = jacrev(f)(x)
    finally:
        ut.autograd.set_num_workers(1)
    assert bool((got == wanted).all())


def test_maps_on_several_threads_do_not_see_each_other():
    found = {}

    def run(k):
        x = ut.full((3, 2), float(k), dtype=D)
        for _ in range(20):
            found[k] = vmap(grad(lambda a: (a**2).sum()))(x)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(bool((found[k] == 2.0 * k).all()) for k in range(4))


def test_the_gradient_of_a_leaf_by_itself_is_not_accumulated():
    x = ut.ones(2, requires_grad=True)
    (g,) = ut.autograd.grad(x, x, ut.ones(2))
    assert g.tolist() == [1.0, 1.0] and x.grad is None
    (rows,) = ut.autograd.grad(x, x, ut.eye(2), is_grads_batched=True)
    assert rows.tolist() == [[1.0, 0.0], [0.0, 1.0]] and x.grad is None


def test_a_graph_that_a_transform_made_is_freed_with_its_result():
    before = ut._C._live_counts()
    for _ in range(3):
        jacrev(lambda a: a.sin() * a)(ut.ones(3))
        vmap(grad(lambda a: a.sin()))(ut.ones(3))
    assert ut._C._live_counts() == before


def test_an_operator_without_a_rule_loops_and_warns_once():
    from undertow._vmap import _dispatch

    _dispatch._warned.discard("histc")
    x = ut.tensor([[0.1, 0.2], [0.8, 0.9]])
    with pytest.warns(UserWarning, match="There is a performance drop because we have not yet implemented the batching rule for histc"):
        got = vmap(lambda a: ut.histc(a, 2, 0, 1))(x)
    assert got.tolist() == [[2.0, 0.0], [0.0, 2.0]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vmap(lambda a: ut.histc(a, 2, 0, 1))(x)


def test_a_torch_function_mode_sees_the_call_but_not_the_rules_operators():
    from undertow.overrides import TorchFunctionMode

    seen = []

    class Watch(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    def f(a):
        with Watch():
            return a.softmax(0)

    vmap(f)(ut.ones(2, 3))
    assert seen == ["softmax"]


def test_a_batched_gradient_is_added_to_one_that_is_not():
    """Softsign's second derivative sums a batched term and an unbatched one."""
    x = ut.rand(4, dtype=ut.float64, requires_grad=True)
    assert ut.autograd.gradgradcheck(ut.nn.functional.softsign, (x,), check_batched_grad=True)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_result_of_nested_gradients_is_no_view_so_its_hook_runs_after_a_write(depth):
    def function(t):
        return t**6

    def nested(t):
        f = function
        for _ in range(depth):
            f = ut.func.grad(f)
        return f(t)

    x = ut.tensor(0.5, dtype=ut.float64, requires_grad=True)
    y = nested(x)
    assert not y._is_view()
    other, seen = y * 1, []
    y.register_hook(lambda g: seen.append(g.item()) or g * 0.5)
    y.mul_(3)
    (gradient,) = ut.autograd.grad(other + y, x)
    assert seen == [4.0]
    following = 1.0
    for k in range(depth + 1):
        following *= 6 - k
    assert gradient.item() == pytest.approx(0.5 * 4 * following * 0.5 ** (6 - depth - 1))
