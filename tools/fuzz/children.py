"""Runs numbered work in child processes that may crash, hang or take all memory, and reports which number did."""

from __future__ import annotations

import argparse
import os
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass

# Texts that a user's mistake must not lead to.
LEAKED = re.compile(r"internal error|std::|basic_string|vector::|_M_[a-z]+|bad_alloc|unknown C\+\+|[a-z_]+\.cpp:\d+")


@dataclass
class Finding:
    """One number that went wrong."""

    number: int
    kind: str  # "crash", "hang", "memory", "text" or a fuzzer's own
    details: str


def limits(parser: argparse.ArgumentParser) -> None:
    """Add the options that all fuzzers share."""
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number to begin with")
    parser.add_argument("--batch", type=int, default=2000, help="numbers for one child process")
    parser.add_argument("--cpu-seconds", type=float, default=10, help="of one number")
    parser.add_argument("--memory", type=int, default=3072, help="MiB of addresses of one child; ignored under the address sanitizer")
    parser.add_argument("--quiet", action="store_true", help="print findings and the last line only")


# -- in the child ------------------------------------------------------------------------------------------------------


def serve(work: Callable[[int], list[tuple[str, str]]], options: argparse.Namespace, count: int) -> None:
    """Run `work(number)` for `count` numbers and write what happens to the standard output."""
    channel = os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)  # functions under test may print
    if "asan" not in os.environ.get("LD_PRELOAD", ""):
        limit = options.memory << 20
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(options.first, options.first + count):
        channel.write(b"%d\n" % number)
        signal.setitimer(signal.ITIMER_PROF, options.cpu_seconds)  # its signal ends the process
        findings = work(number)
        signal.setitimer(signal.ITIMER_PROF, 0)
        now = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if now - most > 1 << 20:  # KiB
            findings.append(("memory", f"{(now - most) >> 10} MiB more"))
        most = max(most, now)
        for kind, details in findings:
            channel.write(b"!%s %s\n" % (kind.encode(), details.encode("utf-8", "backslashreplace").replace(b"\n", b"\\n")))
    channel.write(b"end\n")


# -- in the parent -----------------------------------------------------------------------------------------------------


class _Child:
    def __init__(self, command: list[str]) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed by finish)
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.errors)
        self._pending = b""

    def lines(self, patience: float) -> list[str] | None:
        """Return new lines; an empty list at the end; None if none came for `patience` seconds."""
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], patience)[0]:
            return None
        data = os.read(self.process.stdout.fileno(), 65536)
        *lines, self._pending = (self._pending + data).split(b"\n")
        if data and not lines:
            return self.lines(patience)
        return [line.decode() for line in lines]

    def finish(self) -> tuple[int, str]:
        code = self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.errors.seek(0)
        text = self.errors.read().decode("utf-8", "replace")
        self.errors.close()
        return code, text


def run(module: str, options: argparse.Namespace, count: int, extra: list[str], show: Callable[[int], str]) -> list[Finding]:
    """Run numbers `first` to `first + count` of a fuzzer in children; print and return the findings. `show` describes a number."""
    findings: list[Finding] = []
    at, end, begun = options.first, options.first + count, time.monotonic()
    while at < end:
        size = min(options.batch, end - at)
        child = _Child(
            [
                sys.executable,
                "-X",
                "faulthandler",
                "-W",
                "ignore",
                "-m",
                module,
                "--child",
                str(size),
                "--first",
                str(at),
                "--seed",
                str(options.seed),
            ]
            + ["--cpu-seconds", str(options.cpu_seconds), "--memory", str(options.memory), *extra]
        )
        now, ended, hung = at, False, False
        found: list[Finding] = []
        while not ended:
            lines = child.lines(60 * options.cpu_seconds)
            if lines is None:
                hung = True
                child.process.kill()
                break
            if not lines:
                break
            for line in lines:
                if line == "end":
                    ended = True
                elif line.startswith("!"):
                    kind, _, details = line[1:].partition(" ")
                    found.append(Finding(now, kind, details))
                else:
                    now = int(line)
        code, errors = child.finish()
        if ended and code == 0:
            at += size
        else:
            late = " at the end of the process" if ended else ""
            kind = "hang" if hung or code == -signal.SIGPROF else "crash"
            found.append(Finding(now, kind, f"status {code}{late}: {errors[-3000:]}"))
            at = end if not ended and now < at else now + 1
        for finding in found:
            print(f"{finding.kind}: number {finding.number}: {show(finding.number)}\n    {finding.details}", flush=True)
        findings += found
        if not options.quiet:
            print(f"{at - options.first} done, {len(findings)} findings, {time.monotonic() - begun:.0f} s", flush=True)
    return findings
