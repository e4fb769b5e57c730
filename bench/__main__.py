"""python -m bench: runs Undertow, PyTorch and NumPy in turn, and prints the table with ratios and targets.

--quick takes fewer repeats; --only TEXT runs the cases whose name contains it; --write updates bench/RESULTS.md.
"""

from __future__ import annotations

import argparse
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from . import cases, once, training
from .processes import Worker, available
from .report import Report, Row, describe_machine, seconds, size

LIBRARIES = [cases.OURS, cases.TORCH, cases.NUMPY]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def least(a: float | str | None, b: float | str | None) -> float | str | None:
    if isinstance(a, float) and isinstance(b, float):
        return min(a, b)
    return b if a is None else a


def timed(
    wanted: list[cases.Case], libraries: list[str], rounds: int, repeats: int, threads: int | None = None
) -> dict[str, dict[str, float | str | None]]:
    """The minimum time of every case in every library; within a case the libraries take turns. `threads`: OMP_NUM_THREADS."""
    workers = [Worker(lib, threads) for lib in libraries]
    best: dict[str, dict[str, float | str | None]] = {}
    try:
        for case in wanted:
            say(f"  {case.name}")
            row: dict[str, float | str | None] = dict.fromkeys(LIBRARIES)
            for _ in range(rounds):
                for w in workers:
                    row[w.library] = least(row[w.library], w.time(case, repeats))
            best[case.name] = row
    finally:
        for w in workers:
            w.close()
    return best


def add_timed(report: Report, libraries: list[str], only: str, rounds: int, repeats: int) -> None:
    wanted = [c for c in cases.all_cases() + training.cases() if only in c.name]
    best = timed(wanted, libraries, rounds, repeats)
    for c in wanted:
        row = best[c.name]
        report.rows.append(Row(c.name, row[cases.OURS], row[cases.TORCH], row[cases.NUMPY], c.target))
        if "backward per node" in c.name and isinstance(row[cases.OURS], float):
            other = f"; torch {1 / row[cases.TORCH]:,.0f}" if isinstance(row[cases.TORCH], float) else ""
            report.remarks.append(f"Backward nodes per second, {c.name.split(':')[0]}: {1 / row[cases.OURS]:,.0f}{other}.")


def add_memory(report: Report, libraries: list[str], repeats: int) -> None:
    say("  bytes, imports, sizes")

    def figures(measure, key: str, have: list[str]) -> list[float | str | None]:
        out: list[float | str | None] = []
        for lib in LIBRARIES:
            answer = measure(lib) if lib in have else {}
            out.append(answer.get(key, answer.get("error")))
        return [float(v) if isinstance(v, (int, float)) else v for v in out]

    graph_libraries = [lib for lib in libraries if lib != cases.NUMPY]
    report.rows.append(Row("bytes per tensor of 8 floats", *figures(once.bytes_per_tensor, "bytes", libraries), target=1.5, show=size))
    report.rows.append(Row("bytes per recorded node", *figures(once.bytes_per_node, "bytes", graph_libraries), target=4, show=size))
    imports = figures(lambda lib: once.import_seconds(lib, repeats), "seconds", libraries)
    report.rows.append(Row("import", *imports, target=0.05, at_most=True, show=seconds))
    report.rows.append(Row("installed size", *figures(once.installed_bytes, "bytes", libraries), target=15e6, at_most=True, show=size))


def add_peaks(report: Report, libraries: list[str], only: str, repeats: int) -> None:
    """The minimum of a few fresh processes, and a check that both libraries computed the same."""
    rows = [(f, f"peak: {name}", "VmHWM", 3) for f, name, _ in training.STEPS]
    rows += [(f, f"resident after 1,000 steps: {name}", "VmRSS", 1000) for f, name, _ in training.STEPS if f in training.LONG_RUNS]
    for f, name, field, steps in rows:
        if only not in name:
            continue
        say(f"  {name}")
        have = [lib for lib in (cases.OURS, cases.TORCH) if lib in libraries]
        found = {lib: [training.growth(lib, f.__name__, field, steps) for _ in range(repeats)] for lib in have}
        # Counted in pages: what fits into pages that a library already held counts as one.
        figures = {lib: min((max(float(a["bytes"]), 4096.0) for a in answers if "bytes" in a), default=answers[0].get("error"))
                   for lib, answers in found.items()}
        report.rows.append(Row(name, figures.get(cases.OURS), figures.get(cases.TORCH), None, 1.0, show=size))
        if cases.TORCH in found:
            off = training.relative_difference(found[cases.OURS][0], found[cases.TORCH][0])
            if off is not None and off > 1e-4:
                report.remarks.append(f"NOT THE SAME: the losses of {name} differ by {off:.1e} of PyTorch's.")


