"""Recordings for other tools: Perfetto, Graphviz, pandas."""

from __future__ import annotations

import json
import sys

import pytest

import undertow as ut
from undertow import nn
from undertow.inspect import record


@pytest.fixture
def recorded():
    model = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.Tanh(), nn.Linear(3, 1)))
    with record(forward=True, values=True) as r:
        y = model(ut.rand(400, 2))
        y.register_hook(lambda g: None)
        y.sum().backward()
    return r


def test_perfetto_has_a_span_for_each_node_and_a_flow_from_its_forward(recorded, tmp_path):
    found = recorded.to_perfetto(tmp_path / "trace.json")
    assert json.loads((tmp_path / "trace.json").read_text()) == found
    events = found["traceEvents"]
    spans = [e for e in events if e.get("cat") == "node"]
    assert sorted(e["name"] for e in spans) == sorted(recorded.order())
    assert all(e["dur"] >= 0 and e["ts"] >= 0 for e in spans)
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    made = [n for n, t in enumerate(recorded.data["nodes"]["forward_time"]) if t is not None]
    assert sorted(starts) == sorted(ends) == made and made
    assert all(starts[i]["ts"] < ends[i]["ts"] for i in made)
    assert any(e["name"] == "tensor hook" for e in events)
    assert any(e["ph"] == "C" and e["args"]["bytes"] > 0 for e in events)


def test_dot_has_every_node_and_edge_and_balanced_boxes(recorded, tmp_path):
    text = recorded.to_dot(tmp_path / "graph.dot")
    assert (tmp_path / "graph.dot").read_text() == text
    nodes = recorded.data["nodes"]["kind"]
    assert all(f"n{i} [label=" in text for i in range(len(nodes)))
    assert text.count("->") == len(recorded.data["edges"]["to"])
    assert text.count("{") == text.count("}") == 1 + text.count("subgraph")
    assert 'label="1.1"' in text and "1.1.weight" in text


def test_quotes_in_names_stay_inside_their_label(recorded):
    strings = recorded.data["strings"]
    recorded.data["strings"] = [s + '"]; evil [label="' for s in strings]
    assert "\n  evil" not in recorded.to_dot() and '\\"]; evil [label=\\"' in recorded.to_dot()


def test_pandas_tables(recorded):
    pandas = pytest.importorskip("pandas")
    nodes = recorded.to_pandas()
    assert isinstance(nodes, pandas.DataFrame) and list(nodes["name"]) == [recorded.name(i) for i in range(len(nodes))]
    assert len(recorded.to_pandas("events")) == len(recorded)
    assert set(recorded.to_pandas("edges")) >= {"from", "to"}
    with pytest.raises(ValueError, match="table should be"):
        recorded.to_pandas("colours")


def test_without_pandas_the_error_says_what_to_install(recorded, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        recorded.to_pandas()


def test_hooks_are_a_table_with_functions_and_lines():
    pandas = pytest.importorskip("pandas")

    def seen(grad):
        return None

    y = ut.ones(2, requires_grad=True) * 2
    y.register_hook(seen)
    with record() as r:
        y.sum().backward()
    frame = r.to_pandas("hooks")
    assert isinstance(frame, pandas.DataFrame) and list(frame["kind"]) == ["tensor_hook"] and frame["function"][0].endswith("seen")
    assert frame["line"][0].endswith(f"test_exports.py:{seen.__code__.co_firstlineno}")
