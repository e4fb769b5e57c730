"""Custom Functions compared with torch: each scenario runs on both libraries and must have the same outcome.

Where torch raises, we raise the same class, and our message starts with torch's first clause.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest
from function_classes import SCENARIOS as CLASSES
from function_scenarios import SCENARIOS as CALLS
from function_state import SCENARIOS as STATE
from function_tangents import SCENARIOS as TANGENTS

import undertow as ut

SCENARIOS = CALLS | STATE | CLASSES

torch = pytest.importorskip("torch", reason="PyTorch is the oracle here")

from test_views import plain


def outcome(scenario: Any, lib: Any) -> Any:
    """What the scenario returns, or what it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(scenario(lib))
        except Exception as e:  # noqa: BLE001 - whatever is raised is the answer
            return e


def first_clause(error: Exception) -> str:
    return re.split(r"\. |\.$|, which is |; | - |, but  |: \[", str(error))[0].split("\n")[0]


def check(scenario: Any) -> None:
    ours, theirs = outcome(scenario, ut), outcome(scenario, torch)
    if not isinstance(theirs, Exception):
        assert ours == theirs
        return
    assert type(ours) is type(theirs), f"{ours!r}\ntorch: {theirs!r}"
    assert str(ours).startswith(first_clause(theirs)), f"{ours}\ntorch: {theirs}"


@pytest.mark.parametrize("what", list(SCENARIOS))
def test_a_scenario_matches_torch(what: str):
    check(SCENARIOS[what])


@pytest.mark.parametrize("what", list(TANGENTS))
def test_a_forward_mode_scenario_matches_torch(what: str):
    check(TANGENTS[what])