def add_workers(report: Report, repeats: int) -> None:
    say("  two branches")
    one, two = once.branches(1, repeats), once.branches(2, repeats)
    if "error" in one or "error" in two:
        report.remarks.append(f"Two branches with CPU workers: failed: {one.get('error') or two.get('error')}.")
        return
    ratio = one["seconds"] / two["seconds"]
    bits = "bitwise equal" if one["digest"] == two["digest"] else "NOT bitwise equal"
    verdict = "met" if ratio >= 1.6 and one["digest"] == two["digest"] else "NOT MET"
    report.remarks.append(f"Two equal branches, backward with 1 and 2 CPU workers: {seconds(one['seconds'])} and {seconds(two['seconds'])}, "
                          f"{ratio:.2f} times faster (target 1.6), gradients {bits}: {verdict}.")


def add_growth(report: Report, quick: bool) -> None:
    sizes = [1_000, 10_000, 100_000] + ([] if quick else [1_000_000])
    table: dict[str, list[str]] = {}
    for n in sizes:
        say(f"  growth: {n:,}")
        best = timed(cases.growth_cases(n), [cases.OURS], 1, 3 if n >= 100_000 else 10)
        for name, row in best.items():
            what = name.split(":")[1].strip() if ":" in name else "leaves joined, per leaf"
            table.setdefault(what, []).append(seconds(row[cases.OURS]))
        grown = once.bytes_per_node(cases.OURS, n)
        table.setdefault("bytes per node", []).append(size(grown.get("bytes", grown.get("error"))))
    report.remarks.append(f"Growth with the length of the graph, {', '.join(f'{n:,}' for n in sizes)} nodes (linear means equal figures): "
                          + "; ".join(f"{what} {', '.join(v)}" for what, v in table.items()) + ".")


def versions(libraries: list[str]) -> dict[str, str]:
    out = {}
    for lib in libraries:
        try:
            out[lib] = version(lib)
        except PackageNotFoundError:
            out[lib] = "from its source tree"
    return out


def main() -> int:
    ap = argparse.ArgumentParser(prog="bench", description=__doc__)
    ap.add_argument("--quick", action="store_true", help="fewer rounds and repeats")
    ap.add_argument("--only", default="", metavar="TEXT", help="time only the cases whose name contains this")
    ap.add_argument("--write", action="store_true", help="write bench/RESULTS.md")
    a = ap.parse_args()
    libraries = [lib for lib in LIBRARIES if available(lib)]
    for lib in LIBRARIES:
        if lib not in libraries:
            say(f"{lib} is not installed: its column stays empty")
    machine = describe_machine(versions(libraries))
    rounds, repeats = (1, 5) if a.quick else (5, 9)
    report = Report()
    add_timed(report, libraries, a.only, rounds, repeats)
    add_peaks(report, libraries, a.only, 1 if a.quick else 3)
    if not a.only:
        add_memory(report, libraries, 3 if a.quick else 15)
        add_workers(report, 3 if a.quick else 15)
        add_growth(report, a.quick)
    print(machine)
    print(report.table())
    print("\n".join(["", *report.remarks]))
    print("\n".join(f"failed: {f}" for f in report.failures()))
    if a.write:
        (Path(__file__).parent / "RESULTS.md").write_text(report.markdown(machine))
    return 1 if any(isinstance(r.ours, str) for r in report.rows) else 0


if __name__ == "__main__":
    sys.exit(main())
