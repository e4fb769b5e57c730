"""python -m tools.mutate [WORDS]: applies each mutation of mutations.toml, builds, runs its tests, restores the file.

Needs a development build (see README.md) and a source tree that nobody else is editing.

Exits 1 if no test detected a mutation, or if one no longer matches the code.
"""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("mutations.toml")
WITHOUT_TORCH = "import sys; sys.modules.update(torch=None); import pytest; sys.exit(pytest.main(sys.argv[1:]))"
WITH_TORCH = "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))"


@dataclass(frozen=True)
class Mutation:
    what: str
    file: str  # only its name if it is unique, so that the table stays valid when the file moves
    old: str
    new: str
    tests: tuple[str, ...]
    only: str = ""  # pytest's -k, if the files have many other tests
    torch: bool = False  # only the comparisons with torch detect it

    def path(self, files: list[Path]) -> Path:
        found = [p for p in files if p == Path(self.file) or p.name == self.file]
        found = [p for p in found if (ROOT / p).read_text().count(self.old) == 1] if len(found) > 1 else found
        if len(found) != 1:
            raise LookupError(f"{len(found)} files are called {self.file}")
        count = (ROOT / found[0]).read_text().count(self.old)
        if count != 1:
            raise LookupError(f"{found[0]} has the text to change {count} times")
        return found[0]


def load() -> list[Mutation]:
    return [Mutation(**{**m, "tests": tuple(m["tests"])}) for m in tomllib.loads(TABLE.read_text())["mutation"]]


def is_python(test: str) -> bool:
    """Whether it is a file or folder of Python tests, not the name of a C++ test."""
    return test.endswith((".py", "/")) or "::" in test


def build(folder: str, tests: tuple[str, ...] = ()) -> bool:
    """Builds the package, linked into the source tree, and the C++ tests that are named."""
    targets = ["inplace", *(t for t in tests if not is_python(t))]
    done = subprocess.run(["nice", "ninja", "-C", folder, *targets], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        print(done.stdout[-3000:])
    return done.returncode == 0


def noticed_by(mutation: Mutation, folder: str, limit: int) -> str | None:
    """The first test that fails, or None. A crash or a hang counts too."""
    python = [t for t in mutation.tests if is_python(t)]
    for name in mutation.tests:
        if name not in python:
            done = subprocess.run([str(ROOT / folder / "tests" / "cpp" / name)], cwd=ROOT, capture_output=True, timeout=limit)
            if done.returncode:
                return name
    if not python:
        return None
    program = WITH_TORCH if mutation.torch else WITHOUT_TORCH
    chosen = [*(["-k", mutation.only] if mutation.only else []), *python]
    command = [sys.executable, "-c", program, "-x", "-q", "-p", "no:cacheprovider", "--tb=no", "-m", "not slow", *chosen]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}  # for the programs that tests start
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return f"no end within {limit} s"
    if done.returncode in (0, 5):
        return None
    failed = [line.split(" - ")[0] for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return failed[0].split(" ", 1)[1] if failed else f"exit status {done.returncode}"


def report(mutation: Mutation, path: Path, folder: str, limit: int) -> bool:
    """Runs the tests of a mutation that is applied and built; returns whether it was detected."""
    start = time.monotonic()
    who = noticed_by(mutation, folder, limit)
    took = f"{time.monotonic() - start:.0f} s"
    print(f"{'detected' if who else 'MISSED  '} {mutation.what} ({path}): {who or 'by no test'} [{took}]", flush=True)
    return who is not None


def try_out(group: list[tuple[Mutation, Path]], folder: str, limit: int) -> int:
    """Applies mutations of different files at once, builds, runs the tests of each, restores the files. Returns how many were missed."""
    before = {path: (ROOT / path).read_text() for _, path in group}
    try:
        for m, path in group:
            (ROOT / path).write_text((ROOT / path).read_text().replace(m.old, m.new))
        tests = tuple(t for m, _ in group for t in m.tests)
        if any(path.suffix != ".py" for _, path in group) and not build(folder, tests):
            print(f"INVALID {', '.join(m.what for m, _ in group)}: does not compile", flush=True)
            return len(group)
        return sum(not report(m, path, folder, limit) for m, path in group)
    finally:
        for path, source in before.items():
            (ROOT / path).write_text(source)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.mutate", description=__doc__)
    parser.add_argument("words", nargs="*", help="only mutations whose description or file contains one of these")
    parser.add_argument("--build", default="build/dev", help="the build folder (default build/dev)")
    parser.add_argument("--limit", type=int, default=600, help="seconds for the tests of one mutation")
    parser.add_argument("--list", action="store_true", help="check that every mutation matches the code, and stop")
    parser.add_argument("--part", default="1/1", metavar="K/N", help="only part K of N, for several machines or copies of the tree")
    parser.add_argument("--together", action="store_true", help="apply all chosen mutations at once: quick, if no test covers two of them")
    options = parser.parse_args()
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    files = [Path(name) for name in listed]
    chosen = [m for m in load() if not options.words or any(w in m.what or w in m.file for w in options.words)]
    chosen.sort(key=lambda m: not m.file.endswith(".py"))  # those that need no build come first, on a build of the plain code
    part, parts = map(int, options.part.split("/"))
    chosen = chosen[part - 1 :: parts]
    fitting, bad = [], 0
    for m in chosen:
        try:
            fitting.append((m, m.path(files)))
        except LookupError as error:
            bad += 1
            print(f"STALE   {m.what}: {error}")
    if options.list:
        print("\n".join(f"{path}: {m.what}" for m, path in fitting))
        return 1 if bad else 0
    groups = [fitting] if options.together else [[pair] for pair in fitting]
    bad += sum(try_out(group, options.build, options.limit) for group in groups)
    if any(path.suffix != ".py" for _, path in fitting):
        build(options.build)
    print(f"{len(chosen)} mutations, {bad} not detected or not matching")
    return 1 if bad else 0


sys.exit(main())
