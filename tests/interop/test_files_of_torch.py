"""Checkpoints that torch.save wrote are read here, without torch."""

from __future__ import annotations

from argparse import Namespace
from pickle import UnpicklingError

import pytest
import written_by_torch as written

import undertow as ut
from undertow import serialization


def load(name: str):
    return ut.load(written.FOLDER / name)


def test_options_of_a_command_line_are_read():
    state = load("namespace.pt")
    assert state["args"] == Namespace(lr=0.5, tags=("a", "b"), inner=Namespace(seed=None)) and state["weight"].tolist() == [1.0, 1.0]


def test_listed_classes_are_read_and_others_are_not():
    with serialization.safe_globals([written.Config, written.Colour, written.Slotted]):
        state = load("listed.pt")
    assert (state["config"].width, state["config"].start.tolist(), state["colour"]) == (5, [1.0, 1.0], written.Colour.RED)
    assert type(state["slotted"]) is written.Slotted and state["slotted"].a.tolist() == [0, 1, 2]
    with pytest.raises(UnpicklingError, match="add_safe_globals"):
        load("listed.pt")
    with serialization.safe_globals([written.Config, written.Slotted]), pytest.raises(UnpicklingError, match="Colour"):
        load("listed.pt")


def test_weights_dtypes_and_strides_are_read():
    ut.manual_seed(0)
    state, layer = load("state.pt"), ut.nn.Linear(2, 3)  # the same seed makes the same weights
    assert ut.equal(state["model"]["weight"], layer.weight) and ut.equal(state["model"]["bias"], layer.bias)
    layer.load_state_dict(state["model"])
    assert state["half"].dtype is ut.bfloat16 and state["half"].tolist() == [1.0, 1.0]
    assert state["strided"].stride() == (1, 3) and state["strided"].tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
