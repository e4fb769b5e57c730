"""How graphs, reports and recordings are shown in a notebook, and the faults of explain_grad that showed there."""

from __future__ import annotations

import re
import sys
import types
import xml.etree.ElementTree as ElementTree

import pytest

import undertow as ut
from undertow import nn
from undertow.autograd import explain_grad, saved_tensors_report
from undertow.autograd._diagnostics.places import shown_line
from undertow.inspect import draw, record
from undertow.inspect._layout import place
from undertow.utils.checkpoint import checkpoint


def branching() -> ut.Tensor:
    x = ut.rand(3, requires_grad=True)
    h = x * 2
    return (h.exp() * h + h.sin()).sum()


def boxes(svg: str) -> list[tuple[float, float, float, float]]:
    root = ElementTree.fromstring(svg)
    found = root.iter("{http://www.w3.org/2000/svg}rect")
    return [tuple(float(r.get(k)) for k in ("x", "y", "width", "height")) for r in found]


def test_a_drawing_has_each_node_once_and_boxes_do_not_overlap():
    svg = str(draw(branching()))
    found = boxes(svg)
    assert len(found) == 7 and svg.count("MulBackward0") == 2 and svg.count("marker-end") == 8
    for i, (x, y, w, h) in enumerate(found):
        for a, b, c, d in found[:i]:
            assert x + w <= a or a + c <= x or y + h <= b or b + d <= y


def test_the_loss_is_above_what_it_was_computed_from():
    loss = branching()
    tops = [y for _, y, _, _ in boxes(str(draw(loss)))]
    assert tops[0] == min(tops)


def test_a_node_a_tensor_and_a_recording_are_drawn():
    loss = branching()
    assert loss.grad_fn._repr_svg_() == str(draw(loss.grad_fn)) == str(draw(loss))
    with record() as r:
        loss.backward()
    assert len(boxes(str(draw(r)))) == 7
    assert "<svg" in r._repr_html_() and "Critical path" in r._repr_html_()


def test_a_tensor_without_a_graph_is_an_error():
    with pytest.raises(ValueError, match="does not require grad"):
        draw(ut.ones(2))


def test_a_large_graph_is_drawn_by_module():
    class Deep(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Sequential(nn.Linear(2, 2), nn.Tanh()) for _ in range(30))

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    with record() as r:
        Deep()(ut.rand(1, 2)).sum().backward()
    svg = str(draw(r, most_boxes=40))
    assert len(boxes(svg)) <= 40 and "layers.29" in svg


