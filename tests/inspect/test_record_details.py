"""What a recording knows about nodes besides the pass: hooks, calls of modules, threads."""

from __future__ import annotations

import functools
import threading
from collections import Counter

from reading import events, leaf

import undertow as ut
from undertow import nn
from undertow.inspect import record


def scaled(grad):
    return grad * 1


class Doubler:
    def hook(self, grad):
        return None

    def __call__(self, *grads):
        return None


def test_hooks_have_the_names_and_lines_of_their_functions():
    x = leaf(2)
    y = x * 2
    y.register_hook(scaled)
    y.register_hook(Doubler().hook)
    y.register_hook(functools.partial(lambda k, g: None, 1))
    y.grad_fn.register_prehook(Doubler())
    x.register_hook(scaled)
    x.register_post_accumulate_grad_hook(scaled_leaf := lambda p: None)
    with record() as r:
        y.sum().backward()
    table = r.data["hooks"]
    rows = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    found = [(r.name(row["node"]), row["kind"], r.string(row["name_s"])) for row in rows]
    here = "test_hooks_have_the_names_and_lines_of_their_functions.<locals>.<lambda>"
    assert found == [
        ("MulBackward0", "tensor_hook", "scaled"),
        ("MulBackward0", "tensor_hook", "Doubler.hook"),
        ("MulBackward0", "tensor_hook", here),
        ("MulBackward0", "pre_hook", "Doubler"),
        ("AccumulateGrad", "tensor_hook", "scaled"),
        ("AccumulateGrad", "post_hook", here),
    ]
    lines = {r.string(row["name_s"]): (r.data["files"][row["file"]]["path"] if row["file"] >= 0 else None, row["line"]) for row in rows}
    assert lines["scaled"][0].endswith("test_record_details.py") and lines["scaled"][1] == scaled.__code__.co_firstlineno
    assert lines["Doubler.hook"][1] == Doubler.hook.__code__.co_firstlineno
    assert lines[here][1] == scaled_leaf.__code__.co_firstlineno
    assert lines["Doubler"][1] == Doubler.__call__.__code__.co_firstlineno


def test_an_object_that_answers_to_every_name_may_be_a_hook():
    class Anything:
        def __getattr__(self, name):
            return Anything()

        def __call__(self, grad):
            return None

    y = leaf(2) * 2
    y.register_hook(Anything())
    with record() as r:
        y.sum().backward()
    assert r.data["hooks"]["kind"] == ["tensor_hook"]


def test_a_hook_after_accumulation_is_an_event_after_it():
    x = leaf(2)
    x.register_post_accumulate_grad_hook(lambda p: None)
    with record() as r:
        (x * 2).sum().backward()
    own = [e["kind"] for e in events(r) if e["node"] >= 0 and r.name(e["node"]) == "AccumulateGrad"]
    assert own == ["arrived", "ready", "started", "accumulated", "post_hook", "finished"]


def test_a_module_that_is_called_again_has_a_row_for_each_call():
    class Loop(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.RNNCell(2, 2)

        def forward(self, x):
            h = ut.zeros(1, 2)
            for _ in range(3):
                h = self.cell(x, h)
            return h

    with record() as r:
        Loop()(leaf(1, 2)).sum().backward()
    calls, modules = r.data["calls"], r.data["modules"]
    assert [r.string(modules["path_s"][m]) for m in calls["module"]] == ["", "cell", "cell", "cell"]
    assert calls["parent"] == [-1, 0, 0, 0]
    made = Counter(c for c, kind in zip(r.data["nodes"]["call"], r.data["nodes"]["kind"], strict=True) if kind == 0)
    assert made[1] == made[2] == made[3] > 1
    of_nodes = zip(r.data["nodes"]["call"], r.data["nodes"]["module"], strict=True)
    assert all(module == (calls["module"][call] if call >= 0 else -1) for call, module in of_nodes)


def test_threads_are_rows_of_their_table_in_the_order_in_which_they_appear():
    def run():
        leaf(2).sum().backward()

    for _ in range(3):  # threads that nothing was recorded of have numbers in the core, too
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    with record() as r:
        run()
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    assert set(r.data["events"]["thread"]) == {0, 1} == set(r.data["threads"]["number"])
    assert r.data["passes"]["thread"] == [0, 1]
