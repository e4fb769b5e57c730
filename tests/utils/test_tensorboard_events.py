"""Event files for TensorBoard: scalars are read back; closed writers can continue. tests/parity compares every kind of event with torch's."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("tensorboard", reason="event files are written by the tensorboard package")
pytest.importorskip("PIL", reason="pictures are encoded by Pillow")
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

import undertow as ut
from undertow.utils.tensorboard import SummaryWriter


def scalars(folder):
    found = {}
    for name in os.listdir(folder):
        for event in EventFileLoader(str(folder / name)).Load():
            for value in event.summary.value:
                found[value.tag, event.step] = value.tensor.float_val[0] if value.HasField("tensor") else value.simple_value
    return found


def test_scalars_are_read_back(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        for step in range(3):
            writer.add_scalar("loss", ut.tensor(1.0 / (step + 1)), step)
    assert scalars(tmp_path) == pytest.approx({("loss", 0): 1.0, ("loss", 1): 0.5, ("loss", 2): 1 / 3})


def test_functions_that_need_a_tracer_raise(tmp_path):
    with SummaryWriter(tmp_path) as writer, pytest.raises(NotImplementedError, match="tracer"):
        writer.add_graph(ut.nn.Linear(1, 1))


def test_a_closed_writer_continues_in_a_new_file(tmp_path):
    writer = SummaryWriter(tmp_path)
    writer.close()
    writer.add_scalar("x", 1.0, 3)
    writer.close()
    with pytest.raises(AssertionError, match="0D"):
        writer.add_scalar("x", ut.ones(2))
    writer.close()
    assert len(os.listdir(tmp_path)) >= 1
