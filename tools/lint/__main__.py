"""python -m tools.lint: runs every lint over the tracked files; prints each finding, exits 1 if there is one."""
from __future__ import annotations

import sys

from . import assertions, comments, layers, lengths, notes
from .files import tracked


def main() -> int:
    files = tracked()
    findings = [*layers.check(files), *notes.check(files), *comments.check(files), *lengths.check(files), *assertions.check(files)]
    print("\n".join(findings), end="\n" if findings else "")
    print(f"tools.lint: {len(files)} files, {len(findings)} findings")
    return 1 if findings else 0


sys.exit(main())
