"""python -m tools.fuzz.programs [--count N | --seconds S] [--seed N] [--jobs N]: compares random programs with PyTorch.

Without PyTorch, or with --differences, first and second derivatives are compared with finite differences. Each kind of
difference is shown once, as the shortest program that has it; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING

from tools.fuzz.programs.check import Finding, check_seeds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

STEP = 50  # programs that a process checks at a time


def ranges(first: int, count: int, end: float | None) -> Iterator[range]:
    """Ranges of seeds: `count` of them, or as many as begin before `end`."""
    last = sys.maxsize if end else first + count
    for s in range(first, last, STEP):
        if end and time.monotonic() > end:
            return
        yield range(s, min(s + STEP, last))


def results(check: Callable[[range], tuple[int, list[Finding]]], seeds: Iterator[range], jobs: int) -> Iterator[tuple[int, list[Finding]]]:
    """Checks ranges in other processes. Each gets the next range when it has finished one, so that nothing waits at the end.

    If a process dies (PyTorch crashes in some programs), the ranges that were being checked are named, and others take their place.
    With no processes, everything runs in this one.
    """
    if not jobs:
        yield from map(check, seeds)
        return
    left = True
    while left:
        running: dict[Future[tuple[int, list[Finding]]], range] = {}
        try:
            with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
                while True:
                    running |= {pool.submit(check, r): r for r in islice(seeds, jobs - len(running))}
                    if not running:
                        left = False
                        break
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        found = future.result()
                        del running[future]
                        yield found
        except BrokenProcessPool:
            print(f"a process died while seeds {', '.join(f'{r.start} to {r.stop - 1}' for r in running.values())} were checked", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz.programs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--seconds", type=float, help="stop after this time instead")
    parser.add_argument("--seed", type=int, default=0, help="the first program; a finding names its own")
    parser.add_argument("--jobs", type=int, default=1, help="processes; 0 runs programs in this one, for a debugger")
    parser.add_argument("--differences", action="store_true", help="compare with finite differences, not with PyTorch")
    parser.add_argument("--no-strides", action="store_true", help="do not compare the strides of values")
    options = parser.parse_args()
    differences = options.differences or find_spec("torch") is None
    end = time.monotonic() + options.seconds if options.seconds else None
    check = partial(check_seeds, differences=differences, strides=not options.no_strides)
    done, shown = 0, Counter[tuple[str, str]]()
    for count, findings in results(check, ranges(options.seed, options.count, end), options.jobs):
        done += count
        for kind, signature, description, text in findings:
            shown[kind, signature] += 1
            if shown[kind, signature] == 1:
                print(f"--- {kind}: {description}\n{text}\n", flush=True)
    print(f"{done} programs, {sum(shown.values())} differences of {len(shown)} kinds")
    for (kind, signature), count in shown.most_common():
        print(f"  {count:5}  {kind}: {signature}")
    return int(bool(shown))


if __name__ == "__main__":
    sys.exit(main())
