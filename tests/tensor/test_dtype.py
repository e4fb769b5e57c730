"""dtypes, devices and sizes, and their properties."""

import copy
import pickle

import numpy as np
import pytest

import undertow as ut

NAMES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("name", NAMES)
def test_dtypes_are_singletons(name):
    dtype = getattr(ut, name)
    assert repr(dtype) == f"undertow.{name}" and pickle.loads(pickle.dumps(dtype)) is dtype and copy.deepcopy(dtype) is dtype
    assert dtype.itemsize == ut.empty(1, dtype=dtype).element_size()


@pytest.mark.parametrize("name", [n for n in NAMES if "float" in n and n != "bfloat16"])
def test_finfo_matches_numpy(name):
    ours, theirs = ut.finfo(getattr(ut, name)), np.finfo(name)
    for field in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution"):
        assert getattr(ours, field) == pytest.approx(float(getattr(theirs, field)), rel=1e-3)
    assert ours.eps == float(theirs.eps) and ours.max == float(theirs.max) and ours.tiny == float(theirs.tiny)


@pytest.mark.parametrize("name", [n for n in NAMES if "int" in n])
def test_iinfo_matches_numpy(name):
    ours, theirs = ut.iinfo(getattr(ut, name)), np.iinfo(name)
    assert (ours.bits, ours.min, ours.max) == (theirs.bits, theirs.min, theirs.max)


def test_limits_of_the_wrong_kind():
    with pytest.raises(TypeError, match="requires a floating point"):
        ut.finfo(ut.int32)
    with pytest.raises(TypeError, match="requires an integer"):
        ut.iinfo(ut.float32)
    assert ut.finfo().dtype == "float32" and ut.finfo(ut.complex128) == ut.finfo(ut.float64)


def test_promotion():
    assert ut.promote_types(ut.int32, ut.float16) is ut.float16
    assert ut.result_type(ut.ones(1, dtype=ut.int32), 2.0) is ut.float32
    assert ut.result_type(ut.ones(1, dtype=ut.float16), ut.tensor(1.0, dtype=ut.float64)) is ut.float16
    assert ut.can_cast(ut.int64, ut.float32) and not ut.can_cast(ut.float32, ut.int64)


INTEGERS = NAMES[:6]
FLOATS = NAMES[6:10]


@pytest.mark.parametrize("a", INTEGERS)
@pytest.mark.parametrize("b", INTEGERS)
def test_integers_promote_as_in_numpy(a, b):
    assert str(ut.promote_types(getattr(ut, a), getattr(ut, b))) == f"undertow.{np.promote_types(a, b)}"
    assert str((ut.ones(2, dtype=getattr(ut, a)) + ut.ones(2, dtype=getattr(ut, b))).dtype) == f"undertow.{np.promote_types(a, b)}"


@pytest.mark.parametrize("a", FLOATS)
def test_floats_promote_to_the_wider_and_take_integers_as_they_are(a):
    a = getattr(ut, a)
    for name in INTEGERS:
        assert ut.promote_types(a, getattr(ut, name)) is a and ut.promote_types(getattr(ut, name), a) is a
    for b in (getattr(ut, name) for name in FLOATS):
        halves = {a, b} == {ut.float16, ut.bfloat16}
        wider = ut.float32 if halves else max(a, b, key=lambda d: d.itemsize)
        assert ut.promote_types(a, b) is wider
        assert (ut.ones(2, dtype=a) * ut.ones(2, dtype=b)).dtype is wider
    for c in (ut.complex64, ut.complex128):
        assert ut.promote_types(a, c) is (ut.complex128 if a is ut.float64 else c)


def test_sizes_are_tuples():
    s = ut.ones(2, 3).shape
    assert repr(s) == "undertow.Size([2, 3])" and s == (2, 3) and s.numel() == 6
    assert type(s[:1]) is ut.Size and type(s + (4,)) is ut.Size and pickle.loads(pickle.dumps(s)) == s
    with pytest.raises(TypeError):
        ut.Size([1.5])


def test_devices():
    d = ut.device("cpu")
    assert str(d) == "cpu" and d.type == "cpu" and d.index is None and ut.device(d) == d and ut.device("cpu:0").index == 0
    assert pickle.loads(pickle.dumps(d)) == d and ut.ones(1).device == d
    with pytest.raises(RuntimeError, match="device type at start of device string"):
        ut.device("nowhere")


def test_the_default_dtype():
    try:
        ut.set_default_dtype(ut.float64)
        assert ut.tensor(1.0).dtype is ut.float64 and ut.tensor(1j).dtype is ut.complex128 and ut.finfo().bits == 64
    finally:
        ut.set_default_dtype(ut.float32)
    with pytest.raises(TypeError):
        ut.set_default_dtype(ut.int64)


def test_a_device_takes_no_index_as_none():
    assert ut.device("cpu", None) == ut.device(type="cpu", index=None) == ut.device("cpu")
    assert (ut.device("cpu", None).index, ut.device("cpu", 0).index) == (None, 0)
    with pytest.raises(RuntimeError, match="must not be negative"):
        ut.device("cpu", -1)
    with pytest.raises(RuntimeError, match="below 128"):
        ut.device("cpu", 300)
    with pytest.raises(TypeError):
        ut.device("cpu", 1.5)
