"""`python -m tools.torch_names`: download packages, count the names of torch they use, and write table.tsv. See README.md."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tools.torch_names.used import count

_HERE = Path(__file__).parent
PACKAGES, TABLE = _HERE / "packages.txt", _HERE / "table.tsv"
_LARGEST = 80_000_000  # bytes of an archive: larger ones hold binaries


def listed_packages() -> list[str]:
    """Return the names in packages.txt."""
    return [line for line in PACKAGES.read_text().splitlines() if line and not line.startswith("#")]


def download(folder: Path) -> None:
    """Download the newest wheel, or else the sdist, of each package that is not in the folder yet."""
    for name in listed_packages():
        place = folder / name
        if place.is_dir():
            continue
        place.mkdir(parents=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(place)]
        if subprocess.run([*pip, "--only-binary", ":all:", name], check=False, capture_output=True).returncode:
            done = subprocess.run([*pip, "--no-binary", ":all:", "--no-build-isolation", name], check=False, capture_output=True, text=True)
            if done.returncode:
                print(f"{name}: not downloaded", file=sys.stderr)
        for archive in place.iterdir():
            if archive.stat().st_size > _LARGEST:
                print(f"{name}: {archive.name} is too large and is left out", file=sys.stderr)
                archive.unlink()


def _asked(program: list[str], names: list[str]) -> dict[str, str]:
    """Return what tools/torch_names/resolve.py says about each name, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder) / "given.json", Path(folder) / "found.json"
        given.write_text(json.dumps(names))
        subprocess.run([*program, str(_HERE / "resolve.py"), str(given), str(found)], check=True, stderr=subprocess.DEVNULL)
        return json.loads(found.read_text())


def write_table(folder: Path) -> None:
    """Write the names that two or more packages use, with what torch and as_torch say about each."""
    counted, read = count(folder)
    short = _asked([sys.executable], sorted(counted))  # PyTorch itself says where a chain leaves its modules and classes
    packages: Counter[str] = Counter()
    for name, n in counted.items():
        known = short[name]
        packages[known.removeprefix("absent ")] = max(packages[known.removeprefix("absent ")], n)
    absent = {value.removeprefix("absent ") for value in short.values() if value.startswith("absent ")}
    names = [name for name, n in packages.items() if n >= 2]
    ours = _asked([sys.executable, "-m", "undertow.as_torch"], sorted(names))
    rows = [f"# Written by python -m tools.torch_names, from {len(read)} packages: name, packages that use it, what as_torch says."]
    for name in sorted(names, key=lambda name: (-packages[name], name)):
        said = "exists" if ours[name] == name else "not in torch 2.13 either" if name in absent else ours[name]
        rows.append(f"{name}\t{packages[name]}\t{said}")
    TABLE.write_text("\n".join(rows) + "\n")
    print(f"{len(names)} names, {sum(row.endswith('exists') for row in rows)} exist")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the downloaded packages are kept")
    parser.add_argument("--offline", action="store_true", help="download nothing")
    options = parser.parse_args()
    if not options.offline:
        download(options.folder)
    write_table(options.folder)


if __name__ == "__main__":
    main()
