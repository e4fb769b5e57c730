"""python tools/docs/__main__.py [--out DIR]: builds the documentation site; warnings and broken links are errors.

Needs the `docs` extra and undertow, installed or built in the source tree; needs no network.
"""
from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

CONFIG = Path(__file__).resolve().parent
ROOT = CONFIG.parents[1]
sys.path[:] = [p for p in sys.path if p != str(CONFIG)]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))  # last: an installed package comes before the source tree

import undertow  # noqa: E402

from tools.docs import links, pages, reference  # noqa: E402


def build(out: Path) -> list[str]:
    """Writes the sources to out/source and the site to out/html; returns what is wrong."""
    source, html = out / "source", out / "html"
    shutil.rmtree(source, ignore_errors=True)
    shutil.rmtree(html, ignore_errors=True)
    source.mkdir(parents=True)
    reference.write(source / "api")
    pages.write(ROOT, source)
    version = undertow.__version__
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-j", "2", "-c", str(CONFIG), "-d", str(out / "doctrees")]
    command += ["-D", f"version={version}", "-D", f"release={version}", "-D", f"html_title=Undertow {version}", str(source), str(html)]
    if subprocess.run(command, check=False).returncode:
        return ["sphinx: the build has warnings (above)"]
    return links.broken(html)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.docs", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "build/docs")
    out = parser.parse_args().out.resolve()
    problems = build(out)
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(f"{out / 'html' / 'index.html'}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
