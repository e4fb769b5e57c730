"""Storages as Python objects: one object for each storage, with attributes, weak references and subclasses."""

from __future__ import annotations

import gc
import weakref

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