class Residual(nn.Module):
    """Blocks whose own additions stand before and after what is inside them."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.ModuleDict({"up": nn.Linear(2, 4), "down": nn.Linear(4, 2)}) for _ in range(6))

    def forward(self, x):
        for block in self.blocks:
            x = x + block["down"](block["up"](x).tanh())
        return x


class Recurrent(nn.Module):
    """A module that is called again after other operations."""

    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(2, 2)

    def forward(self, x):
        for _ in range(12):
            x = self.cell(x).tanh() + x
        return x


@pytest.mark.parametrize("model", [Residual, Recurrent])
@pytest.mark.parametrize("most", [12, 30, 50])
def test_every_line_of_a_collapsed_drawing_goes_downward(model, most):
    with record() as r:
        model()(ut.rand(1, 2)).sum().backward()
    svg = str(draw(r, most_boxes=most))
    ends = [re.findall(r"-?[\d.]+", path) for path in re.findall(r'<path d="(M[^"]+)" marker-end', svg)]
    assert 1 < len(boxes(svg)) <= most
    assert ends and all(float(points[1]) < float(points[-1]) for points in ends)


def test_a_chain_of_many_nodes_is_drawn_without_recursion():
    x = ut.ones(1, requires_grad=True)
    y = x
    for _ in range(20_000):
        y = y + 1
    assert 0 < len(boxes(str(draw(y)))) <= 150


def test_text_in_a_drawing_is_escaped():
    with record() as r:
        branching().backward()
    r.data["strings"] = [f"<script>&{s}" for s in r.data["strings"]]
    assert "<script" not in str(draw(r)) and "&lt;script&gt;" in str(draw(r))


def test_a_graph_with_a_cycle_of_groups_is_still_placed():
    centres, lines = place([10, 10, 10], [10, 10, 10], [(0, 1), (1, 2), (2, 0)])
    assert len(centres) == 3 and len(lines) == 3


def test_reports_have_a_form_for_notebooks():
    loss = branching()
    report = saved_tensors_report(loss)
    assert report._repr_html_().startswith("<pre>saved for backward")
    why = explain_grad(ut.ones(2), loss)
    assert "<b>frozen</b>: it does not require grad" in why._repr_html_()
    with ut.autograd.profiler.profile() as profile:
        branching().backward()
    assert "MulBackward0" in profile._repr_html_()


def test_the_table_has_no_line_column_without_lines():
    text = str(saved_tensors_report(branching()))
    assert "line" not in text and all(line == line.rstrip() for line in text.splitlines())


def test_a_checkpointed_graph_counts_the_inputs_that_it_keeps():
    x = ut.rand(1000, requires_grad=True)
    y = x * 2
    loss = checkpoint(lambda t: (t.exp() * t).sin(), y, use_reentrant=False).sum()
    report = saved_tensors_report(loss)
    assert report.total_bytes == y.numel() * 4
    assert "unknown" in str(report)
    loss.backward()
    assert x.grad is not None


def test_a_second_explanation_does_not_repeat_the_facts_of_the_first():
    w, x = ut.ones(3, requires_grad=True), ut.ones(3, requires_grad=True)
    first = explain_grad(w, lambda: x.sum() * w.sum().item())
    assert "item()" in str(first)
    second = explain_grad(w, lambda: x.sum())
    assert second.reason == "unused" and "item()" not in str(second)
    assert "item()" in str(explain_grad(w, lambda: x.sum() * w.sum().item()))


def test_a_loss_that_is_no_scalar_is_not_fine():
    x = ut.ones(3, requires_grad=True)
    why = explain_grad(x, x * 2)
    assert why.reason == "non_scalar" and "shape [3]" in str(why) and why.grad.tolist() == [2, 2, 2]
    assert explain_grad(x, (x * 2).sum()).reason == "fine"
    assert explain_grad(x, (x * 2).sum().reshape(1)).reason == "fine"


def test_a_module_is_explained_parameter_by_parameter():
    model = nn.ModuleDict({"used": nn.Linear(2, 1), "unused": nn.Linear(2, 1)})
    why = explain_grad(model, lambda: model["used"](ut.ones(1, 2)).sum())
    assert {name: w.reason for name, w in why.items()} == {
        "used.weight": "fine",
        "used.bias": "fine",
        "unused.weight": "unused",
        "unused.bias": "unused",
    }
    assert "unused.weight, unused.bias: unused" in str(why) and "used.weight" in why._repr_html_()


def test_the_line_of_a_cell_has_the_number_of_the_cell(monkeypatch):
    path = "/tmp/ipykernel_1/123.py"
    shell = types.SimpleNamespace(compile=types.SimpleNamespace(_filename_map={path: 7}))
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    assert shown_line(f"{path}:3") == "Cell In[7], line 3" and shown_line("train.py:3") == "train.py:3"
    code = compile("def loss(w, x): return (w.detach() * x).sum()", path, "exec")
    space: dict = {}
    exec(code, space)
    w, x = ut.ones(2, requires_grad=True), ut.ones(2, requires_grad=True)
    assert "Cell In[7], line 1" in str(explain_grad(w, lambda: space["loss"](w, x)))


def test_show_puts_the_page_below_the_cell_of_a_notebook(monkeypatch, tmp_path, capsys):
    shell = type("ZMQInteractiveShell", (), {})()
    shown = []
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(HTML=str, display=shown.append))
    with record() as r:
        branching().backward()
    path = r.show(tmp_path / "page.html")
    assert str(path) in capsys.readouterr().out
    frame = ElementTree.fromstring(shown[0])
    assert frame.tag == "iframe" and frame.get("sandbox") == "allow-scripts allow-downloads"  # apart from the notebook
    assert frame.get("srcdoc").split() == (tmp_path / "page.html").read_text(encoding="utf-8").split()
    r.show(tmp_path / "page.html", open_page=False)
    monkeypatch.setattr("undertow.inspect._show.MOST_INLINE", 10)
    r.show(tmp_path / "page.html")
    assert len(shown) == 1
