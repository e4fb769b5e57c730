"""The options of a command line, which programs keep in their checkpoints, are read and written; other classes raise."""

import io
import pickle
from argparse import Namespace

import pytest

import undertow as ut


def through(value):
    file = io.BytesIO()
    ut.save(value, file)
    file.seek(0)
    return ut.load(file)


def test_options_are_restored_with_their_values_and_sharing():
    options = Namespace(lr=0.1, layers=[1, 2], name="x", inner=Namespace(seed=None), weight=ut.ones(2))
    again = through({"args": options, "again": options, "epoch": 3})
    assert type(again["args"]) is Namespace and again["again"] is again["args"] and again["epoch"] == 3
    assert vars(again["args"]).keys() == vars(options).keys()
    assert (again["args"].lr, again["args"].layers, again["args"].inner) == (0.1, [1, 2], Namespace(seed=None))
    assert ut.equal(again["args"].weight, options.weight)


class Other:
    pass


HOSTILE = {
    "an instance of another class": pickle.dumps(Other(), 2),
    "a method replaced": b"\x80\x02cargparse\nNamespace\n)\x81}X\x0b\x00\x00\x00_get_kwargsK\x01sb.",
    "a special name": b"\x80\x02cargparse\nNamespace\n)\x81}X\x09\x00\x00\x00__class__K\x01sb.",
    "arguments": b"\x80\x02cargparse\nNamespace\nK\x01\x85\x81.",
    "a call": b"\x80\x02cargparse\nNamespace\n)R.",
    "a name that is no string": b"\x80\x02cargparse\nNamespace\n)\x81}K\x01K\x01sb.",
    "a class as a value": b"\x80\x02cargparse\nNamespace\n)\x81}X\x01\x00\x00\x00acargparse\nNamespace\nsb.",
    "another opcode's class": b"\x80\x02K\x01)\x81.",
    "the class itself": b"\x80\x02cargparse\nNamespace\n.",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_anything_but_a_plain_namespace_raises(what):
    with pytest.raises(pickle.UnpicklingError):
        ut.load(io.BytesIO(HOSTILE[what]))
