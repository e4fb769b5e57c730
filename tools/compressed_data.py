"""python -m tools.compressed_data DIR: writes the large data files of the package, compressed, into an installed package.

They replace the files themselves, which `wheel.exclude` in pyproject.toml leaves out; undertow/_data_files.py reads both forms.
"""
from __future__ import annotations

import gzip
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "undertow"
FILES = ("_aten/schemas.txt", "inspect/formulas.json", "inspect/page/page.html")


def main(into: Path) -> None:
    for name in FILES:
        target = into / (name + ".gz")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(gzip.compress((PACKAGE / name).read_bytes(), mtime=0))  # no time: the same bytes for the same text


if __name__ == "__main__":
    main(Path(sys.argv[1]))
