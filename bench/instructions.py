"""python -m bench.instructions: counts instructions of small programs under callgrind and compares with limits.

Counts hardly vary from run to run, so they show a slower path even where times on a shared machine do not. A program's
count is the difference between many and few repetitions, divided by the difference of the repetitions: start-up cancels. The
limits in instructions.toml belong to the release build; `--write` sets them 5% above the measured counts.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
LIMITS = HERE / "instructions.toml"
FEW, MANY = 200, 20200  # start-up varies by some ten thousand instructions, so many steps
EIGHT = "import undertow as L\na = L.ones(8); b = L.ones(8); x = L.ones(8).requires_grad_(); w = L.ones(8).requires_grad_()\n"
PROGRAMS = {
    "mul": EIGHT + "for _ in range(N): a * b",
    "mul_recorded": EIGHT + "for _ in range(N): x * w",
    "scale_recorded": EIGHT + "for _ in range(N): 2 * x",
    "view_recorded": EIGHT + "for _ in range(N): x.view(2, 4)",
    "index_recorded": EIGHT + "for _ in range(N): x[0]",
    "sum_recorded": EIGHT + "for _ in range(N): x.sum()",
    "chain_forward_backward_free": EIGHT + "y = x\nfor _ in range(N): y = y * a\ny.backward(b)\ny = None",
    "chain_in_a_recording": EIGHT + "y = x\nfor _ in range(N): y = y * a\nL._C._trace_start(True)\ny.backward(b)\ny = None",
}


def count(program: str, n: int, valgrind: str) -> int:
    """Instructions of the whole process."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        # The baseline kernels: valgrind does not know every wide instruction.
        env = {**os.environ, "UNDERTOW_ISA": "baseline", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONSAFEPATH": "1"}
        command = [valgrind, "--tool=callgrind", f"--callgrind-out-file={out}", sys.executable, "-c", f"N = {n}\n" + program]
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if not line.startswith("==")]  # the program's words, without valgrind's
            raise RuntimeError(said[-1] if said else f"exit status {done.returncode}")
        for line in out.read_text().splitlines():
            if line.startswith(("totals:", "summary:")):
                return int(line.split()[1])
    raise RuntimeError("callgrind wrote no total")


def main() -> int:
    ap = argparse.ArgumentParser(prog="bench.instructions", description=__doc__)
    ap.add_argument("--write", action="store_true", help="set the limits from the measured counts")
    a = ap.parse_args()
    valgrind = shutil.which("valgrind")
    if not valgrind:
        print("bench.instructions: skipped, valgrind is not installed")
        return 0
    limits = tomllib.loads(LIMITS.read_text()) if LIMITS.exists() else {}
    found, bad = {}, 0
    for name, program in PROGRAMS.items():
        per_step = (count(program, MANY, valgrind) - count(program, FEW, valgrind)) / (MANY - FEW)
        found[name] = per_step
        limit = limits.get(name)
        over = limit is not None and per_step > limit and not a.write
        bad += over
        print(f"{name:<30}{per_step:>9.0f} instructions per step   limit {limit if limit is not None else 'none'}{'   OVER' if over else ''}")
    if a.write:
        text = "# Instructions a step may take, a twentieth above what was found; written by `python -m bench.instructions --write`.\n"
        LIMITS.write_text(text + "".join(f"{k} = {int(v * 1.05)}\n" for k, v in found.items()))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
