"""Storages as Python objects: one object for each storage, with attributes, weak references and subclasses."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import undertow as ut


def test_asking_twice_returns_the_same_object():
    x = ut.ones(3)
    storage = x.untyped_storage()
    assert storage is x.untyped_storage() and storage is x[1:].untyped_storage() and storage is not x.clone().untyped_storage()


def test_a_storage_has_attributes_while_it_is_held():
    x = ut.ones(3)
    storage = x.untyped_storage()
    storage.note = "kept"
    assert x.view(-1).untyped_storage().note == "kept"
    del storage
    assert not hasattr(x.untyped_storage(), "note")


def test_a_weak_reference_ends_with_the_object():
    storage = ut.UntypedStorage(4)
    ended = []
    reference = weakref.ref(storage, ended.append)
    assert reference() is storage
    del storage
    assert reference() is None and ended == [reference]


def test_a_callback_of_a_weak_reference_may_ask_for_the_storage():
    x = ut.ones(2)
    found = []
    reference = weakref.ref(x.untyped_storage(), lambda _: found.append(x.untyped_storage().nbytes()))
    assert reference() is None and found == [8]


def test_a_cycle_through_an_attribute_is_collected():
    storage = ut.UntypedStorage(4)
    storage.itself = storage
    reference = weakref.ref(storage)
    del storage
    gc.collect()
    assert reference() is None


def test_a_subclass_is_a_storage():
    class Named(ut.UntypedStorage):
        name = "mine"

    storage = Named(8)
    assert isinstance(storage, ut.UntypedStorage) and storage.nbytes() == 8 and storage.name == "mine"
    x = ut.empty(0).set_(storage, 0, (2,), (1,))
    assert x.untyped_storage() is storage and type(x.untyped_storage()) is Named


def test_a_storage_is_made_from_numbers_of_numpy_and_from_another_storage():
    assert ut.UntypedStorage(np.int16(3)).nbytes() == 3
    whole = ut.UntypedStorage([1, 2, 3])
    copy = ut.UntypedStorage(whole)
    whole[0] = 9
    assert copy.tolist() == list(copy) == [1, 2, 3] and type(whole.new()) is ut.UntypedStorage and whole.new().nbytes() == 0
    assert whole.get_device() == -1 and ut.ones(2).storage().get_device() == -1


def test_a_storage_is_made_from_the_bytes_of_a_buffer():
    assert ut.UntypedStorage.from_buffer(b"abc").tolist() == [97, 98, 99]
    assert ut.UntypedStorage.from_buffer(b"abcd", dtype=ut.int16, byte_order="big", offset=2).tolist() == [100, 99]
    with pytest.raises(RuntimeError, match="byte_order"):
        ut.UntypedStorage.from_buffer(b"abcd", dtype=ut.int16)


def test_filling_the_storage_of_a_meta_tensor_does_nothing():
    storage = ut.ones(2, device="meta").untyped_storage()
    assert storage.fill_(3) is storage and storage.nbytes() == 8


def test_the_oldest_constructors_share_the_memory_of_a_storage():
    x = ut.arange(6.0)
    for tensor in (ut.Tensor(x.storage()), ut.Tensor(x.untyped_storage()), x.new(x.storage()), x.new(storage=x.untyped_storage())):
        assert tensor.data_ptr() == x.data_ptr() and tensor.shape == (6,)
    with pytest.raises(RuntimeError, match="Expected a Storage of type Float or an UntypedStorage, but got type Int"):
        x.new(ut.ones(2, dtype=ut.int32).storage())
