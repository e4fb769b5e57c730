"""The documents hold: code blocks run in order, links lead somewhere, docstrings' examples give what they show."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import undertow

ROOT = Path(__file__).resolve().parents[1]
DOCS = sorted([*ROOT.glob("docs/*.md"), *ROOT.glob("*.md"), *ROOT.glob("core/**/README.md"), *ROOT.glob("tools/**/README.md"), ROOT / "ops/README.md"])
DOCS = [d for d in DOCS if d.exists()]


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(), re.S | re.M)


@pytest.mark.parametrize("path", [p for p in DOCS if blocks(p, "python")], ids=lambda p: p.name)
def test_code_blocks_run_in_order(path):
    source = "\n".join(blocks(path, "python"))
    assert "assert " in source, "a document's code says what it gives"
    exec(compile(source, str(path), "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("path", DOCS, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_to_files(path):
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text())
    missing = [t for t in targets if "://" not in t and not (path.parent / t).exists()]
    assert not missing


def modules() -> list[str]:
    found = [m.name for m in pkgutil.walk_packages(undertow.__path__, "undertow.") if not m.name.startswith("undertow._C")]
    return ["undertow", *found]


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings(name):
    if name.endswith(".tensorboard"):
        pytest.importorskip("tensorboard", reason="event files are written by the tensorboard package")
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert result.failed == 0
