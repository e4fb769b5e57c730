"""python -m bench.cuda [--write] [--only TEXT] [--seconds N]: Undertow beside PyTorch on a GPU, with the limits of the machine.

Each library runs in a process of its own. A case that fails prints its error, and the others go on; a case that ends the process is skipped, and
the rest runs in a new one. `--write` saves the table as bench/CUDA.md.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from .cuda_cases import Case, all_cases
from .report import seconds, size

ROOT = Path(__file__).resolve().parent.parent
START = "case "  # a line of a worker before each case


# ---- in a worker ----


def duration(L: Any, run: Any, budget: float = 0.15) -> float:
    """The median time of one call: batches of calls, each batch followed by a wait for the device."""
    for _ in range(3):
        run()
    L.cuda.synchronize()
    begin = time.perf_counter()
    run()
    L.cuda.synchronize()
    once = max(time.perf_counter() - begin, 1e-6)
    count = max(1, min(500, int(budget / 7 / once)))
    times = []
    for _ in range(7 if once < budget else 3):
        begin = time.perf_counter()
        for _ in range(count):
            run()
        L.cuda.synchronize()
        times.append((time.perf_counter() - begin) / count)
    return statistics.median(times)


def measure(L: Any, case: Case) -> dict[str, Any]:
    run = case.make(L)
    found: dict[str, Any] = {"seconds": duration(L, run, 0.6 if case.group == "main" else 0.15) / case.per}
    if case.peak:
        L.cuda.reset_peak_memory_stats()
        run()
        L.cuda.synchronize()
        found["peak"] = L.cuda.max_memory_allocated()
    return found


def work(library: str, names: list[str]) -> None:
    L = __import__(library)
    cases = {c.name: c for c in all_cases()}
    for name in names:
        print(START + name, flush=True)
        try:
            found = measure(L, cases[name])
        except Exception as error:
            text = str(error).strip().splitlines()
            found = {"error": f"{type(error).__name__}: {text[0] if text else ''}"[:300]}
        print(json.dumps({"name": name, **found}), flush=True)
        try:
            L.cuda.empty_cache()
        except Exception:  # the context is lost: another process goes on
            os._exit(3)


# ---- the parent ----


def run_worker(library: str, names: list[str], until: float) -> dict[str, dict[str, Any]]:
    """The results by name. Restarts after a crash, and skips the case that caused it."""
    results: dict[str, dict[str, Any]] = {}
    while left := [n for n in names if n not in results]:
        remaining = until - time.monotonic()
        if remaining <= 1:
            break
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(left, file)
            file.flush()
            process = subprocess.Popen([sys.executable, "-m", "bench.cuda", "--worker", library, file.name], cwd=ROOT, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)  # fmt: skip
            timer = threading.Timer(remaining, process.kill)
            timer.start()
            begun = ""
            assert process.stdout is not None and process.stderr is not None
            errors: list[str] = []
            reader = threading.Thread(target=lambda p, lines: lines.extend(p.read().splitlines()), args=(process.stderr, errors))
            reader.start()
            for line in process.stdout:
                if line.startswith(START):
                    begun = line[len(START) :].strip()
                elif line.startswith("{"):
                    found = json.loads(line)
                    results[found.pop("name")] = found
            process.wait()
            reader.join()
            expired = not timer.is_alive()
            timer.cancel()
        if expired:
            break
        if not begun:
            return dict.fromkeys(names, {"error": f"{library} did not start: {errors[-1] if errors else ''}"})
        if begun not in results:
            results[begun] = {"error": f"the process ended with status {process.returncode}: {errors[-1][:200] if errors else ''}"}
    return results


FIRST_STEP = """
import time; begin = time.perf_counter()
import undertow as ut
from bench.cuda_models import gpt2
step = gpt2(ut, 1, 128); step(); ut.cuda.synchronize()
print(time.perf_counter() - begin)
"""


def first_steps() -> dict[str, float | str]:
    """The time to GPT-2's first step in a new process, with an empty cache of kernels and with the one that it left."""
    with tempfile.TemporaryDirectory() as folder:
        found: dict[str, float | str] = {}
        for name in ("empty", "full"):
            environment = {**os.environ, "UNDERTOW_CUDA_CACHE": folder}
            done = subprocess.run([sys.executable, "-c", FIRST_STEP], cwd=ROOT, env=environment, capture_output=True, text=True)
            found[name] = float(done.stdout) if done.returncode == 0 else (done.stderr.splitlines() or ["failed"])[-1][:200]
        return found


def text_of(found: dict[str, Any] | None) -> str:
    return "-" if found is None else seconds(found["seconds"]) if "seconds" in found else "failed"


