"""Every name of torch that two or more published packages use exists under as_torch, or raises with a reason: tools/torch_names/table.tsv."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.paths import ROOT, environment_for_tools
from tools.torch_names.used import names_in

TABLE = ROOT / "tools" / "torch_names" / "table.tsv"
GENERIC = ("no public name like it", "has no attribute", "there is no operator")


def rows():
    return [line.split("\t") for line in TABLE.read_text().splitlines() if not line.startswith("#")]


def test_the_table_agrees_with_as_torch(tmp_path):
    table = {name: said for name, _, said in rows() if said != "not in torch 2.13 either"}
    (tmp_path / "given.json").write_text(json.dumps(sorted(table)))
    command = [sys.executable, "-m", "undertow.as_torch", str(ROOT / "tools" / "torch_names" / "resolve.py")]
    subprocess.run([*command, tmp_path / "given.json", tmp_path / "found.json"], check=True, timeout=300, env=environment_for_tools(), capture_output=True)
    found = json.loads((tmp_path / "found.json").read_text())
    lost = [name for name, said in table.items() if said == "exists" and found[name] != name]
    assert not lost
    without_reason = {name: found[name] for name in table if found[name] != name and any(text in found[name] for text in GENERIC)}
    assert not without_reason


def test_the_table_is_by_use():
    counts = [int(count) for _, count, _ in rows()]
    assert len(counts) > 1500 and min(counts) >= 2 and counts == sorted(counts, reverse=True)


def test_chains_are_read_through_imports_and_aliases():
    source = """
import torch, torch.nn as nn, torch.utils.data
from torch.nn import functional as F, Linear
from torch import *
def f(x: torch.Tensor): return F.relu(x).torch.nothing + nn.init.zeros_(x) + Linear(1, 1) + x.torch
"""
    assert names_in(source) == {
        "torch", "torch.nn", "torch.utils.data", "torch.nn.functional", "torch.nn.Linear", "torch.Tensor", "torch.nn.functional.relu",
        "torch.nn.init.zeros_",
    }  # fmt: skip
