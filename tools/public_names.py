"""python -m tools.public_names [--check]: writes what is generated of the public names, or says what is out of date.

`undertow/__init__.pyi` lists the names by hand, but for the operators and types of the compiled core: those follow the mark
below. Needs a built package.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STUB = ROOT / "undertow/__init__.pyi"
MARK = "# From the core: its types and constants, and the operators of ops/. `python -m tools.public_names` writes what follows.\n"


def core_names() -> list[str]:
    """The public names that the package takes from the compiled core."""
    from undertow import _C

    names = {*dir(_C), *(name for name in _C._ops if "." not in name)}
    return sorted(name for name in names if not name.startswith("_"))


def written_stub() -> str:
    """The package's stub, its generated part made anew."""
    from undertow._lazy import read_stub

    by_hand = STUB.read_text().split(MARK)[0]
    listed = read_stub(by_hand)  # a function of the same name in Python takes the operator's place
    lines = [f"from ._C import {name} as {name}\n" for name in core_names() if name not in listed]
    return by_hand + MARK + "".join(lines)


FILES = {STUB: written_stub}


def outdated() -> list[Path]:
    """The files that differ from what would be written."""
    return [path for path, text in FILES.items() if not path.exists() or path.read_text() != text()]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.public_names", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file is out of date")
    check = parser.parse_args().check
    paths = outdated()
    for path in paths:
        print(f"{path.relative_to(ROOT)} {'is out of date: run python -m tools.public_names' if check else 'written'}")
        if not check:
            path.write_text(FILES[path]())
    return int(check and bool(paths))


if __name__ == "__main__":
    sys.exit(main())
