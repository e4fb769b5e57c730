"""The documentation is correct: code blocks run in order, links and paths exist, examples in docstrings print what they show."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest
from paths import ROOT

import undertow
from tools import engine_lines

FOLDERS = ("core", "undertow", "ops", "tools", "tests", "bench", "docs", "examples")
DOCS = sorted([*ROOT.glob("*.md"), *(p for folder in FOLDERS for p in (ROOT / folder).rglob("*.md") if "node_modules" not in p.parts)])
SUFFIXES = "h|cpp|py|pyi|toml|md|svg|sh"


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(), re.S | re.M)


def prose(path: Path) -> str:
    """A page without its code blocks."""
    return re.sub(r"^```.*?^```", "", path.read_text(), flags=re.S | re.M)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", [p for p in DOCS if blocks(p, "python")], ids=name_of)
def test_code_blocks_run_in_order(path):
    source = "\n".join(blocks(path, "python"))
    assert "assert " in source, "a document's code says what it gives"
    exec(compile(source, str(path), "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("path", DOCS, ids=name_of)
def test_links_lead_to_files(path):
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", prose(path))
    missing = [t for t in targets if "://" not in t and not (path.parent / t).exists()]
    assert not missing


@pytest.mark.parametrize("path", DOCS, ids=name_of)
def test_paths_named_in_the_text_exist(path):
    """`core/graph/node.h`, `ops/*.toml`, `core/forward/<family>`: from the root, with * and <name> for any one name. Headers of C++, `<undertow/nn.h>`, are in core/api."""
    named = re.findall(rf"(?<![\w/.~-])(?:{'|'.join(FOLDERS)})/[\w./*<>-]*", re.sub(r"\w+://\S+", "", prose(path)))
    patterns = {re.sub(r"<\w+>", "*", name.rstrip("./>") if name.endswith(".h>") else name.rstrip("./")) for name in named}
    assert not sorted(p for p in patterns if not any(ROOT.glob(p)) and not any((ROOT / "core/api").glob(p)))


@pytest.mark.parametrize("path", [p for p in DOCS if p.name == "README.md" and p.parent != ROOT], ids=name_of)
def test_files_named_in_a_readme_exist(path):
    """A README may name files by any end of their path: `gemm.h` in core/kernels/cpu is core/kernels/cpu/matmul/gemm.h."""
    named = set(re.findall(rf"`((?!generated/)[\w./*-]+\.(?:{SUFFIXES}))`", prose(path)))
    missing = [name for name in named if not any(path.parent.rglob(name.removeprefix("../"))) and not any(ROOT.glob(name))]
    missing = [name for name in missing if len(Path(name).stem) > 1]  # `x.py` stands for any module
    missing = [name for name in missing if not any(p for folder in FOLDERS for p in (ROOT / folder).rglob(name))]
    assert not sorted(missing)


def modules() -> list[str]:
    found = [m.name for m in pkgutil.walk_packages(undertow.__path__, "undertow.") if not m.name.startswith("undertow._C")]
    return ["undertow", *found]


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings(name):
    if name.endswith(".tensorboard"):
        pytest.importorskip("tensorboard", reason="event files are written by the tensorboard package")
    module = importlib.import_module(name)
    for lazy in getattr(module, "__all__", ()):  # loaded before doctest walks the module's names
        getattr(module, lazy, None)
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert result.failed == 0


def test_the_lines_on_the_engines_page_are_current():
    page = engine_lines.PAGE.read_text()
    assert len(engine_lines.LINK.findall(page)) > 40
    assert engine_lines.renewed(page) == page, "run python -m tools.engine_lines"
