"""Find the names of torch in Python files: attribute chains that begin at an import of torch, read with `ast`."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import tarfile
import warnings
import zipfile
from collections import Counter
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class _Names(ast.NodeVisitor):
    """Collects dotted names of torch. Names imported anywhere in a file hold for the whole file."""

    def __init__(self) -> None:
        self.aliases: dict[str, str] = {}
        self.found: set[str] = set()

    def visit_Import(self, node: ast.Import) -> None:
        for one in node.names:
            if one.name == "torch" or one.name.startswith("torch."):
                self.found.add(one.name)
                self.aliases[one.asname or "torch"] = one.name if one.asname else "torch"

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level or not node.module or node.module.partition(".")[0] != "torch":
            return
        for one in node.names:
            if one.name != "*":
                self.found.add(f"{node.module}.{one.name}")
                self.aliases[one.asname or one.name] = f"{node.module}.{one.name}"


def _chain(node: ast.Attribute) -> list[str] | None:
    """Return the names of `a.b.c`, or None if it does not begin with a name."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value  # type: ignore[assignment]
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else None


def names_in(source: str | bytes) -> set[str]:
    """Return the dotted names of torch that a file uses.

    >>> sorted(names_in("import torch.nn.functional as F\\nfrom torch import nn\\nF.relu(nn.Linear.weight)"))
    ['torch.nn', 'torch.nn.Linear.weight', 'torch.nn.functional', 'torch.nn.functional.relu']
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes in other people's strings
        tree = ast.parse(source)
    names = _Names()
    names.visit(tree)
    if names.aliases:
        inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and id(node) not in inner and (chain := _chain(node)) and chain[0] in names.aliases:
                names.found.add(".".join([names.aliases[chain[0]], *chain[1:]]))
    return names.found


def _python_files(archive: Path) -> Iterator[bytes]:
    """Yield the Python files in a wheel or an sdist, without its tests."""
    if archive.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(archive) as opened:
            for name in opened.namelist():
                if name.endswith(".py") and not _is_test(name):
                    yield opened.read(name)
    elif archive.suffix in (".gz", ".tgz", ".bz2"):
        with tarfile.open(fileobj=io.BytesIO(archive.read_bytes())) as opened:
            for member in opened:
                if member.name.endswith(".py") and member.isfile() and not _is_test(member.name):
                    yield opened.extractfile(member).read()  # type: ignore[union-attr]


def _is_test(name: str) -> bool:
    return any(part in ("test", "tests", "testing") or part.startswith("test_") for part in name.lower().removesuffix(".py").split("/"))


def _used_by(package: Path) -> list[str]:
    """Return the names that a package uses. They are kept beside its archives, because reading a large package takes minutes."""
    kept = package / "used.json"
    if not kept.exists():
        used: set[str] = set()
        for archive in sorted(package.iterdir()):
            for source in _python_files(archive):
                if b"torch" in source:
                    with contextlib.suppress(SyntaxError, ValueError, RecursionError):  # Python 2, or a template
                        used |= names_in(source)
        kept.write_text(json.dumps(sorted(used)))
    return json.loads(kept.read_text())


def count(folder: Path) -> tuple[Counter[str], list[str]]:
    """Return, for each dotted name, in how many packages it occurs, and the packages that use torch."""
    names: Counter[str] = Counter()
    read = []
    for package in sorted(p for p in folder.iterdir() if p.is_dir()):
        used = _used_by(package)
        names.update(used)
        if used:
            read.append(package.name)
    return names, read
