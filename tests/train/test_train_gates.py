"""When `minimize` changes a variable: immediately, after the node, or after the whole pass; tested by order, never by time."""

from __future__ import annotations

import weakref

import pytest

import undertow as ut
from undertow import train
from undertow.train import Optimizer

NONE, OP, GRAPH = Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH


class Noting(train.GradientDescentOptimizer):
    """Gradient descent that records its updates."""

    def __init__(self, events, rate=0.5):
        super().__init__(rate)
        self.events = events

    def _apply_dense(self, grad, var):
        self.events.append(f"update {var.name}")
        super()._apply_dense(grad, var)

    def _apply_sparse(self, grad, var):
        self.events.append(f"update {var.name}")
        super()._apply_sparse(grad, var)


@pytest.fixture
def workers():
    yield ut.autograd.set_num_workers
    ut.autograd.set_num_workers(1)


def two_nodes(events):
    """One node computes the gradients of a and b; one created earlier, which runs after it, computes c's."""
    a, b, c = (train.Variable([v], name=name) for v, name in ((2.0, "a"), (3.0, "b"), (0.0, "c")))
    earlier = c.exp()
    loss = (earlier * (a * b)).sum()
    for v in (a, b, c):
        v.register_hook(lambda g, name=v.name: events.append(f"gradient {name}"))
    earlier.grad_fn.register_prehook(lambda grads: events.append("exp"))
    return loss, (a, b, c)


ORDER = {
    NONE: ["gradient a", "update a", "gradient b", "update b", "exp", "gradient c", "update c"],
    OP: ["gradient a", "gradient b", "update a", "update b", "exp", "gradient c", "update c"],
    GRAPH: ["gradient a", "gradient b", "exp", "gradient c", "update a", "update b", "update c"],
}


@pytest.mark.parametrize("gate", ORDER)
def test_the_gate_determines_when_a_variable_changes(gate):
    events = []
    loss, variables = two_nodes(events)
    Noting(events).minimize(loss, gate_gradients=gate, var_list=variables)
    assert events == ORDER[gate]


def test_op_is_the_default():
    events = []
    loss, variables = two_nodes(events)
    Noting(events).minimize(loss, var_list=variables)
    assert events == ORDER[OP]


@pytest.mark.parametrize(("gate", "in_b_hook", "in_exp"), [(NONE, 0.5, 0.5), (OP, 2.0, 0.5), (GRAPH, 2.0, 2.0)])
def test_later_reads_of_the_pass_show_the_gate(gate, in_b_hook, in_exp):
    seen = []
    loss, (a, b, c) = two_nodes([])
    b.register_hook(lambda g: seen.append(a.item()))
    c.register_hook(lambda g: seen.append(a.item()))
    train.GradientDescentOptimizer(0.5).minimize(loss, gate_gradients=gate)
    assert seen == [in_b_hook, in_exp]
    assert [v.item() for v in (a, b, c)] == [0.5, 2.0, -3.0]


@pytest.mark.parametrize("gate", [NONE, OP, GRAPH])
def test_a_hook_that_reads_another_variable_sees_the_value_of_the_gate(gate):
    loss, (a, b, c) = two_nodes([])
    b.register_hook(lambda g: g + a.detach())
    train.GradientDescentOptimizer(0.5).minimize(loss, gate_gradients=gate)
    assert b.item() == 3 - 0.5 * (2 + (0.5 if gate == NONE else 2.0))


@pytest.mark.parametrize("gate", [NONE, OP, GRAPH])
def test_a_variable_with_uses_in_several_nodes_waits_for_the_last(gate):
    events = []
    w, u = train.Variable([2.0], name="w"), train.Variable([1.0], name="u")
    first = w * 3
    second = first * u
    loss = (second * w).sum()
    first.grad_fn.register_prehook(lambda grads: events.append("first"))
    second.grad_fn.register_prehook(lambda grads: events.append("second"))
    Noting(events, 0.1).minimize(loss, gate_gradients=gate)
    assert events == (["second", "first", "update w", "update u"] if gate == GRAPH else ["second", "update u", "first", "update w"])
    assert w.item() == pytest.approx(2 - 0.1 * 12) and u.item() == pytest.approx(1 - 0.1 * 12)


@pytest.mark.parametrize("gate", [NONE, OP])
def test_a_changed_value_that_the_pass_still_needs_raises(gate):
    w, v = train.Variable([2.0], name="w"), train.Variable([3.0], name="v")
    loss = (train.stop_gradient(w) * v).sum() + (w * 5).sum()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        train.GradientDescentOptimizer(0.1).minimize(loss, gate_gradients=gate)
    assert v.item() == 3


def test_the_graph_gate_lets_the_pass_read_old_values():
    w, v = train.Variable([2.0], name="w"), train.Variable([3.0], name="v")
    loss = (train.stop_gradient(w) * v).sum() + (w * 5).sum()
    train.GradientDescentOptimizer(0.1).minimize(loss, gate_gradients=GRAPH)
    assert w.item() == pytest.approx(1.5) and v.item() == pytest.approx(2.8)


