"""gradcheck compared with torch in both modes: what passes, what fails, and the first words of its messages."""

from __future__ import annotations

import pytest
from gradcheck_scenarios import SCENARIOS

import undertow as ut

torch = pytest.importorskip("torch", reason="PyTorch is the oracle here")

from test_function_parity import first_clause, outcome


@pytest.mark.parametrize("fast_mode", [False, True], ids=["slow", "fast"])
@pytest.mark.parametrize("what", list(SCENARIOS))
def test_results_match_torch(what: str, fast_mode: bool):
    ours, theirs = (outcome(lambda lib: SCENARIOS[what](lib, fast_mode=fast_mode), lib) for lib in (ut, torch))
    if not isinstance(theirs, Exception):
        assert ours == theirs, repr(ours)
        return
    assert type(ours).__name__ == type(theirs).__name__, f"{ours!r}\ntorch: {theirs!r}"
    assert str(ours).startswith(first_clause(theirs)), f"{ours}\ntorch: {theirs}"
