"""A rank that raises, dies, exits or hangs ends the job with a message that names it; mismatched calls are shown with both sides."""

from __future__ import annotations

import pytest
from ranks import PROGRAMS, needs_mpi, run

pytestmark = [pytest.mark.mpi, needs_mpi]
FAILS = str(PROGRAMS / "fails.py")
LINES = (PROGRAMS / "fails.py").read_text().splitlines()
FIRST = f"at fails.py:{LINES.index('dist.all_reduce(ut.ones(3))') + 1}"
LAST = f"at fails.py:{len(LINES)}"


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("raises", ["ValueError: a bad sample", "[rank 1] raised ValueError; its last collective: all_reduce(float32[3], SUM)", FIRST]),
        ("exits", ["rank 1 has ended; last collective: all_reduce(float32[3], SUM)", "is in all_reduce(float32[5], SUM)", LAST]),
        ("hangs", ["Timed out waiting 4000ms", "rank 1 (process", "runs; last collective: all_reduce(float32[3], SUM)", FIRST]),
        ("monitored", ["Ranks 1 failed to pass monitoredBarrier in 2000 ms", "last collective: all_reduce(float32[3], SUM)"]),
    ],
)
def test_a_job_ends_with_the_rank_its_last_collective_and_its_line(how, words):
    done = run(3, FAILS, how)
    assert done.returncode != 0
    for word in words:
        assert word in done.stderr


def test_a_rank_that_is_killed_ends_the_job():
    assert run(2, FAILS, "killed").returncode != 0


@pytest.mark.parametrize(
    ("how", "sides"),
    [
        ("shapes", ["all_reduce(float32[3], SUM)", "all_reduce(float32[4], SUM)"]),
        ("order", ["all_reduce(float32[2], SUM)", "broadcast(float32[2], from rank 0)"]),
    ],
)
def test_different_collectives_are_shown_with_both_sides(how, sides):
    done = run(2, FAILS, how, UNDERTOW_DISTRIBUTED_DEBUG="1")
    assert done.returncode != 0 and "Detected mismatch between collectives on ranks" in done.stderr
    for side in sides:
        assert f"is running collective: {side}" in done.stderr
