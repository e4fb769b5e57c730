"""Files with classes that the user lists: torch reads ours, and we read torch's."""

from __future__ import annotations

import dataclasses
import enum
import io
from argparse import Namespace

import pytest

torch = pytest.importorskip("torch", reason="torch, the oracle, is not installed")

import undertow as ut


@dataclasses.dataclass
class Config:
    width: int
    start: object = None


class Colour(enum.Enum):
    RED = 1


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y


def carried(value, writer, reader, allow):
    """The value, written by one library and read by the other."""
    file = io.BytesIO()
    with writer.serialization.safe_globals(allow):
        writer.save(value, file)
    file.seek(0)
    with reader.serialization.safe_globals(allow):
        return reader.load(file, weights_only=True)


@pytest.mark.parametrize(("writer", "reader"), [(ut, torch), (torch, ut)], ids=["to torch", "from torch"])
def test_listed_classes_are_exchanged(writer, reader):
    allow = [Config, Point] if writer is ut else [Config, Point, Colour]
    value = {"c": Config(4, writer.ones(2)), "p": Point(1, writer.ones(2)), **({} if writer is ut else {"e": Colour.RED})}
    back = carried(value, writer, reader, allow)
    assert (back["c"].width, back["c"].start.tolist(), back["p"].x, back["p"].y.tolist()) == (4, [1.0, 1.0], 1, [1.0, 1.0])
    assert back.get("e", Colour.RED) is Colour.RED


@pytest.mark.parametrize(("writer", "reader"), [(ut, torch), (torch, ut)], ids=["to torch", "from torch"])
def test_options_of_a_command_line_are_exchanged(writer, reader):
    back = carried({"args": Namespace(lr=0.5, tags=("a", "b")), "w": writer.ones(2)}, writer, reader, [Namespace])
    assert back["args"] == Namespace(lr=0.5, tags=("a", "b")) and back["w"].tolist() == [1.0, 1.0]
