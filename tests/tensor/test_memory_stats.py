"""The public figures of the CPU's allocator, and the return of cached memory to the system."""

from __future__ import annotations

import gc
import subprocess
import sys

import undertow as ut

MB = 1_000_000


def test_the_bytes_of_a_tensor_are_counted_while_it_lives():
    gc.collect()
    before = ut.cpu.memory_allocated()
    x = ut.zeros(1_000_000)
    assert 4 * MB <= ut.cpu.memory_allocated() - before <= 4.6 * MB
    del x
    assert ut.cpu.memory_allocated() == before


def test_the_peak_stays_until_it_is_reset():
    ut.cpu.reset_peak_memory_stats()
    before = ut.cpu.max_memory_allocated()
    assert before == ut.cpu.memory_allocated()
    x = ut.zeros(1_000_000)
    del x
    assert ut.cpu.max_memory_allocated() - before >= 4 * MB
    ut.cpu.reset_peak_memory_stats()
    assert ut.cpu.max_memory_allocated() == ut.cpu.memory_allocated()


def test_freed_memory_is_reserved_until_the_cache_is_emptied():
    ut.empty_cache()
    before = ut.cpu.memory_reserved()
    x = ut.zeros(1_000_000)
    del x
    assert ut.cpu.memory_reserved() - before >= 4 * MB
    ut.empty_cache()
    assert ut.cpu.memory_reserved() <= before
    assert ut.cpu.memory_reserved() >= ut.cpu.memory_allocated()


def test_memory_stats_has_the_names_of_cuda():
    stats = ut.cpu.memory_stats()
    assert stats["allocated_bytes.all.current"] == ut.cpu.memory_allocated()
    assert stats["allocated_bytes.all.peak"] == ut.cpu.max_memory_allocated()
    assert stats["reserved_bytes.all.current"] == ut.cpu.memory_reserved()


EMPTIED = """
import os
import undertow as ut
def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
ut.ones(10)
before = resident()
many = [ut.ones(20_000) for _ in range(1000)] + [ut.ones(5_000_000)]
held = resident() - before
del many
kept = resident() - before
ut.empty_cache()
print(held, kept, resident() - before)
"""


def test_an_emptied_cache_is_returned_to_the_system():
    done = subprocess.run([sys.executable, "-c", EMPTIED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    held, kept, left = map(int, done.stdout.split())
    assert held >= 100 * MB and kept >= 90 * MB  # 80 MB of blocks of 80 kB, which malloc keeps in its heap, and one block of 20 MB
    assert left <= 10 * MB
