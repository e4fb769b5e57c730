"""python -m tools.public_names [--check]: writes the generated lists of public names, or reports which are out of date.

- `undertow/__init__.pyi` lists the names by hand, except for the operators and types of the compiled core, which follow a mark.
- `docs/api.txt` lists everything public, one name per line: its kind, and its signature if that is known.

Needs a built package.
"""

from __future__ import annotations

import argparse
import difflib
import enum
import inspect
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STUB = ROOT / "undertow/__init__.pyi"
API = ROOT / "docs/api.txt"
MARK = "# From the core: its types and constants, and the operators of ops/. `python -m tools.public_names` writes what follows.\n"
_KNOWN_LATER = (None, "($self, /)", "($self, object, /)")  # what Python 3.13 says about a function that gives no signature
_IN_C = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)
HEAD = "# The public names of Undertow, written by `python -m tools.public_names`.\n"


def core_names() -> list[str]:
    """The public names that the package takes from the compiled core."""
    from undertow import _C

    names = {*dir(_C), *(name for name in _C._ops if "." not in name)}
    return sorted(name for name in names if not name.startswith("_"))


def written_stub() -> str:
    """The package's stub with its generated part rewritten."""
    from undertow._lazy import read_stub

    by_hand = STUB.read_text().split(MARK)[0]
    listed = read_stub(by_hand)  # a Python function of the same name replaces the operator
    lines = [f"from ._C import {name} as {name}\n" for name in core_names() if name not in listed]
    return by_hand + MARK + "".join(lines)


def _call(value: Any) -> str:
    """Its signature: names and defaults, without types, which differ between Python versions; empty if unknown.

    Later versions know more: how many arguments a function in C without a signature takes, and another constructor of enums.
    """
    if isinstance(value, _IN_C) and value.__text_signature__ in _KNOWN_LATER:
        return ""
    if isinstance(value, enum.EnumMeta):
        return "(value)"
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    plain = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    text = str(signature.replace(parameters=plain, return_annotation=signature.empty))
    return re.sub(r"<[^<>]*>", "...", text)  # defaults without a literal: functions, generators


def _is_ours(value: Any) -> bool:
    return str(getattr(value, "__module__", None) or "undertow").partition(".")[0] == "undertow"


def _public(module: ModuleType) -> list[str]:
    names = getattr(module, "__all__", None)
    if names is None:
        own = {n: v for n, v in vars(module).items() if n not in ("annotations", "TYPE_CHECKING")}
        names = [n for n, v in own.items() if not (isinstance(v, ModuleType) and not v.__name__.startswith("undertow.")) and _is_ours(v)]
    return sorted(n for n in names if not n.startswith("_"))


def _members(path: str, cls: type) -> Iterator[str]:
    """What a class defines itself; inherited members are listed with its bases."""
    for name, value in sorted(vars(cls).items()):
        if name.startswith("_"):
            continue
        member = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        if callable(member) and not isinstance(member, property):
            yield f"{path}.{name} method {_call(member)}"
        else:
            yield f"{path}.{name} attribute"


def _lines(module: ModuleType, seen: set[Any]) -> Iterator[str]:
    """What a module contains. A class in several modules lists its members under the first name."""
    path = module.__name__
    for name in _public(module):
        value = getattr(module, name)
        full = f"{path}.{name}"
        if isinstance(value, ModuleType):
            yield f"{full} module"
            if value.__name__ == full and value not in seen:
                seen.add(value)
                yield from _lines(value, seen)
        elif not _is_ours(value) and callable(value):
            continue  # Python's own, as in undertow.multiprocessing: its names differ between Python versions
        elif isinstance(value, type):
            yield f"{full} class {_call(value)}"
            if value not in seen:
                seen.add(value)
                yield from _members(full, value)
        elif callable(value):
            yield f"{full} function {_call(value)}"
        else:
            yield f"{full} constant"


def written_api() -> str:
    """The list of everything public."""
    import undertow

    return HEAD + "".join(f"{line.rstrip()}\n" for line in _lines(undertow, set()))


FILES = {STUB: written_stub, API: written_api}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.public_names", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; show the differences and exit with 1 if a file is out of date")
    check = parser.parse_args(arguments).check
    outdated = False
    for path, written in FILES.items():
        found, expected = path.read_text() if path.exists() else "", written()
        if found == expected:
            continue
        outdated = True
        name = path.relative_to(ROOT)
        if check:
            print(f"{name} is out of date: run python -m tools.public_names")
            print(*difflib.unified_diff(found.splitlines(), expected.splitlines(), str(name), "written now", lineterm="", n=0), sep="\n")
        else:
            path.write_text(expected)
            print(f"{name} written")
    return int(check and outdated)


if __name__ == "__main__":
    sys.exit(main())
