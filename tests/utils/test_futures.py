"""`futures`: values that are set later. The tests also run with torch, where it is installed."""

from __future__ import annotations

import logging
import pickle

import pytest

from tests.library.both_libraries import both

pytestmark = both


def _failing(future):
    raise ValueError("no value here")


def test_an_error_of_a_done_callback_does_not_reach_the_setter(lib, caplog):
    future, seen = lib.futures.Future(), []
    future.add_done_callback(_failing)
    future.add_done_callback(lambda f: seen.append(f.wait()))
    with caplog.at_level(logging.CRITICAL, "undertow.futures"):
        future.set_result(1)
        future.add_done_callback(_failing)
    assert future.wait() == 1 and seen == [1]


def test_an_error_of_a_then_callback_is_a_runtime_error_of_the_later_future(lib):
    future = lib.futures.Future()
    later = future.then(_failing)
    latest = later.then(lambda f: f.wait())
    future.set_result(1)
    for each in (later, latest):
        with pytest.raises(RuntimeError, match="Got the following error when running the callback: .*ValueError: no value here"):
            each.wait()


def test_an_error_that_is_set_keeps_its_class(lib):
    future = lib.futures.Future()
    future.set_exception(ValueError("set"))
    for read in (future.wait, future.value, lambda: lib.futures.wait_all([future])):
        with pytest.raises(ValueError, match="set"):
            read()


def test_a_collection_has_the_error_of_its_futures_after_all_are_done(lib):
    first, second = lib.futures.Future(), lib.futures.Future()
    both_done = lib.futures.collect_all([first, second])
    second.set_exception(ValueError("set"))
    assert not both_done.done()
    first.set_result(1)
    with pytest.raises(ValueError, match="set"):
        both_done.wait()


def test_a_future_is_set_once_and_is_not_pickled(lib):
    future = lib.futures.Future()
    future.set_result(None)
    assert lib.futures.wait_all([future]) == [None]
    with pytest.raises(RuntimeError, match="can only be marked completed once"):
        future.set_result(1)
    with pytest.raises(RuntimeError, match="Can not pickle torch.futures.Future"):
        pickle.dumps(future)
    with pytest.raises(RuntimeError, match="Future can't be None"):
        lib.futures.wait_all([future, None])
