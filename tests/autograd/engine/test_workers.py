"""CPU workers: independent branches run on several threads, with bitwise equal gradients."""

from __future__ import annotations

import random
import threading

import pytest

import undertow as ut
from undertow import autograd

pytestmark = pytest.mark.skipif(not hasattr(autograd, "set_num_workers"), reason="workers are undertow's own")


@pytest.fixture(params=[1, 2, 4])
def workers(request):
    ut.autograd.set_num_workers(request.param)
    yield request.param
    ut.autograd.set_num_workers(1)


def random_graph(seed: int, nodes: int = 120) -> tuple[list[ut.Tensor], ut.Tensor]:
    """Leaves and a root of a random graph with much sharing, of several shapes that broadcast."""
    rng = random.Random(seed)
    shapes = [(), (3,), (2, 1), (2, 3)]
    leaves = []
    for i in range(6):
        shape = shapes[i % len(shapes)]
        count = 1
        for s in shape:
            count *= s
        values = ut.tensor([rng.uniform(-1, 1) for _ in range(count)], dtype=ut.float32)
        leaves.append(values.view(shape).detach().requires_grad_())
    pool = list(leaves)
    for _ in range(nodes):
        a, b = rng.choice(pool), rng.choice(pool)
        kind = rng.randrange(5)
        if kind == 0:
            t = a * b
        elif kind == 1:
            t = a + b
        elif kind == 2:
            t = (a * 0.1).exp()
        elif kind == 3:
            t = a - b * 0.3
        else:
            t = a * 0.7
        pool.append(t * 0.5)
    root = pool[-1].sum()
    for t in pool[-20:-1]:
        root = root + t.sum()
    return leaves, root


def gradients(seed: int, **options) -> list[list]:
    leaves, root = random_graph(seed)
    return [g.tolist() for g in autograd.grad(root, leaves, materialize_grads=True, **options)]


@pytest.mark.parametrize("seed", range(12))
def test_gradients_are_bitwise_equal_for_any_number_of_workers(seed):
    wanted = gradients(seed)
    for count in (2, 4):
        ut.autograd.set_num_workers(count)
        try:
            for _ in range(3):
                assert gradients(seed) == wanted
        finally:
            ut.autograd.set_num_workers(1)


@pytest.mark.parametrize("seed", range(4))
def test_accumulated_gradients_are_bitwise_equal_too(seed):
    def run():
        leaves, root = random_graph(seed)
        root.backward()
        return [None if x.grad is None else x.grad.tolist() for x in leaves]

    wanted = run()
    ut.autograd.set_num_workers(4)
    try:
        assert run() == wanted
    finally:
        ut.autograd.set_num_workers(1)


@pytest.mark.parametrize("seed", range(4))
def test_second_derivatives_are_bitwise_equal_too(seed):
    def run():
        leaves, root = random_graph(seed, nodes=40)
        first = autograd.grad(root, leaves, create_graph=True, materialize_grads=True)
        total = first[0].sum()
        for g in first[1:]:
            total = total + (g * g).sum()
        return [g.tolist() for g in autograd.grad(total, leaves, materialize_grads=True)]

    wanted = run()
    ut.autograd.set_num_workers(3)
    try:
        assert run() == wanted
    finally:
        ut.autograd.set_num_workers(1)


def test_hooks_run_once_each(workers):
    x = ut.tensor(1.0, requires_grad=True)
    seen = []
    parts = [x * float(i) for i in range(20)]
    for i, p in enumerate(parts):
        p.register_hook(lambda g, i=i: seen.append(i))
    total = parts[0]
    for p in parts[1:]:
        total = total + p
    total.backward()
    assert sorted(seen) == list(range(20))
    assert x.grad.item() == 190.0


