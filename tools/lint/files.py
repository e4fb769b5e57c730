"""The files that lints check: those tracked by git or, outside a repository, all except build output."""
from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SKIP = ("build", ".venv", "dist", ".git", "__pycache__")


def tracked() -> list[Path]:
    """Paths relative to the repository's root, in order."""
    out = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    if out.returncode == 0:
        names = [Path(line) for line in out.stdout.splitlines()]
    else:
        names = [p.relative_to(ROOT) for p in ROOT.rglob("*") if p.is_file()]
        names = [p for p in names if not any(part.startswith(SKIP) for part in p.parts)]
    return sorted({p for p in names if (ROOT / p).is_file()})


def text(path: Path) -> str:
    return (ROOT / path).read_text(encoding="utf-8", errors="replace")
