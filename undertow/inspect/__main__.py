"""`python -m undertow.inspect`: shows a recording, or runs a program and records it."""

from __future__ import annotations

import os
import sys

USAGE = """usage: python -m undertow.inspect [options] run.utrace [other.utrace]
       python -m undertow.inspect [options] [-m module | -c code | script] [arguments]

Shows a recording as a page (with a second one: both, and where they differ), or runs a program and records its passes.

options:
  --out FILE     where to write: .html for a page, .utrace for a recording; by default a page beside the recording, or recording.html
  --values       record the statistics of every gradient too
  --as-torch     the program is written for PyTorch: import torch gives Undertow
  --torch        run the program on the real PyTorch, and record it there by hooks, to compare it with a recording of --as-torch
  --explain      print the explanation of a recording instead of making a page
  --no-open      do not open the page
"""


class _Options:
    def __init__(self, arguments: list[str]) -> None:
        self.out: str | None = None
        self.values = self.as_torch = self.torch = self.explain = False
        self.open_page = True
        while arguments and arguments[0].startswith("--"):
            option = arguments.pop(0)
            if option == "--out" and arguments:
                self.out = arguments.pop(0)
            elif option in ("--values", "--as-torch", "--torch", "--explain"):
                setattr(self, option[2:].replace("-", "_"), True)
            elif option == "--no-open":
                self.open_page = False
            else:
                raise SystemExit(f"unknown option {option}\n{USAGE}")
        self.rest = arguments


def is_recording(path: str) -> bool:
    """Return whether a file is a recording: by its suffix, or because it is packed."""
    if path.endswith(".utrace"):
        return True
    if path.startswith("-") or path.endswith((".py", ".pyc", ".pyz")) or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(2) == b"\x1f\x8b"


def show(options: _Options) -> int:
    """Show one recording, or two."""
    from undertow.inspect._diff import diff
    from undertow.inspect._recording import Recording
    from undertow.inspect._show import announce_file

    try:
        recordings = [Recording.load(path) for path in options.rest[:2]]
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    other = recordings[1] if len(recordings) > 1 else None
    if options.explain:
        print(recordings[0].explain())
    if other is not None:
        print(diff(recordings[0], other))
    if options.explain:
        return 0
    out = options.out or os.path.splitext(options.rest[0])[0] + ".html"
    recordings[0].to_html(out, compare=other)
    announce_file(out, options.open_page)
    return 0


def main() -> int:
    """Do what the command line says."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, end="")
        return 0 if arguments else 2
    options = _Options(arguments)
    if not options.rest:
        print(USAGE, end="", file=sys.stderr)
        return 2
    if is_recording(options.rest[0]):
        return show(options)
    from undertow.as_torch._run import run_program
    from undertow.inspect._program import start

    if options.as_torch:
        from undertow.as_torch._hook import install

        install()
    start(options.out or "recording.html", values=options.values, torch=options.torch)
    run_program(options.rest, USAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