def test_an_exception_in_a_worker_reaches_the_caller(workers):
    x = ut.tensor(1.0, requires_grad=True)
    parts = [x * float(i) for i in range(20)]

    def fail(g):
        raise KeyError("in a worker")

    parts[7].register_hook(fail)
    total = parts[0]
    for p in parts[1:]:
        total = total + p
    with pytest.raises(KeyError, match="in a worker"):
        total.backward()
    (x * 2).backward()
    assert x.grad.item() == 2.0 or x.grad is not None


def test_a_pass_inside_a_hook(workers):
    inner = ut.tensor(2.0, requires_grad=True)
    z = inner * inner
    x = ut.tensor(1.0, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: z.backward())
    (y + x * 3).backward()
    assert x.grad.item() == 5.0
    assert inner.grad.item() == 4.0


def test_grad_mode_reaches_the_workers(workers):
    x = ut.tensor(1.0, requires_grad=True)
    seen = []
    parts = [x * float(i) for i in range(8)]
    for p in parts:
        p.register_hook(lambda g: seen.append(ut.is_grad_enabled()))
    total = parts[0]
    for p in parts[1:]:
        total = total + p
    autograd.grad(total, x, create_graph=True)
    assert seen == [True] * 8


def test_only_wanted_nodes_run(workers):
    x, y = ut.tensor(1.0, requires_grad=True), ut.tensor(1.0, requires_grad=True)
    ran = []
    a, b = x * 2, y * 3
    a.register_hook(lambda g: ran.append("a"))
    b.register_hook(lambda g: ran.append("b"))
    assert autograd.grad(a * b, x)[0].item() == 6.0
    assert ran == ["a"]


def test_final_callbacks_run_once(workers):
    engine = autograd.Variable._execution_engine
    x = ut.tensor(1.0, requires_grad=True)
    seen = []
    parts = [x * float(i) for i in range(8)]
    for p in parts:
        p.register_hook(lambda g: engine.queue_callback(lambda: seen.append(1)))
    total = parts[0]
    for p in parts[1:]:
        total = total + p
    total.backward()
    assert seen == [1] * 8


def test_several_threads_with_workers_at_once(workers):
    x = ut.tensor([1.0, 2.0], requires_grad=True)
    shared = (x * 2).exp()
    roots = [(shared * float(i + 1)).sum() for i in range(3)]
    wanted = [autograd.grad(r, x, retain_graph=True)[0].tolist() for r in roots]
    got = [None] * 3

    def work(i):
        for _ in range(20):
            got[i] = autograd.grad(roots[i], x, retain_graph=True)[0].tolist()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert got == wanted


def test_a_deep_chain(workers):
    x = ut.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(20_000):
        y = y + 1.0
    y.backward()
    assert x.grad.item() == 1.0


def test_the_number_of_workers_is_the_one_that_was_set(workers):
    assert ut.autograd.get_num_workers() == workers


@pytest.mark.parametrize("number", [0, -1, 1025, 2**32 + 1])
def test_the_number_of_workers_has_limits(number):
    with pytest.raises(ValueError, match=f"^set_num_workers: expected 1 to 1024, got {number}"):
        ut.autograd.set_num_workers(number)
    assert ut.autograd.get_num_workers() == 1


@pytest.mark.parametrize("number", [2.0, True, "2", None])
def test_the_number_of_workers_is_an_integer(number):
    with pytest.raises(TypeError, match=f"^set_num_workers: expected an int, got {type(number).__name__}"):
        ut.autograd.set_num_workers(number)
    assert ut.autograd.get_num_workers() == 1


def test_more_workers_than_nodes_are_no_problem():
    wanted = gradients(0)
    ut.autograd.set_num_workers(1024)
    try:
        assert gradients(0) == wanted
    finally:
        ut.autograd.set_num_workers(1)


def test_contributions_of_one_node_are_added_in_the_order_of_its_inputs(workers):
    x = ut.zeros(2, requires_grad=True)
    y = ut.stack([x, x, x]) * ut.tensor([[1e8], [-1e8], [1.0]])
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]  # in float32 any other order loses the 1
