"""Tensors of other libraries' arrays, whatever protocol they have; limits of Python's and NumPy's types."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut


class WithArray:
    def __array__(self, dtype=None, copy=None):
        return np.arange(3.0)


class WithInterface:
    def __init__(self):
        self.array = np.arange(3.0)

    @property
    def __array_interface__(self):
        return self.array.__array_interface__


class WithDlpack:
    def __init__(self):
        self.array = np.arange(3.0)

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class ReadOnly(WithDlpack):
    """As a JAX array: its memory must not be written."""

    def __init__(self):
        super().__init__()
        self.array.flags.writeable = False

    def __array__(self, dtype=None, copy=None):
        return self.array


class Table(WithArray):
    """As a DataFrame: it has a length and items, and is an array."""

    def __len__(self):
        return 2

    def __getitem__(self, name):
        raise KeyError(name)


@pytest.mark.parametrize("make", [ut.tensor, ut.as_tensor, ut.asarray])
@pytest.mark.parametrize("kind", [WithArray, WithInterface, WithDlpack, ReadOnly, Table])
def test_an_array_of_another_library_becomes_a_tensor(make, kind):
    made = make(kind())
    assert made.dtype is ut.float64 and made.tolist() == [0.0, 1.0, 2.0]
    assert make(kind(), dtype=ut.int32).tolist() == [0, 1, 2]


def test_tensor_copies_and_as_tensor_shares():
    source = WithDlpack()
    ut.as_tensor(source)[0] = 5
    assert source.array[0] == 5
    ut.tensor(source)[0] = 7
    assert source.array[0] == 5


def test_numpy_scalars_and_plain_objects_are_as_before():
    assert ut.tensor(np.float32(2)).dtype is ut.float32 and ut.as_tensor(np.int16(2)).dtype is ut.int16 and ut.asarray(np.float64(1)).dim() == 0
    with pytest.raises(RuntimeError, match="Could not infer dtype of object"):
        ut.tensor(object())


@pytest.mark.parametrize("kind, name", [(float, "float64"), (complex, "float64"), (np.float64, "float64"), (np.float16, "float16"), (np.dtype("float32"), "float32")])
def test_finfo_of_types(kind, name):
    assert ut.finfo(kind) == ut.finfo(getattr(ut, name)) and ut.finfo(kind).dtype == name


@pytest.mark.parametrize("kind, name", [(int, "int64"), (np.int8, "int8"), (np.dtype("uint8"), "uint8")])
def test_iinfo_of_types(kind, name):
    assert ut.iinfo(kind) == ut.iinfo(getattr(ut, name))


def test_limits_of_the_wrong_kind_raise():
    for make, kind in ((ut.finfo, int), (ut.finfo, np.int32), (ut.iinfo, float), (ut.iinfo, bool), (ut.finfo, "float32"), (ut.finfo, np.str_)):
        with pytest.raises(TypeError):
            make(kind)
