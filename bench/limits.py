"""python -m bench.limits: what limits the figures on this machine: an empty call, an atomic addition, memory, arithmetic."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import timeit
from pathlib import Path

SOURCE = Path(__file__).parent / "cpp/limits.cpp"


def main() -> int:
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    number = 1_000_000
    # float.conjugate returns its own object: a method without arguments that does nothing.
    empty = min(timeit.repeat("x.conjugate()", "x = 1.5", number=number, repeat=15)) / number
    print(f"a call of a C method that does nothing, from timeit's loop: {empty * 1e9:.1f} ns", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / "limits")
        compile_ = [os.environ.get("CXX", "c++"), "-std=c++20", "-O3", "-march=native", "-Wno-psabi", "-pthread"]
        subprocess.run([*compile_, str(SOURCE), "-o", program], check=True)
        return subprocess.run([program]).returncode


if __name__ == "__main__":
    sys.exit(main())
