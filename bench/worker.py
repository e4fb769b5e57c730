"""One library in one process: reads requests (JSON lines), times statements with timeit, answers seconds.

Statements are text, so timeit runs them inside its own loop; nothing is subtracted, so the loop and the lookup of
names are part of every figure, for every library. timeit switches the garbage collector off while it measures.
"""

from __future__ import annotations

import json
import runpy
import sys
import time
import timeit
import types
from pathlib import Path

SPENT = 0.03  # target seconds of one measurement
SHORT = 0.004  # the same for `sparing` cases


def namespace(library: str) -> dict:
    if library == "numpy":
        import numpy as np

        return {"np": np}
    if library == "torch":
        import torch as module
    else:
        import undertow as module
    return {"L": module, "models": types.SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("models.py"))))}


def measure(request: dict, library: str, names: dict) -> float:
    """The minimum seconds of one execution, over `repeats` measurements."""
    if library != "numpy":
        names["L"].set_num_threads(request["threads"])
        if library == "torch":
            names["L"].manual_seed(0)
    if request["sparing"]:
        return short_measurement(request, dict(names))
    timer = timeit.Timer(request["stmt"], request["setup"] or "pass", globals=dict(names))
    if request["fresh"]:
        return min(timer.repeat(repeat=request["repeats"], number=1))
    once = min(timer.repeat(repeat=3, number=1))
    number = max(1, int(SPENT / max(once, 1e-8)))
    if number > 1000:
        once = timer.timeit(number=number // 20) / (number // 20)
        number = max(1, int(SPENT / once))
    return min(timer.repeat(repeat=request["repeats"], number=number)) / number


def short_measurement(request: dict, names: dict) -> float:
    """For thousands of cases: the setup runs once, and a statement that takes long is executed twice at most."""
    exec(request["setup"], names)
    timer = timeit.Timer(request["stmt"], timer=time.process_time if request["threads"] == 1 else time.perf_counter, globals=names)
    once = min(timer.repeat(repeat=2, number=1))
    if once > SHORT:
        return once
    number = max(1, int(SHORT / max(once, 1e-7)))
    return min(once, min(timer.repeat(repeat=request["repeats"], number=number)) / number)


def main() -> None:
    library = sys.argv[1]
    names = namespace(library)
    print(json.dumps({"ready": library}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"seconds": measure(request, library, names)}
        except Exception as e:  # a missing operator is reported, and the run continues
            answer = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
