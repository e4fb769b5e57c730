"""The same program recorded under Undertow and under PyTorch: `diff` says where they differ, or that they do not."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch, the oracle, is not installed")

import undertow as ut
from undertow.inspect import diff, record, record_torch


def program(lib, scale: float = 1.0):
    w = lib.tensor([[0.1, 0.2], [0.3, -0.4]], requires_grad=True)
    x = lib.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    h = lib.tanh(x @ w)
    ((h * h).mean() * scale + h.exp().sum()).backward()


def recordings(scale: float = 1.0):
    with record(values=True) as ours:
        program(ut)
    with record_torch() as theirs:
        program(torch, scale)
    return ours, theirs


def test_the_same_program_gives_the_same_nodes_order_and_values():
    ours, theirs = recordings()
    assert ours.order() == theirs.order()
    found = diff(ours, theirs)
    assert not found, str(found)
    assert theirs.data["meta"]["library"] == "torch" and theirs.data["meta"]["library_version"] == torch.__version__


def test_a_difference_is_found_at_its_node():
    ours, theirs = recordings(scale=2.0)
    found = diff(ours, theirs)
    assert found.kind == "value" and ours.name(found.nodes[0]) == theirs.name(found.nodes[1])


def test_lines_edges_and_names_of_a_torch_recording(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh())
    with record_torch(model=model) as r:
        model(torch.ones(1, 2)).sum().backward()
    assert {r.string(s) for s in r.data["nodes"]["leaf_s"]} - {None} == {"0.weight", "0.bias"}
    assert "test_inspect_torch.py:" in r.line(r.ran()[0])
    assert len(r.data["edges"]["to"]) == len(r.data["nodes"]["kind"]) - 1
    r.save(tmp_path / "torch.utrace")
    assert not diff(tmp_path / "torch.utrace", r)
    assert "1 backward pass over" in str(r.explain())


def test_the_command_records_a_program_on_both(tmp_path):
    import os
    import subprocess
    import sys
    from pathlib import Path

    script = tmp_path / "train.py"
    script.write_text("import torch\nx = torch.tensor([1.0, 2.0], requires_grad=True)\n(x.exp() * x).sum().backward()\n")
    env = {**os.environ, "PYTHONPATH": str(Path(ut.__file__).parents[1])}
    for option, out in (("--torch", "theirs.utrace"), ("--as-torch", "ours.utrace")):
        command = [sys.executable, "-m", "undertow.inspect", "--values", "--out", out, option, str(script)]
        subprocess.run(command, cwd=tmp_path, env=env, check=True, timeout=300)
    found = diff(tmp_path / "ours.utrace", tmp_path / "theirs.utrace")
    assert not found, str(found)


def test_afterwards_torch_is_as_before():
    before = torch.autograd.graph._engine_run_backward
    with record_torch():
        assert torch.autograd.graph._engine_run_backward is not before
    assert torch.autograd.graph._engine_run_backward is before and torch.autograd._engine_run_backward is before
    assert not torch.is_anomaly_enabled()
