"""Every source file begins with its purpose: `// name.cpp: ...`, a docstring, or a comment."""
from __future__ import annotations

import ast
import re
from pathlib import Path

from .files import text

LOST_MARK = re.compile(r"^//.*\S build: (small|hot|vectors|unrolled)$", re.M)


def check(files: list[Path]) -> list[str]:
    out = []
    for path in files:
        if path.suffix in (".h", ".cpp"):
            first = text(path).split("\n", 1)[0]
            if not first.startswith(f"// {path.name}: "):
                out.append(f"{path}: the first line should be `// {path.name}: what it is for`, but is `{first[:60]}`")
            if path.parts[0] == "core" and LOST_MARK.search(text(path)):
                out.append(f"{path}: a build mark must be on a separate line, see cmake/build_marks.cmake")
        elif path.suffix == ".py":
            source = text(path)
            if source.strip() and not ast.get_docstring(ast.parse(source)):
                out.append(f"{path}: has no docstring that says what it is for")
        elif path.suffix in (".toml", ".yaml", ".cmake") or path.name in ("Makefile", "CMakeLists.txt"):
            if not text(path).startswith("#"):
                out.append(f"{path}: does not begin with a comment that says what it is for")
    return out
