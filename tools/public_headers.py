"""python -m tools.public_headers GENERATED [--into DIR]: lists or copies the headers that programs get: those of core/api, and what they include.

`GENERATED` is the build's folder of generated code. Headers are copied with their first line of comments only: that makes the package 100 kB smaller.
"""
from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^">]+)[">]', re.M)


def public(root: Path, generated: Path) -> dict[str, Path]:
    """The installed headers by their path below include/. A quoted or angled name is looked up as the compiler does."""
    starts = sorted((root / "core/api/undertow").rglob("*.h"))
    found: dict[str, Path] = {path.relative_to(root / "core/api").as_posix(): path for path in starts}
    waiting = list(found.values())
    places = {"core": root, "generated": generated.parent, "undertow": generated}
    while waiting:
        for name in INCLUDE.findall(waiting.pop().read_text()):
            place = places.get(name.split("/")[0])
            if place and name not in found:
                found[name] = place / name
                waiting.append(found[name])
    return found


def without_comments(text: str) -> str:
    """The text without lines that are only a comment, except the first, which says what the file is for."""
    first, *others = text.split("\n")
    return "\n".join([first, *(line for line in others if not line.lstrip().startswith("//"))])


def main() -> int:
    ap = argparse.ArgumentParser(prog="public_headers", description=__doc__)
    ap.add_argument("generated", type=Path)
    ap.add_argument("--into", type=Path)
    a = ap.parse_args()
    for name, path in sorted(public(ROOT, a.generated.resolve()).items()):
        if a.into:
            (a.into / name).parent.mkdir(parents=True, exist_ok=True)
            (a.into / name).write_text(without_comments(path.read_text()))
        else:
            print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
