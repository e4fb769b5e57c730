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
from contextlib import ExitStack
from functools import partial
from importlib.util import find_spec

from tools.fuzz.programs.check import check_seeds


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz.programs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--seconds", type=float, help="stop after this time instead")
    parser.add_argument("--seed", type=int, default=0, help="the first program; a finding names its own")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--differences", action="store_true", help="compare with finite differences, not with PyTorch")
    parser.add_argument("--no-strides", action="store_true", help="do not compare the strides of values")
    options = parser.parse_args()
    differences = options.differences or find_spec("torch") is None
    end = time.monotonic() + options.seconds if options.seconds else None
    step = 50
    last = sys.maxsize if end else options.seed + options.count
    chunks = (range(s, min(s + step, last)) for s in range(options.seed, last, step))
    check = partial(check_seeds, differences=differences, strides=not options.no_strides)
    done, shown = 0, Counter[tuple[str, str]]()
    with ExitStack() as stack:
        pool = stack.enter_context(multiprocessing.get_context("spawn").Pool(options.jobs)) if options.jobs > 1 else None
        for count, findings in pool.imap_unordered(check, chunks) if pool else map(check, chunks):
            done += count
            for kind, signature, description, text in findings:
                shown[kind, signature] += 1
                if shown[kind, signature] == 1:
                    print(f"--- {kind}: {description}\n{text}\n", flush=True)
            if end and time.monotonic() > end:
                break
    print(f"{done} programs, {sum(shown.values())} differences of {len(shown)} kinds")
    for (kind, signature), count in shown.most_common():
        print(f"  {count:5}  {kind}: {signature}")
    return int(bool(shown))


if __name__ == "__main__":
    sys.exit(main())