def row_of(case: Case, ours: dict[str, Any] | None, theirs: dict[str, Any] | None) -> list[str]:
    a, b = ((x or {}).get("seconds") for x in (ours, theirs))
    ratio = f"{b / a:.2f}" if a and b else ""
    limit = f"{case.limit}: {seconds(case.bound)}" if case.bound else case.limit
    met = "" if case.target is None or not a else "met" if a <= case.target else "NOT MET"
    return [case.name, text_of(ours), text_of(theirs), ratio, limit, "" if case.target is None else f"<= {seconds(case.target)}", met]


def table(rows: list[list[str]]) -> str:
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    lines = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(r, widths)) + " |" for r in rows]
    return "\n".join([lines[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *lines[1:]])


def summary(cases: list[Case], ours: dict[str, Any], theirs: dict[str, Any], first: dict[str, float | str]) -> str:
    head = ["case", "Undertow", "PyTorch", "ratio", "limit", "target", ""]
    parts = []
    for group in ("main", "large"):
        rows = [row_of(c, ours.get(c.name), theirs.get(c.name)) for c in cases if c.group == group]
        if rows:
            parts.append(table([head, *rows]))
    peaks = [[c.name, *(size(x.get(c.name, {}).get("peak")) for x in (ours, theirs))] for c in cases if c.peak]
    if peaks:
        parts.append(table([["peak memory of a step", "Undertow", "PyTorch"], *peaks]))
    if first:
        rows = [[f"first step of GPT-2, {k} cache of kernels", seconds(v), f"<= {t} s"] for (k, v), t in zip(first.items(), (8, 1.5))]
        parts.append(table([["first step, from the start of the process", "Undertow", "target"], *rows]))
    sweep = [c for c in cases if c.group == "sweep"]
    ratios = {c.name: theirs[c.name]["seconds"] / ours[c.name]["seconds"] for c in sweep
              if "seconds" in ours.get(c.name, {}) and "seconds" in theirs.get(c.name, {})}  # fmt: skip
    if sweep:
        good = sum(r >= 1 for r in ratios.values())
        near = sum(r >= 0.95 for r in ratios.values())
        count = max(len(ratios), 1)
        parts.append(f"Sweep: {len(sweep)} cases, {len(ratios)} measured in both; not slower than PyTorch in {good} ({good / count:.0%}), "
                     f"within 5 % in {near} ({near / count:.0%}).")  # fmt: skip
        slow = sorted(ratios, key=lambda n: ratios[n])[:40]
        by_name = {c.name: c for c in sweep}
        if slow:
            rows = [row_of(by_name[n], ours[n], theirs[n])[:4] for n in slow if ratios[n] < 1]
            parts.append(table([["slowest of the sweep", "Undertow", "PyTorch", "ratio"], *rows]))
    failures = [f"- {library}: {name}: {found['error']}" for library, results in (("Undertow", ours), ("PyTorch", theirs))
                for name, found in results.items() if "error" in found]  # fmt: skip
    if failures:
        parts.append("Failures:\n" + "\n".join(failures))
    missing = [c.name for c in cases if c.name not in ours or c.name not in theirs]
    if missing:
        parts.append(f"No time was left for {len(missing)} cases.")
    return "\n\n".join(parts)


def heading() -> str:
    import undertow as ut

    lines = [f"GPU: {ut.cuda.get_device_name()}; Undertow {ut.__version__}"]
    try:
        import torch

        lines.append(f"PyTorch {torch.__version__}")
    except ImportError:
        lines.append("no PyTorch")
    return "; ".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="save the table as bench/CUDA.md")
    parser.add_argument("--only", default="", help="cases whose name contains this text")
    parser.add_argument("--group", default="", help="main, large or sweep")
    parser.add_argument("--seconds", type=float, default=600, help="time for everything")
    parser.add_argument("--worker", nargs=2, metavar=("LIBRARY", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.worker[0], json.loads(Path(options.worker[1]).read_text()))
        return 0
    cases = [c for c in all_cases() if options.only in c.name and options.group in c.group]
    begin, names = time.monotonic(), [c.name for c in cases]
    ours = run_worker("undertow", names, begin + options.seconds * 0.55)
    theirs = run_worker("torch", names, begin + options.seconds * 0.92)
    first = first_steps() if not options.only and options.group in "main" else {}
    text = f"{heading()}\n\n{summary(cases, ours, theirs, first)}\n"
    print(text)
    if options.write:
        about = "Undertow beside PyTorch on one GPU, by `python -m bench.cuda --write`. Times are medians; a ratio is PyTorch's time over ours.\n\n"
        (ROOT / "bench/CUDA.md").write_text(f"# CUDA\n\n{about}{text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
