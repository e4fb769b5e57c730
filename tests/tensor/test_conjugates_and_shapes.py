"""Corners of shapes and memory: broadcast_shapes, NumPy arrays of conjugate views, resize_as_ in a memory format, repeated warnings."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import undertow as ut

SHAPES = [
    ((1, -12),),
    (-1,),
    (1.5,),
    ((1, 3, 5), (2, 3, 4)),
    ((2,), (3,)),
    ((0,), (3,)),
    ((0,), (1,)),
    ([2, 1], (1, 3)),
    (3,),
    (True,),
    ((),),
    (None,),
    (None, (2, 1), 3),
    (),
]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_broadcast_shapes_matches_torch(shapes, same_as_torch):
    same_as_torch(lambda lib: list(lib.broadcast_shapes(*shapes)), whole_messages=True)


VIEWS = {"conj": lambda c: c.conj(), "neg": lambda c: c.conj().imag, "both": lambda c: c.conj().imag.neg().detach(), "plain": lambda c: c.conj().conj()}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("how", ["numpy", "force", "asarray", "tolist"])
def test_arrays_of_conjugate_and_negative_views(view, how, same_as_torch):
    def scenario(lib):
        t = VIEWS[view](lib.tensor([1 + 2j, 3 - 1j]))
        calls = {"numpy": t.numpy, "force": lambda: t.numpy(force=True), "asarray": lambda: np.asarray(t), "tolist": lambda: str(t.tolist())}
        return calls[how]()

    same_as_torch(scenario, whole_messages=True)


@pytest.mark.parametrize("format", ["preserve_format", "contiguous_format", "channels_last", None])
@pytest.mark.parametrize("template", ["channels last", "contiguous", "transposed", "expanded"])
def test_resize_as_follows_the_memory_format(format, template, same_as_torch):
    def scenario(lib):
        like = {
            "channels last": lambda: lib.zeros(2, 3, 4, 5).to(memory_format=lib.channels_last),
            "contiguous": lambda: lib.zeros(2, 3, 4, 5),
            "transposed": lambda: lib.zeros(5, 4, 3, 2).permute(3, 2, 1, 0),
            "expanded": lambda: lib.zeros(2, 3, 4, 1).expand(2, 3, 4, 5),
        }[template]()
        options = {} if format is None else {"memory_format": getattr(lib, format)}
        return list(lib.arange(120.0).resize_as_(like, **options).stride())

    same_as_torch(scenario)


def test_warnings_that_come_once_are_repeated_on_request():
    def heard():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(2):
                ut.tensor([1j]).to(ut.float32)
        return len(caught)

    heard()
    assert heard() == 0
    ut.set_warn_always(True)
    try:
        assert ut.is_warn_always_enabled() and heard() == 2
    finally:
        ut.set_warn_always(False)
    assert heard() == 0
