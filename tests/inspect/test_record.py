"""What a recording says is what the engine did: compared with hooks, with the graph, and with counts made another way."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
from reading import events, leaf

import undertow as ut
from undertow import nn
from undertow.inspect import record
from undertow.utils.checkpoint import checkpoint


def branching() -> tuple[ut.Tensor, ut.Tensor, ut.Tensor]:
    x, w = leaf(3), leaf(3)
    h = x * w
    return x, w, (h.exp() * h + h.sin()).sum()


def plain(node) -> str:
    return node.name().rpartition("::")[2]


def walked(root: ut.autograd.graph.Node) -> list:
    """Return every node below root, found through next_functions."""
    seen, stack = {root: None}, [root]
    while stack:
        for node, _ in stack.pop().next_functions:
            if node is not None and node not in seen:
                seen[node] = None
                stack.append(node)
    return list(seen)


def test_the_order_is_the_order_in_which_prehooks_run():
    x, w, loss = branching()
    seen = []
    handles = [n.register_prehook(lambda grads, n=n: seen.append((plain(n), n._sequence_nr()))) for n in walked(loss.grad_fn)]
    with record() as r:
        loss.backward()
    del handles
    assert [name for name, _ in seen] == r.order()
    inner = [(n, s) for n, s in seen if n != "AccumulateGrad"]
    numbers = [(r.name(i), r.data["nodes"]["sequence"][i]) for i in r.ran() if r.name(i) != "AccumulateGrad"]
    assert numbers == inner


def test_nodes_and_edges_are_those_of_the_graph():
    x, w, loss = branching()
    nodes = walked(loss.grad_fn)
    edges = Counter((plain(n), i, plain(m), k) for n in nodes for i, (m, k) in enumerate(n.next_functions) if m is not None)
    with record() as r:
        loss.backward()
    assert sorted(plain(n) for n in nodes) == sorted(r.name(i) for i in range(len(r.data["nodes"]["kind"])))
    table = r.data["edges"]
    found = zip(table["from"], table["from_slot"], table["to"], table["to_slot"], strict=True)
    assert Counter((r.name(a), i, r.name(b), k) for a, i, b, k in found) == edges


def test_dependencies_count_down_with_every_arrival_and_a_node_is_ready_at_zero():
    *_, loss = branching()
    with record() as r:
        loss.backward()
    edges = Counter(r.data["edges"]["to"])
    left = dict(edges)
    for e in events(r, "arrived", "ready"):
        if e["kind"] == "arrived":
            left[e["node"]] -= 1
            assert e["dependencies"] == left[e["node"]]
        else:
            assert left.get(e["node"], 0) == 0
    assert not any(left.values())


def test_the_length_of_the_ready_queue_is_what_a_replay_gives():
    *_, loss = branching()
    with record() as r:
        loss.backward()
    waiting: set[int] = set()
    for e in events(r, "ready", "started"):
        if e["kind"] == "ready":
            waiting.add(e["node"])
            assert e["other"] == len(waiting)
        else:
            waiting.remove(e["node"])
    assert not waiting


def test_times_do_not_decrease_and_lie_within_the_pass():
    *_, loss = branching()
    with record() as r:
        loss.backward()
    times = r.data["events"]["time"]
    assert times == sorted(times)
    assert r.data["passes"]["start"][0] == times[0] and r.data["passes"]["end"][0] == times[-1]


def test_an_arrival_names_its_producer_and_slot():
    x = leaf(4)
    a, b = x.unbind(0)[0], x.unbind(0)[1]
    loss = a * b
    with record() as r:
        loss.backward()
    producers = {(r.name(e["other"]), r.name(e["node"]), e["slot"]) for e in events(r, "arrived")}
    assert ("MulBackward0", "UnbindBackward0", 0) in producers
    assert ("MulBackward0", "UnbindBackward0", 1) in producers


def test_an_edge_without_a_gradient_counts_down_with_slot_minus_one():
    class Half(ut.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, grad):
            return grad, None

    x, y = leaf(2), leaf(2)
    with record() as r:
        Half.apply(x * 2, y * 3).sum().backward()
    slots = [e["slot"] for e in events(r, "arrived") if r.name(e["other"]) == "HalfBackward"]
    assert sorted(slots) == [-1, 0]


def test_every_kind_of_hook_is_recorded_in_its_place():
    x = leaf(2)
    y = x * 2
    y.register_hook(lambda g: None)
    y.retain_grad()
    y.grad_fn.register_prehook(lambda g: None)
    y.grad_fn.register_hook(lambda gi, go: None)
    with record() as r:
        y.sum().backward()
    own = [e["kind"] for e in events(r) if e["node"] >= 0 and r.name(e["node"]) == "MulBackward0"]
    assert own == ["arrived", "ready", "started", "tensor_hook", "retains_grad_hook", "pre_hook", "post_hook", "finished"]
    assert Counter(r.data["hooks"]["kind"]) == {"tensor_hook": 1, "retains_grad_hook": 1, "pre_hook": 1, "post_hook": 1}


def test_accumulated_counts_every_leaf_once():
    x, w, loss = branching()
    with record() as r:
        loss.backward()
    assert len(events(r, "accumulated")) == 2


def test_saved_tensors_have_their_shapes_and_shared_memory_one_number():
    x = leaf(3, 5)
    y = x.exp()
    loss = (y * y).sum()
    with record() as r:
        loss.backward()
    saved = {r.name(i): rows for i, rows in enumerate(r.data["nodes"]["saved"])}
    assert saved["ExpBackward0"][0][:4] == ["result", "float32", [3, 5], 60]
    assert len({row[4] for rows in saved.values() for row in rows}) == 1
    assert sum(e["kind"] == "released" for e in events(r)) == 2


def test_outputs_are_the_shapes_of_the_forward_results():
    x = leaf(3, 5)
    with record() as r:
        (x @ x.t()).sum().backward()
    shapes = {r.name(i): row for i, row in enumerate(r.data["nodes"]["outputs"])}
    assert shapes["MmBackward0"] == [["float32", [3, 3]]] and shapes["SumBackward0"] == [["float32", []]]


def test_lines_modules_and_parameter_names_of_a_model():
    model = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.Tanh(), nn.Linear(3, 1)))
    with record() as r:
        loss = model(ut.rand(4, 2)).sum()
        loss.backward()
    modules = {r.name(i): r.module(i) for i in range(len(r.data["nodes"]["kind"]))}
    assert modules["TanhBackward0"] == "1.0" and modules["SumBackward0"] is None
    names = {r.string(s) for s in r.data["nodes"]["leaf_s"]} - {None}
    assert names == {name for name, _ in model.named_parameters()}
    line = r.line(r.ran()[0])
    assert line is not None and "test_record.py:" in line
    file = r.data["files"][r.data["nodes"]["file"][r.ran()[0]]]
    number = int(line.rpartition(":")[2])
    assert "model(ut.rand(4, 2)).sum()" in file["text"].splitlines()[number - 1]


def test_modules_of_two_models_have_different_paths():
    a, b = nn.Linear(2, 2), nn.Linear(2, 2)
    with record() as r:
        b(a(ut.rand(1, 2))).sum().backward()
    names = {r.string(s) for s in r.data["nodes"]["leaf_s"]} - {None}
    assert names == {"Linear.weight", "Linear.bias", "Linear_2.weight", "Linear_2.bias"}


def test_a_model_given_to_record_names_the_leaves_of_a_graph_made_before():
    model = nn.Linear(2, 1)
    loss = model(ut.rand(3, 2)).sum()
    with record(model=model) as r:
        loss.backward()
    assert {r.string(s) for s in r.data["nodes"]["leaf_s"]} - {None} == {"weight", "bias"}


def test_forward_true_has_an_event_for_each_recorded_operation_before_the_pass():
    x = leaf(2)
    with record(forward=True) as r:
        (x * 2).exp().sum().backward()
    made = [r.name(e["node"]) for e in events(r, "forward")]
    assert made == ["MulBackward0", "ExpBackward0", "SumBackward0"]
    assert max(e["row"] for e in events(r, "forward")) < events(r, "pass_started")[0]["row"]
    with record() as r:
        (x * 2).exp().sum().backward()
    assert not events(r, "forward") and r.line(0) is not None


def test_a_kept_graph_that_runs_twice_has_its_nodes_once():
    x = leaf(3)
    loss = x.exp().sum()
    with record() as r:
        loss.backward(retain_graph=True)
        loss.backward()
    assert r.passes == 2 and len(r.data["nodes"]["kind"]) == 3
    assert r.ran(0) == r.ran(1)
    assert r.data["passes"]["keep_graph"] == [True, False]


def test_nodes_whose_memory_is_reused_are_different_nodes():
    x = leaf(3)
    with record() as r:
        for _ in range(5):
            x.exp().sum().backward()
    assert len(r.data["nodes"]["kind"]) == 5 * 2 + 1
    assert [r.name(i) for i in r.ran(4)] == ["SumBackward0", "ExpBackward0", "AccumulateGrad"]


def test_leaves_whose_memory_is_reused_are_different_leaves():
    with record() as r:
        for _ in range(4):
            leaf(3).exp().sum().backward()
    assert sum(kind == 1 for kind in r.data["nodes"]["kind"]) == 4


def test_a_reentrant_pass_names_its_outer_pass_and_depth():
    class Inner(ut.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            with ut.enable_grad():
                z = ctx.saved_tensors[0].detach().requires_grad_()
                (z * 3).sum().backward()
            return grad * 2

    with record() as r:
        Inner.apply(leaf(2)).sum().backward()
    passes = r.data["passes"]
    assert passes["parent"] == [-1, 0] and passes["depth"] == [0, 1]
    inner = [e for e in events(r) if e["pass"] == 1]
    outer = next(e for e in events(r, "started") if r.name(e["node"]) == "InnerBackward")
    done = next(e for e in events(r, "finished") if r.name(e["node"]) == "InnerBackward")
    assert outer["row"] < inner[0]["row"] and inner[-1]["row"] < done["row"]


def test_deep_reentrant_passes_continue_on_other_threads_and_stay_connected():
    class Nested(ut.autograd.Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            if ctx.depth:
                with ut.enable_grad():
                    Nested.apply(ut.ones(1, requires_grad=True), ctx.depth - 1).sum().backward()
            return grad, None

    with record() as r:
        Nested.apply(leaf(1), 130).sum().backward()
    assert r.data["passes"]["depth"] == list(range(131))
    assert r.data["passes"]["parent"] == list(range(-1, 130))
    assert len(set(r.data["passes"]["thread"])) == 3


def test_workers_record_the_same_nodes_and_sums():
    x = leaf(4)
    total = sum(((x * float(i)).exp() * 0.5 for i in range(12)), ut.zeros(4)).sum()
    ut.autograd.set_num_workers(3)
    try:
        with record() as r:
            total.backward()
    finally:
        ut.autograd.set_num_workers(1)
    assert Counter(e["node"] for e in events(r, "started")) == Counter(range(len(r.data["nodes"]["kind"])))
    assert len(events(r, "arrived")) == len(r.data["edges"]["to"])
    assert len(events(r, "ready")) == len(r.data["nodes"]["kind"])


def test_a_failed_pass_has_its_error_and_no_end_of_the_node():
    x = leaf(2)
    y = x * 2
    y.register_hook(lambda g: 1 / 0)
    with record() as r:
        with pytest.raises(ZeroDivisionError):
            y.sum().backward()
    assert "division" in r.string(r.data["passes"]["error_s"][0])
    assert [r.name(e["node"]) for e in events(r, "failed")] == ["MulBackward0"]
    started = {e["node"] for e in events(r, "started")} - {e["node"] for e in events(r, "finished")}
    assert [r.name(n) for n in started] == ["MulBackward0"]


def test_a_grad_pass_has_captures_and_runs_only_what_is_needed():
    x, w, loss = branching()
    with record() as r:
        ut.autograd.grad(loss, [x])
    assert r.string(r.data["passes"]["kind_s"][0]) == "grad"
    captured = events(r, "captured")
    assert len(captured) == 1 and r.data["passes"]["captures"][0] == [[captured[0]["node"], 0]]
    assert not events(r, "accumulated")


def test_a_checkpoint_recomputes_inside_the_pass():
    x = leaf(3)
    with record(forward=True) as r:
        checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False).sum().backward()
    inside = [e for e in events(r, "forward") if e["pass"] >= 0]
    assert r.passes == 1 and not inside  # the recomputed nodes are in no pass
    assert r.data["meta"]["unused_nodes"] >= 1


def test_custom_functions_have_their_own_kind_and_name():
    class Twice(ut.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    with record() as r:
        Twice.apply(leaf(2)).sum().backward()
    kinds = {r.name(i): kind for i, kind in enumerate(r.data["nodes"]["kind"])}
    assert kinds == {"SumBackward0": 0, "TwiceBackward": 2, "AccumulateGrad": 1}


def test_a_write_through_a_view_has_the_line_of_the_write():
    x = leaf(4)
    with record() as r:
        y = x * 2
        y[:2].mul_(3)
        y.sum().backward()
    node = next(i for i in r.ran() if r.name(i) == "CopySlices")
    assert r.data["nodes"]["kind"][node] == 3
    file = r.data["files"][r.data["nodes"]["file"][node]]
    assert "y[:2].mul_(3)" in file["text"].splitlines()[r.data["nodes"]["line"][node] - 1]


def test_the_formula_of_a_node_comes_from_the_operator_tables():
    with record() as r:
        leaf(2).exp().sum().backward()
    node = next(i for i in r.ran() if r.name(i) == "ExpBackward0")
    operator = r.data["nodes"]["operator"][node]
    assert r.string(r.data["operators"]["name_s"][operator]) == "exp"
    assert r.data["operators"]["grads"][operator] == [["self", "grad * conj(result)"]]


def test_the_step_of_a_pass_counts_the_steps_of_an_optimizer():
    model = nn.Linear(2, 1)
    optimizer = ut.optim.SGD(model.parameters(), lr=0.1)
    with record() as r:
        for _ in range(3):
            model(ut.rand(4, 2)).sum().backward()
            model(ut.rand(4, 2)).sum().backward()
            optimizer.step()
    assert r.data["passes"]["step"] == [0, 0, 1, 1, 2, 2]


def test_memory_is_the_number_of_bytes_in_use():
    x = leaf(1000)
    with record() as r:
        loss = x.exp().sum()
        loss.backward()
    memory = r.data["events"]["memory"]
    assert all(m > 0 for m in memory)
    with record(memory=False) as r:
        x.exp().sum().backward()
    assert set(r.data["events"]["memory"]) == {None}


def test_passes_of_two_threads_are_kept_apart():
    def run():
        for _ in range(20):
            leaf(3).exp().sum().backward()

    threads = [threading.Thread(target=run) for _ in range(2)]
    with record() as r:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert r.passes == 40
    assert all(r.order(i) == ["SumBackward0", "ExpBackward0", "AccumulateGrad"] for i in range(40))
    assert len(set(r.data["passes"]["thread"])) == 2


def test_recordings_can_be_nested():
    x = leaf(2)
    with record() as outer:
        x.exp().sum().backward()
        with record() as inner:
            x.sin().sum().backward()
    assert outer.passes == 2 and inner.passes == 1
    assert inner.order() == ["SumBackward0", "SinBackward0", "AccumulateGrad"]


def test_the_steps_and_values_of_nested_recordings_are_their_own():
    model = nn.Linear(2, 1)
    optimizer = ut.optim.SGD(model.parameters(), lr=0.1)

    def step():
        model(ut.rand(4, 2)).sum().backward()
        optimizer.step()

    with record(values=True) as outer:
        step()
        with record(values=True) as inner:
            step()
            step()
        with ut.autograd.profiler.profile():
            step()
    assert outer.data["passes"]["step"] == [0, 1, 2, 3] and inner.data["passes"]["step"] == [0, 1]
    for r in (outer, inner):
        assert len(events(r, "started")) == len(r.data["values"]["node"]) == r.passes * len(r.ran(0))
        assert all(r.order(i) == r.order(0) for i in range(r.passes))


def test_after_a_recording_nothing_is_recorded_and_lines_are_off_again():
    with record():
        pass
    x = leaf(2)
    y = x * 2
    y.sum().backward()
    assert y.grad_fn.line is None and not ut._C._is_recording_lines()
    assert ut._C._trace_stop() == []


def test_a_block_that_raises_ends_its_recording():
    with pytest.raises(KeyError), record(values=True) as r:
        leaf(2).sum().backward()
        raise KeyError
    assert r.passes == 1 and not ut._C._is_recording_lines()


def test_a_recording_that_still_runs_says_so():
    with record() as r:
        with pytest.raises(RuntimeError, match="still running"):
            r.data
        assert "running" in repr(r)


def test_too_many_events_are_dropped_and_the_recording_says_so():
    loss = leaf(2).exp().sum()
    with record(most_events=5) as r:
        loss.backward()
    assert len(r) == 5 and r.data["meta"]["truncated"]


def test_a_recorded_node_does_not_keep_its_saved_tensors_or_leaves_alive():
    import weakref

    with record() as r:
        x = leaf(3)
        loss = x.exp().sum()
        loss.backward()
        gone = weakref.ref(x)
        del x, loss
        assert gone() is None
    assert r.passes == 1
