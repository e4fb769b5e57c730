"""Worker processes that stay alive, and fresh ones for what can only be measured once: imports and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from .cases import NUMPY, Case

ROOT = Path(__file__).resolve().parents[1]


def environment() -> dict[str, str]:
    # OpenMP threads wait as by default: if they sleep immediately, torch's training steps take up to four times as long.
    # The safe path keeps this source tree from hiding the installed package; PYTHONPATH can name a tree built in place.
    return {**os.environ, "PYTHONHASHSEED": "0", "PYTHONSAFEPATH": "1"}


def available(library: str) -> bool:
    return "error" not in fresh(f"import {library}; print('{{}}')")


class Worker:
    """One library's process; `time` runs a case in it once more. `threads`: OMP_NUM_THREADS, which both libraries obey."""

    def __init__(self, library: str, threads: int | None = None):
        self.library = library
        env = environment() | ({"OMP_NUM_THREADS": str(threads)} if threads else {})
        self.process = subprocess.Popen([sys.executable, str(ROOT / "bench/worker.py"), library], cwd=ROOT, env=env, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        started = self._answer()
        if "error" in started:
            raise SystemExit(f"{library} cannot be measured: {started['error']} (install it, or name a built tree in PYTHONPATH)")

    def _answer(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            return {"error": f"the process of {self.library} ended with {self.process.wait()}"}
        return json.loads(line)

    def time(self, case: Case, repeats: int) -> float | str | None:
        """Seconds per `case.per`; a message if it failed; None if this library has no such statement."""
        setup, stmt = (case.numpy_setup, case.numpy_stmt) if self.library == NUMPY else (case.setup, case.stmt)
        if stmt is None:
            return None
        if self.process.poll() is not None:
            return f"the process of {self.library} has ended"
        request = {"setup": setup, "stmt": stmt, "fresh": case.fresh, "repeats": repeats, "threads": case.threads, "sparing": case.sparing}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = self._answer()
        return answer["seconds"] / case.per if "seconds" in answer else answer["error"]

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def fresh(code: str) -> dict:
    """Runs code in a new process; its last line of output is JSON."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment(), capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return {"error": lines[-1] if lines else f"exit status {done.returncode}"}
    return json.loads(done.stdout.strip().splitlines()[-1])
