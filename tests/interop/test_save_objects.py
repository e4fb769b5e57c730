"""`save` writes everything that can be pickled; `load` reads what is not plain only with weights_only=False, with a warning."""

from __future__ import annotations

import collections
import datetime
import enum
import functools
import io
import pickle
import threading
import warnings

import numpy as np
import pytest

import undertow as ut
from undertow import nn


class Colour(enum.Enum):
    RED = 1


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.rest = nn.Sequential(nn.ReLU(), nn.LSTM(3, 2), nn.LSTMCell(2, 2), nn.MultiheadAttention(4, 2), nn.LazyLinear(3))
        self.colour = Colour.RED

    def forward(self, x):
        return self.first(x)


class Warm(ut.Tensor):
    pass


class Numbers(list):
    pass


class Slotted:
    __slots__ = ("me", "x")


class Text(str):
    def __new__(cls, *, text):
        return super().__new__(cls, text)

    def __getnewargs_ex__(self):
        return (), {"text": str(self)}


class Outer:
    class Inner:
        x = 3

    def method(self):
        return 1


Pair = collections.namedtuple("Pair", "a b")
formats = pytest.mark.parametrize("zipped", [True, False])


def saved(obj, zipped=True):
    file = io.BytesIO()
    ut.save(obj, file, _use_new_zipfile_serialization=zipped)
    file.seek(0)
    return file


def loaded(file):
    with pytest.warns(UserWarning, match="can run any code"):
        return ut.load(file, weights_only=False)


@formats
def test_a_module_is_restored(zipped):
    net = Net()
    again = loaded(saved({"net": net, "same": net}, zipped))
    assert again["net"] is again["same"] and type(again["net"]) is Net and again["net"].colour is Colour.RED
    x = ut.ones(1, 2)
    assert ut.equal(again["net"](x), net(x)) and repr(again["net"]) == repr(net)


@formats
@pytest.mark.parametrize("obj", [
    Colour.RED, np.float64(2), datetime.date(2020, 1, 1), Pair(1, 2), Numbers([1, 2]), collections.defaultdict(list, a=[1]), slice(1, 2),
    range(3), ut.relu, nn.functional.dropout, len, int, type(None), ..., collections.deque([1], 2), Text(text="a"), nn.Linear, ut.Tensor,
    Outer.Inner, Outer.method,
])  # fmt: skip
def test_objects_are_restored(obj, zipped):
    again = loaded(saved([obj], zipped))[0]
    assert again == obj and type(again) is type(obj)


@formats
def test_objects_that_contain_themselves_and_tensors(zipped):
    s = Slotted()
    s.me, s.x = s, ut.arange(3)
    again = loaded(saved(s, zipped))
    assert again.me is again and again.x.tolist() == [0, 1, 2]


@formats
def test_arrays_partials_optimizers_and_generators(zipped):
    p = ut.ones(2, requires_grad=True)
    array, call, optimizer, generator, warm = loaded(
        saved([np.arange(3), functools.partial(ut.add, 1), ut.optim.SGD([p], lr=0.5), ut.Generator().manual_seed(3), ut.ones(2).as_subclass(Warm)], zipped)
    )
    assert array.tolist() == [0, 1, 2] and call(ut.ones(1)).item() == 2 and optimizer.param_groups[0]["lr"] == 0.5
    assert generator.initial_seed() == 3 and type(warm) is Warm


def test_the_file_has_torchs_names():
    pickled = b"".join(saved(nn.Sequential(nn.Linear(1, 1), nn.LSTMCell(1, 1))))
    assert b"ctorch.nn.modules.container\nSequential" in pickled and b"ctorch.nn.modules.rnn\nLSTMCell" in pickled and b"undertow" not in pickled


@formats
def test_load_is_safe_by_default(zipped):
    for weights_only in (None, True):
        with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
            ut.load(saved(Net(), zipped), weights_only=weights_only)


@formats
def test_a_plain_file_does_not_warn(zipped):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ut.load(saved({"a": ut.ones(1)}, zipped), weights_only=False)["a"].item() == 1


def test_what_cannot_be_written_raises_as_in_pickle():
    class Local:
        pass

    for obj, error in ((lambda: 1, AttributeError), (Local(), AttributeError), (threading.Lock(), TypeError)):
        with pytest.raises(error, match="[Cc]an't pickle|cannot pickle"):
            saved(obj)


def test_a_class_that_is_not_here_is_named():
    file = io.BytesIO(b"".join(saved(nn.Linear(1, 1))).replace(b"torch.nn.modules.linear\nLinear", b"torch.nn.modules.linear\nLinaer"))
    with pytest.raises((pickle.UnpicklingError, RuntimeError), match="Linaer|checksum"):
        ut.load(file, weights_only=False)
