"""Every public name of the utility modules of torch.nn exists here too."""

from __future__ import annotations

import importlib

import pytest

torch = pytest.importorskip("torch", reason="torch, the oracle, is not installed")

import undertow as ut


@pytest.mark.parametrize(
    "where", ["nn.Module", "nn.init", "nn.utils", "nn.utils.rnn", "nn.utils.parametrize", "nn.utils.parametrizations", "nn.utils.prune"]
)
def test_no_public_name_of_torch_is_missing(where):
    theirs, ours = torch, ut
    for part in where.split("."):
        for library in ("torch", "undertow"):
            if part[0].islower():
                importlib.import_module(library + "." + where[: where.index(part) + len(part)])
        theirs, ours = getattr(theirs, part), getattr(ours, part)
    own = {n for n in dir(theirs) if not n.startswith("_") and getattr(getattr(theirs, n), "__module__", "").startswith("torch.nn")}
    borrowed = {"Module", "ModuleDict", "ModuleList", "PackedSequence_", "Parameter", "T_destination", "Tensor", "bind"}
    assert sorted(n for n in own - borrowed if not hasattr(ours, n)) == []
