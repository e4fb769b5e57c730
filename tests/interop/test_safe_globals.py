"""Classes that the program has listed as safe are written and read; no others are, and a file cannot add to the list."""

from __future__ import annotations

import io
from pickle import UnpicklingError

import pytest

import undertow as ut
from undertow import serialization


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __eq__(self, other):
        return (self.x, self.y) == (other.x, other.y)


class Slotted:
    __slots__ = ("a",)


class Stateful:
    def __getstate__(self):
        return {"kept": self.value}

    def __setstate__(self, state):
        self.value = state["kept"] + 1


class Called:
    def __init__(self, n):
        self.n = n

    def __reduce__(self):
        return Called, (self.n,)


@pytest.fixture(autouse=True)
def nothing_listed():
    serialization.clear_safe_globals()
    yield
    serialization.clear_safe_globals()


def saved(obj):
    file = io.BytesIO()
    ut.save(obj, file)
    file.seek(0)
    return file


def test_an_instance_of_a_listed_class_is_restored():
    with serialization.safe_globals([Point, Slotted, Stateful, Called]):
        slotted, stateful = Slotted(), Stateful()
        slotted.a, stateful.value = 3, 4
        shared = Point(1, ut.ones(2))
        back = ut.load(saved({"p": shared, "again": shared, "s": slotted, "t": stateful, "c": Called(7)}))
    assert back["p"].x == 1 and back["p"].y.tolist() == [1.0, 1.0] and back["p"] is back["again"]
    assert (back["s"].a, back["t"].value, back["c"].n) == (3, 5, 7)
    assert serialization.get_safe_globals() == []


def test_without_the_list_it_is_not_read():
    with serialization.safe_globals([Point]):
        file = saved(Point(1, 2))
    with pytest.raises(UnpicklingError, match="add_safe_globals"):
        ut.load(file)
    with pytest.raises(UnpicklingError, match="add_safe_globals"):
        ut.load(saved(Point(1, 2)))


def test_a_class_may_be_listed_by_the_name_that_files_use():
    serialization.add_safe_globals([Point])
    file = saved(Point(1, 2))
    serialization.clear_safe_globals()
    serialization.add_safe_globals([(Point, f"{Point.__module__}.Point")])
    assert ut.load(file) == Point(1, 2)


def test_a_listed_class_does_not_open_others():
    with serialization.safe_globals([Called, Point]):
        both = saved({"c": Called(1), "p": Point(1, 2)})
    with serialization.safe_globals([Called]):
        with pytest.raises(UnpicklingError, match="Point"):
            ut.load(both)
