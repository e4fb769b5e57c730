"""Checkpoints that torch.save wrote, in the folder of the same name, and the classes that they hold."""

from __future__ import annotations

import dataclasses
import enum
from argparse import Namespace
from pathlib import Path

FOLDER = Path(__file__).with_suffix("")


@dataclasses.dataclass
class Config:
    width: int
    start: object = None


class Colour(enum.Enum):
    RED = 1


class Slotted:
    __slots__ = ("a",)


def contents(lib) -> dict[str, object]:
    """What each file holds, made with either library."""
    slotted = Slotted()
    slotted.a = lib.arange(3)
    return {
        "namespace.pt": {"args": Namespace(lr=0.5, tags=("a", "b"), inner=Namespace(seed=None)), "weight": lib.ones(2)},
        "listed.pt": {"config": Config(5, lib.ones(2)), "colour": Colour.RED, "slotted": slotted},
        "state.pt": {"model": dict(lib.nn.Linear(2, 3).state_dict()), "half": lib.ones(2, dtype=lib.bfloat16), "strided": lib.arange(6.0).reshape(2, 3).t()},
    }


def write() -> None:
    """Writes the files. Needs torch."""
    import torch

    FOLDER.mkdir(exist_ok=True)
    torch.manual_seed(0)
    for name, value in contents(torch).items():
        torch.save(value, FOLDER / name)
