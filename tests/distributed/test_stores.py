"""Stores: torch's methods, the same for every kind; who may connect to a TCPStore, and where it listens."""

from __future__ import annotations

import os
import socket
import threading
from datetime import timedelta

import pytest

import undertow.distributed as dist


@pytest.fixture(params=["hash", "file", "tcp", "prefix"])
def store(request, tmp_path, monkeypatch):
    monkeypatch.setenv("UNDERTOW_STORE_TOKEN", "a secret of this test")
    made = {
        "hash": dist.HashStore,
        "file": lambda: dist.FileStore(str(tmp_path / "store"), 2),
        "tcp": lambda: dist.TCPStore("localhost", 0, is_master=True),
        "prefix": lambda: dist.PrefixStore("part", dist.HashStore()),
    }[request.param]()
    made.set_timeout(timedelta(seconds=20))
    return made


def test_values_are_bytes_and_numbers_are_added(store):
    store.set("color", "blue")
    store.set("raw", b"\x00\xff")
    assert store.get("color") == b"blue" and store.get("raw") == b"\x00\xff"
    assert [store.add("count", 2), store.add("count", -5)] == [2, -3]
    assert store.check(["color", "count"]) and not store.check(["color", "shape"])
    store.append("color", "ish")
    assert store.get("color") == b"blueish" and store.num_keys() == 3 and sorted(store.list_keys()) == ["color", "count", "raw"]
    assert store.delete_key("raw") is True and store.delete_key("raw") is False and store.num_keys() == 2
    store.multi_set(["a", "b"], ["1", "2"])
    assert store.multi_get(["b", "a"]) == [b"2", b"1"]


def test_a_value_is_replaced_only_if_it_is_the_expected_one(store):
    assert store.compare_set("key", "old", "new") == b"old" and not store.check(["key"])
    assert store.compare_set("key", "", "first") == b"first"
    assert store.compare_set("key", "other", "second") == b"first"
    assert store.compare_set("key", "first", "second") == b"second" and store.get("key") == b"second"


def test_a_missing_key_raises_after_the_timeout(store):
    store.set_timeout(timedelta(milliseconds=20))
    assert store.timeout == timedelta(milliseconds=20)
    with pytest.raises(dist.DistStoreError, match=r"wait timeout after 20ms, keys: /(part/)?absent"):
        store.get("absent")
    with pytest.raises(dist.DistStoreError, match="wait timeout after 30ms"):
        store.wait(["absent"], timedelta(milliseconds=30))


def test_get_waits_for_another_thread(store):
    other = store.clone()
    thread = threading.Timer(0.05, lambda: other.set("late", "value"))
    thread.start()
    assert store.get("late") == b"value"
    thread.join()


def test_queues_give_the_first_value_first(store):
    store.queue_push("jobs", "one")
    store.queue_push("jobs", b"two")
    assert store.queue_len("jobs") == 2 and store.queue_pop("jobs") == b"one" and store.queue_pop("jobs") == b"two"
    with pytest.raises(dist.QueueEmptyError, match="the queue jobs is empty"):
        store.queue_pop("jobs", block=False)
    assert store.num_keys() == 0


def test_a_prefix_separates_the_keys_of_one_store():
    whole = dist.HashStore()
    left, right = dist.PrefixStore("left", whole), dist.PrefixStore("right", whole)
    left.set("key", "1")
    right.set("key", "2")
    assert (left.get("key"), right.get("key")) == (b"1", b"2") and sorted(whole.list_keys()) == ["left/key", "right/key"]
    assert left.underlying_store is whole


def test_a_tcp_store_listens_on_the_given_address_only(monkeypatch):
    monkeypatch.setenv("UNDERTOW_STORE_TOKEN", "a secret of this test")
    store = dist.TCPStore("localhost", 0, is_master=True)
    with open("/proc/net/tcp") as table:
        listening = [line.split()[1] for line in table if line.split()[3] == "0A"]
    assert [address for address in listening if int(address.split(":")[1], 16) == store.port] == [f"0100007F:{store.port:04X}"]


def test_a_client_without_the_token_is_not_served(monkeypatch):
    monkeypatch.setenv("UNDERTOW_STORE_TOKEN", "a secret of this test")
    store = dist.TCPStore("localhost", 0, is_master=True)
    store.set("key", "value")
    monkeypatch.setenv("UNDERTOW_STORE_TOKEN", "another secret")
    with pytest.raises(dist.DistNetworkError, match="does not know the token|closed"):
        dist.TCPStore("localhost", store.port)
    with socket.create_connection(("127.0.0.1", store.port)) as stranger:
        stranger.settimeout(20)
        stranger.sendall(bytes(32) + bytes(32))
        heard = b""
        while part := stranger.recv(1000):
            heard += part
        assert len(heard) == 64  # the server's nonce and its proof, then the end
    assert store.get("key") == b"value"


def test_the_token_of_a_user_is_a_file_that_only_the_user_can_read(monkeypatch, tmp_path):
    from undertow.distributed._stores.tcp_store import token

    monkeypatch.delenv("UNDERTOW_STORE_TOKEN", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = token()
    assert len(first) == 64 and token() == first and os.listdir(tmp_path / "undertow") == ["store_token"]
    os.chmod(tmp_path / "undertow/store_token", 0o644)
    with pytest.raises(dist.DistStoreError, match="can be read by others"):
        token()


def test_a_server_that_cannot_listen_or_be_reached_raises(monkeypatch):
    monkeypatch.setenv("UNDERTOW_STORE_TOKEN", "a secret of this test")
    store = dist.TCPStore("localhost", 0, is_master=True)
    with pytest.raises(dist.DistNetworkError, match="failed to listen on 127.0.0.1"):
        dist.TCPStore("localhost", store.port, is_master=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(dist.DistNetworkError, match="timed out after 10ms while trying to connect"):
            dist.TCPStore("localhost", free.getsockname()[1], timeout=timedelta(milliseconds=10))


def test_rendezvous_finds_the_store_by_its_address(tmp_path):
    store, rank, size = next(iter(dist.rendezvous(f"file://{tmp_path}/meet?rank=1&world_size=3")))
    assert isinstance(store, dist.FileStore) and (rank, size) == (1, 3)
    with pytest.raises(RuntimeError, match="No rendezvous handler for nope://"):
        next(iter(dist.rendezvous("nope://here")))
    with pytest.raises(ValueError, match="needs a path, a rank and a world size"):
        next(iter(dist.rendezvous(f"file://{tmp_path}/meet")))
