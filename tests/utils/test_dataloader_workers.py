"""Worker processes of a DataLoader: order, errors, death, shutdown; after backward passes too."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import undertow as ut

sys.path.insert(0, str(Path(__file__).parent))
import worker_datasets as w

from undertow.utils.data import DataLoader, IterableDataset, TensorDataset

MORE_WORKERS_THAN_PROCESSORS = "ignore:This DataLoader will create"
pytestmark = pytest.mark.filterwarnings(MORE_WORKERS_THAN_PROCESSORS)
every_start = pytest.mark.parametrize("start", ["fork", "spawn"])


def values(loader):
    return [b.tolist() for b in loader]


def children():
    return {p.pid for p in multiprocessing.active_children()}


@pytest.fixture(autouse=True)
def no_process_is_left():
    before = children()
    yield
    gc.collect()
    deadline = time.monotonic() + 10
    while children() - before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not children() - before


@every_start
def test_batches_arrive_in_order_and_complete(start):
    loader = DataLoader(w.Numbers(7), batch_size=2, num_workers=2, multiprocessing_context=start)
    for _ in range(2):
        assert values(loader) == [[0, 1], [2, 3], [4, 5], [6]]


def test_a_slow_batch_delays_the_following_ones(tmp_path):
    data = w.Waiting(6, tmp_path / "made", until_the_next_is_made=True)
    assert values(DataLoader(data, num_workers=2)) == [[i] for i in range(6)]


def test_a_slow_batch_does_not_delay_others_without_in_order(tmp_path):
    received = tmp_path / "received"
    seen = []
    for batch in DataLoader(w.Waiting(6, received), num_workers=2, in_order=False):
        seen.append(batch.item())
        received.touch()  # only now can the first sample be made
    assert seen[0] == 1
    assert sorted(seen) == list(range(6))


def test_workers_are_other_processes_with_worker_info():
    loader = DataLoader(w.Where(6), batch_size=None, num_workers=2)
    samples = list(loader)
    assert [s["id"] for s in samples] == [0, 1, 0, 1, 0, 1]
    assert len({s["pid"] for s in samples} | {os.getpid()}) == 3
    assert all(s["count"] == 2 and s["same"] and s["threads"] == 1 for s in samples)
    assert samples[1]["seed"] == samples[0]["seed"] + 1


@every_start
def test_seeds_make_workers_reproducible_and_different(start):
    def drawn():
        ut.manual_seed(3)
        return [[v.item() for v in batch] for batch in DataLoader(w.Random(4), num_workers=2, multiprocessing_context=start)]

    first = drawn()
    assert first == drawn()
    columns = list(zip(*first))
    assert all(len(set(column)) == 4 for column in columns)


@every_start
def test_large_tensors_cross(start):
    batches = list(DataLoader(w.Big(4), batch_size=1, num_workers=1, multiprocessing_context=start))
    assert len(batches) == 4
    for i, batch in enumerate(batches):
        assert batch.shape == (1, 512, 512)
        assert batch.min().item() == batch.max().item() == i
        batch.fill_(7)  # it is the parent's own


def test_a_row_is_sent_without_its_whole_tensor():
    rows = list(DataLoader(w.Rows(3), batch_size=None, num_workers=1))
    assert len(rows) == 3
    for i, row in enumerate(rows):
        assert row.tolist() == [i * 100_000.0 + k for k in range(3)]
        assert row.untyped_storage().nbytes() == 12


@every_start
@pytest.mark.parametrize(
    "name, cls, message",
    [
        ("key", KeyError, "Caught KeyError in DataLoader worker process 1"),
        ("value", ValueError, "bad value"),
        ("stubborn", RuntimeError, "Caught Stubborn"),
    ],
)
def test_an_exception_is_raised_here_with_its_traceback(name, cls, message, start):
    loader = DataLoader(w.Failing(name), num_workers=2, multiprocessing_context=start)
    seen = []
    with pytest.raises(cls, match=message) as caught:
        for batch in loader:
            seen.append(batch.item())
    assert seen == [0, 1, 2]
    assert "worker_datasets.py" in str(caught.value)
    assert "__getitem__" in str(caught.value)


def test_samples_that_cannot_leave_their_process_raise():
    with pytest.raises((AttributeError, RuntimeError, pickle.PicklingError), match="(?i)pickle"):
        list(DataLoader(w.Unpicklable(), batch_size=None, num_workers=1))
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        list(DataLoader(w.WithHistory(), batch_size=None, num_workers=1))


@every_start
@pytest.mark.parametrize("way, reason", [("exit", "exit code 7"), ("kill", r"killed by signal 9 \(SIGKILL\)"), ("sys.exit", "exit code 5")])
def test_a_worker_that_dies_raises_in_the_parent(way, reason, start):
    loader = DataLoader(w.Dying(way), num_workers=2, multiprocessing_context=start)
    with pytest.raises(RuntimeError, match=rf"^DataLoader worker \(pid\(s\) \d+\) exited unexpectedly: {reason}"):
        list(loader)


def test_a_worker_killed_from_outside_raises():
    loader = DataLoader(w.Hanging(), num_workers=1)
    it = iter(loader)
    (pid,) = it._pool.pids
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match=rf"\(pid\(s\) {pid}\) exited unexpectedly"):
        next(it)


def test_a_batch_that_times_out_raises_and_its_worker_is_terminated():
    with pytest.raises(RuntimeError, match="^DataLoader timed out after 0.2 seconds"):
        next(iter(DataLoader(w.Hanging(), num_workers=1, timeout=0.2)))


def test_an_iterator_left_halfway_ends_its_workers():
    it = iter(DataLoader(w.Big(100), num_workers=2))
    next(it)
    pids = it._pool.pids
    assert set(pids) <= children()
    del it
    gc.collect()
    assert not set(pids) & children()


@every_start
def test_persistent_workers_stay_for_the_next_epoch(start):
    loader = DataLoader(w.Where(4), batch_size=None, num_workers=2, persistent_workers=True, multiprocessing_context=start)
    first = [s["pid"] for s in loader]
    it = iter(loader)
    next(it)  # an epoch that is not finished
    second = [s["pid"] for s in loader]
    assert first == second
    assert len(set(first)) == 2


def test_persistent_workers_continue_after_an_exception():
    loader = DataLoader(w.Failing("value"), num_workers=2, persistent_workers=True)
    for _ in range(2):
        seen = []
        with pytest.raises(ValueError, match="bad value"):
            for batch in loader:
                seen.append(batch.item())
        assert seen == [0, 1, 2]


def test_persistent_workers_are_restarted_after_one_has_died():
    loader = DataLoader(w.Dying("kill"), num_workers=2, persistent_workers=True)
    for _ in range(2):
        it = iter(loader)
        with pytest.raises(RuntimeError, match="exited unexpectedly"):
            list(it)
        assert list(it) == []


def test_a_sample_cannot_end_the_loop_by_itself():
    with pytest.raises(RuntimeError, match="Caught StopIteration in DataLoader worker process 0"):
        list(DataLoader(w.Stops(), num_workers=1))


def test_iterable_datasets_are_read_in_turns_until_all_have_ended():
    assert values(DataLoader(w.Stream(7), num_workers=2)) == [[i] for i in range(7)]
    assert values(DataLoader(w.Stream(7), batch_size=2, num_workers=2)) == [[0, 2], [1, 3], [4, 6], [5]]
    assert values(DataLoader(w.Stream(7), batch_size=2, num_workers=2, drop_last=True)) == [[0, 2], [1, 3], [4, 6]]
    assert values(DataLoader(w.Stream(3, split=False), num_workers=2)) == [[0], [0], [1], [1], [2], [2]]
    persistent = DataLoader(w.Stream(5), num_workers=2, persistent_workers=True)
    assert values(persistent) == values(persistent) == [[i] for i in range(5)]


def test_a_wrong_length_warns():
    loader = DataLoader(w.Stream(3, split=False, length=3), num_workers=2)
    assert len(loader) == 3
    with pytest.warns(UserWarning, match="was reported to be 3 .* but 4 samples have been fetched"):
        list(loader)


@every_start
def test_init_functions_and_collate_functions_run_in_the_worker(start):
    loader = DataLoader(w.Counted(4), batch_size=None, num_workers=2, worker_init_fn=w.note_init, multiprocessing_context=start)
    assert list(loader) == [100, 101, 100, 101]
    assert list(DataLoader(w.Numbers(4), 2, num_workers=1, collate_fn=w.join, multiprocessing_context=start)) == ["0+1", "2+3"]
    with pytest.raises(ValueError, match="no start"):
        list(DataLoader(w.Numbers(4), num_workers=1, worker_init_fn=w.bad_init, multiprocessing_context=start))


def test_huge_batches_of_indices_do_not_block():
    loader = DataLoader(TensorDataset(ut.arange(200_000)), batch_size=50_000, num_workers=1, prefetch_factor=4)
    assert sum(b[0].sum().item() for b in loader) == 200_000 * 199_999 // 2


def test_shuffling_happens_in_the_parent():
    ut.manual_seed(5)
    alone = values(DataLoader(w.Numbers(20), 3, shuffle=True))
    ut.manual_seed(5)
    assert values(DataLoader(w.Numbers(20), 3, shuffle=True, num_workers=2)) == alone


def run(body: str) -> None:
    folder = str(Path(__file__).parent)
    code = f"import sys; sys.path.insert(0, {folder!r})\nimport undertow as ut\nimport worker_datasets as w\nfrom undertow.utils.data import DataLoader\n" + textwrap.dedent(body)
    command = [sys.executable, "-W", MORE_WORKERS_THAN_PROCESSORS, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr


AFTER_BACKWARD = """
if __name__ == "__main__":
    ut.set_num_threads(2)
    ut.autograd.set_num_workers({workers})
    x = ut.ones(200_000, requires_grad=True)
    y = x * 2 + (x * 3).exp()
    y.sum().backward()
    for epoch in range(2):
        assert [b.item() for b in DataLoader(w.Learns(4), num_workers=2)] == [0.0, 2.0, 4.0, 6.0]
        x.grad = None
        (x * 2).sum().backward()
        assert x.grad.sum().item() == 400_000
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_run_backward_passes_after_the_parent_has(workers):
    run(AFTER_BACKWARD.format(workers=workers))


