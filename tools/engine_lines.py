"""python -m tools.engine_lines [--check]: renews the line numbers in docs/engine.md, or reports which are out of date.

Each link of the page names a definition and its file: [`name`](../path/to/file#L12).
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/engine.md"
LINK = re.compile(r"\[`([\w:]+)`\]\(([\w./]+)#L(\d+)\)")


def line_of(name: str, path: Path) -> int:
    """The line of a definition: of a type, else of a function's body, else the first that names it outside a comment."""
    lines = path.read_text().splitlines()
    last = re.escape(name.rsplit("::", 1)[-1])
    patterns = (
        rf"^\s*(?:class|struct) {last}\b(?!.*;$)",
        rf"^(?!\s*//|\s*return\b|.*;$).*(?<![.>\w]){last}\(.*[{{,(]$",
        rf"^(?!\s*//).*(?<![.>\w]){last}\b",
    )
    for pattern in patterns:
        for number, line in enumerate(lines, 1):
            if re.search(pattern, line):
                return number
    raise LookupError(f"{path.relative_to(ROOT)} defines no {name}")


def renewed(page: str) -> str:
    def link(found: re.Match[str]) -> str:
        name, target = found[1], found[2]
        return f"[`{name}`]({target}#L{line_of(name, (PAGE.parent / target).resolve())})"

    return LINK.sub(link, page)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.engine_lines", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only compare")
    options = parser.parse_args()
    before = PAGE.read_text()
    after = renewed(before)
    if options.check:
        changed = [f"{a[0]}: line {b[2]} -> {a[2]}" for a, b in zip(LINK.findall(after), LINK.findall(before), strict=True) if a != b]
        print("\n".join(changed) if changed else "docs/engine.md is up to date")
        return 1 if changed else 0
    PAGE.write_text(after)
    return 0


if __name__ == "__main__":
    sys.exit(main())
