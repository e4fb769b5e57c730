"""add_safe_globals and safe_globals: files may contain the listed classes and functions, and no others."""

from __future__ import annotations

import dataclasses
import enum
import io
import pickle
from collections import namedtuple

import numpy as np
import pytest

import undertow as ut
from undertow import serialization


@dataclasses.dataclass
class Config:
    width: int
    start: object = None


class Colour(enum.Enum):
    RED = 1


class Slotted:
    __slots__ = ("x",)


class Counted:
    def __getstate__(self):
        return {"n": self.n * 2}

    def __setstate__(self, state):
        self.n = state["n"] + 1


class Marked(ut.Tensor):
    pass


Pair = namedtuple("Pair", "a b")
calls = []


def called(*args):
    calls.append(args)
    return args


def there_and_back(obj, allow):
    file = io.BytesIO()
    with serialization.safe_globals(allow):
        ut.save(obj, file)
        file.seek(0)
        return ut.load(file)


def test_an_object_of_an_allowed_class_is_restored_with_its_tensors():
    config = Config(3, ut.arange(3))
    back = there_and_back({"c": config}, [Config])["c"]
    assert type(back) is Config and vars(back).keys() == vars(config).keys()
    assert back.width == 3 and back.start.tolist() == [0, 1, 2]


def test_enums_named_tuples_slots_and_states_are_restored():
    slotted, counted = Slotted(), Counted()
    slotted.x, counted.n = 3, 5
    assert there_and_back([Colour.RED], [Colour]) == [Colour.RED]
    assert there_and_back(Pair(1, 2), [Pair]) == Pair(1, 2)
    assert there_and_back(slotted, [Slotted]).x == 3
    assert there_and_back(counted, [Counted]).n == 11


def test_a_tensor_of_an_allowed_subclass_keeps_its_class_and_attributes():
    t = ut.ones(2).as_subclass(Marked)
    t.note = "seen"
    back = there_and_back(t, [Marked])
    assert type(back) is Marked
    assert back.note == "seen"


def test_numpy_scalars_are_restored_once_their_parts_are_allowed():
    parts = [np._core.multiarray.scalar, np.dtype, np.float64, type(np.dtype("f8"))]
    assert there_and_back(np.float64(3.0), parts) == 3.0


def test_the_same_object_twice_is_the_same_object_after_loading():
    c = Config(1)
    a, b = there_and_back([c, c], [Config])
    assert a is b


@pytest.mark.parametrize("obj", [Config(1), Colour.RED, Pair(1, 2)])
def test_without_being_allowed_it_is_not_read(obj):
    file = io.BytesIO()
    ut.save(obj, file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match=f"add_safe_globals\\(\\[{type(obj).__name__}\\]"):
        ut.load(file)
    with pytest.raises(pickle.UnpicklingError, match=f"add_safe_globals\\(\\[{type(obj).__name__}\\]"):
        ut.load(io.BytesIO(pickle.dumps(obj, 2)))


def test_a_function_that_was_not_allowed_is_not_called_though_another_was():
    class Calls:
        def __reduce__(self):
            return called, (1,)

    calls.clear()
    with serialization.safe_globals([Config]), pytest.raises(pickle.UnpicklingError, match="called"):
        ut.load(io.BytesIO(pickle.dumps(Calls(), 2)))
    assert calls == []


def test_leaving_the_block_and_clearing_revoke_permissions():
    with serialization.safe_globals([Config]):
        with serialization.safe_globals([Colour]):
            assert serialization.get_safe_globals() == [Config, Colour]
        assert serialization.get_safe_globals() == [Config]
    assert serialization.get_safe_globals() == []
    serialization.add_safe_globals([(Config, "elsewhere.Settings")])
    assert serialization.get_safe_globals() == [(Config, "elsewhere.Settings")]
    serialization.clear_safe_globals()
    assert serialization.get_safe_globals() == []


def test_only_functions_and_classes_can_be_allowed():
    with pytest.raises(TypeError, match="a function, a class"):
        serialization.add_safe_globals([3])
    with pytest.raises(ValueError, match="length 2"):
        serialization.add_safe_globals([(Config, "a", "b")])


def test_the_names_that_a_file_needs_are_listed():
    file = io.BytesIO()
    with serialization.safe_globals([Config]):
        ut.save({"c": Config(1), "t": ut.ones(2)}, file)
    file.seek(0)
    assert serialization.get_unsafe_globals_in_checkpoint(file) == [f"{__name__}.Config"]
    file.seek(0)
    with serialization.safe_globals([Config]):
        assert serialization.get_unsafe_globals_in_checkpoint(file) == []


def test_attributes_of_an_allowed_tensor_class_may_have_the_names_of_methods():
    t = ut.ones(2).as_subclass(Marked)
    t.values = ut.zeros(3)
    assert there_and_back(t, [Marked]).values.tolist() == [0, 0, 0]