def test_a_program_that_ends_with_workers_running_ends():
    run("""
    it = iter(DataLoader(w.Hanging(), num_workers=2))
    """)


def test_workers_end_when_their_parent_is_killed(tmp_path):
    folder = str(Path(__file__).parent)
    code = f"""
import sys, os, signal; sys.path.insert(0, {folder!r})
import worker_datasets as w
from undertow.utils.data import DataLoader
it = iter(DataLoader(w.Numbers(1000), num_workers=2))
next(it)
print(*it._pool.pids, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    pids = [int(p) for p in done.stdout.split()]
    assert len(pids) == 2
    deadline = time.monotonic() + 20
    while any(_runs(p) for p in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_runs(p) for p in pids)


def _runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_fork_of_the_parent_leaves_the_workers_alone():
    it = iter(DataLoader(w.Numbers(6), num_workers=1))
    next(it)
    child = os.fork()
    if child == 0:
        del it
        gc.collect()
        os._exit(0)
    os.waitpid(child, 0)
    assert [b.item() for b in it] == [1, 2, 3, 4, 5]


def test_nothing_is_left_in_shared_memory_or_descriptors():
    descriptors = lambda: len(os.listdir("/proc/self/fd"))
    list(DataLoader(w.Big(2), num_workers=2))  # files that stay open after their first use
    before, shared = descriptors(), set(os.listdir("/dev/shm"))
    for _ in range(3):
        list(DataLoader(w.Big(2), num_workers=2))
    gc.collect()
    assert descriptors() <= before
    assert not [name for name in set(os.listdir("/dev/shm")) - shared if "undertow" in name]


def test_datasets_of_iterables_need_an_iter():
    with pytest.raises(NotImplementedError, match="should implement __iter__"):
        list(DataLoader(IterableDataset(), num_workers=1))