@pytest.mark.parametrize("gate", [NONE, OP, GRAPH])
def test_a_table_is_updated_when_all_its_lookups_are_done(gate):
    events = []
    table, w = train.Variable(ut.ones(4, 2), name="table"), train.Variable([[1.0, 1.0]], name="w")
    one = table[ut.tensor([0, 1])]
    two = ut.nn.functional.embedding(ut.tensor([1, 3]), table)
    loss = (two * 2).sum() + (one * w).sum()
    w.register_hook(lambda g: events.append("gradient w"))
    Noting(events).minimize(loss, gate_gradients=gate)
    assert events == (["gradient w", "update table", "update w"] if gate == GRAPH else ["gradient w", "update w", "update table"])
    assert table.tolist() == [[0.5, 0.5], [-0.5, -0.5], [1, 1], [0, 0]]


def network(seed):
    ut.manual_seed(seed)
    return [train.Variable(ut.randn(*shape)) for shape in ((5, 8), (8,), (8, 8), (8,), (8, 1))]


def run(gate, steps=10):
    w1, b1, w2, b2, w3 = weights = network(3)
    x, y = ut.randn(16, 5), ut.randn(16, 1)
    opt = train.AdamOptimizer(0.05)
    for _ in range(steps):
        h = (x @ w1 + b1).tanh()
        h = (h @ w2 + b2).tanh() + h
        opt.minimize(((h @ w3 - y) ** 2).mean(), gate_gradients=gate)
    return weights


def same_bits(a, b):
    return all((p == q).all() for p, q in zip(a, b))


def test_without_dependence_all_gates_give_the_same_bits():
    graph = run(GRAPH)
    assert same_bits(run(NONE), graph) and same_bits(run(OP), graph)


@pytest.mark.parametrize("gate", [NONE, OP, GRAPH])
def test_with_workers_the_bits_are_the_same(gate, workers):
    alone = run(gate)
    workers(3)
    assert same_bits(run(gate), alone)


@pytest.mark.parametrize("gate", [NONE, OP])
def test_with_workers_op_keeps_its_order(gate, workers):
    workers(3)
    events = []
    loss, variables = two_nodes(events)
    Noting(events).minimize(loss, gate_gradients=gate, var_list=variables)
    if gate == OP:
        assert events == ORDER[OP]
    for name in "abc":
        assert events.index(f"gradient {name}") < events.index(f"update {name}")


@pytest.mark.parametrize("gate", [NONE, OP, GRAPH])
def test_an_error_in_an_update_is_raised_and_the_engine_stays_usable(gate):
    class Failing(train.GradientDescentOptimizer):
        def _apply_dense(self, grad, var):
            raise KeyError("slot")

    loss, _ = two_nodes([])
    step = train.Variable(0, trainable=False)
    with pytest.raises(KeyError, match="slot"):
        Failing(0.1).minimize(loss, global_step=step, gate_gradients=gate)
    assert step.item() == 0
    loss, (a, *_) = two_nodes([])
    train.GradientDescentOptimizer(0.5).minimize(loss, gate_gradients=gate)
    assert a.item() == 0.5


def test_the_trace_shows_updates_between_the_nodes():
    """Under NONE a's gradient is captured, and a changed, before the node of c starts; the trace has the captures in that order."""
    loss, variables = two_nodes([])
    nodes = []
    ut._C._trace_start()
    train.GradientDescentOptimizer(0.5).minimize(loss, gate_gradients=NONE, var_list=variables)
    for event in ut._C._trace_stop():
        if event["event"] in ("captured", "started") and event["name"] in ("AccumulateGrad", "ExpBackward0", "MulBackward0"):
            nodes.append((event["event"], event["name"]))
    after_b = nodes.index(("started", "ExpBackward0"))
    assert nodes[:after_b].count(("captured", "AccumulateGrad")) == 2
    assert nodes[after_b:].count(("captured", "AccumulateGrad")) == 1


@pytest.mark.parametrize(("gate", "alive"), [(NONE, False), (OP, False), (GRAPH, True)])
def test_a_gradient_that_was_used_is_freed_inside_the_pass(gate, alive):
    kept, seen = [], []
    loss, (a, b, c) = two_nodes([])

    def keep(g):
        g.mark = "tagged"  # so that the object lives exactly as long as the tensor
        kept.append(weakref.ref(g))

    a.register_hook(keep)
    c.register_hook(lambda g: seen.append(kept[0]() is not None))
    train.GradientDescentOptimizer(0.5).minimize(loss, gate_gradients=gate)
    assert seen == [alive]


@pytest.mark.parametrize("gate", [NONE, OP, GRAPH])
def test_with_workers_a_table_waits_for_all_its_lookups(gate, workers):
    workers(4)
    table = train.Variable(ut.zeros(8, 2), name="table")
    opt = train.GradientDescentOptimizer(1.0)
    for _ in range(20):
        table.assign(ut.zeros(8, 2))
        looked_up = [table[ut.tensor([i % 8, (i + 1) % 8])].exp().sum() for i in range(16)]
        opt.minimize(sum(looked_up), gate_gradients=gate)
        assert (table == -4).all()


def test_an_unknown_gate_raises():
    w = train.Variable(1.0)
    with pytest.raises(ValueError, match="gate_gradients must be one of: Optimizer.GATE_NONE"):
        train.GradientDescentOptimizer(0.1).minimize(w * w, gate_gradients=7)
