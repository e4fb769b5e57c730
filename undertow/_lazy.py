"""Names that are loaded on first use: a package's `__init__.pyi` lists them, and is the only list.

The convention is that of scientific Python's SPEC 1: the stub that type checkers and editors read is also what
`__getattr__`, `__dir__` and `__all__` are made from. Standard library only, and at first without `importlib`, `re` and
`ast`: importing those takes longer than reading the stub. What a missing name is told is in _missing_names.py.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def read_stub(text: str) -> dict[str, str | None]:
    """The names a stub gives: the module each comes from, or None for one that it only declares.

    Understands what our stubs are written in, one name a line; tests/package/test_public_names.py compares it with `ast`.

    >>> read_stub('from . import nn as nn\\nfrom ._x import f as f\\npi: float\\n')
    {'nn': '.', 'f': '._x', 'pi': None}
    """
    names: dict[str, str | None] = {}
    for line in text.splitlines():
        words = line.split()
        if line.startswith("from "):
            names[words[3]] = words[1]
        elif words and words[0].endswith(":") and not line.startswith((" ", "#", "class ", "def ")):
            names[words[0][:-1]] = None
    return names


def attach_stub(package: str, file: str, *, private: bool = False) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of the package whose `__init__.py` is `file`, from the stub beside it.

    Names that start with an underscore are found too, but are in `__all__` only if `private` says so.
    """
    with open(file.removesuffix(".py") + ".pyi", encoding="utf-8") as stub:
        names = read_stub(stub.read())
    public = sorted(name for name in names if private or not name.startswith("_"))

    def __getattr__(name: str) -> Any:
        home = names.get(name)
        if home is None:
            raise _missing(package, name)
        from importlib import import_module

        if home == ".":
            return import_module(f"{package}.{name}")
        value = getattr(import_module(home, package), name)
        setattr(sys.modules[package], name, value)  # also where a module of the same name has just been put
        return value

    def __dir__() -> list[str]:
        return sorted({*public, *(name for name in vars(sys.modules[package]) if name.startswith("_"))})

    return __getattr__, __dir__, public


def names_from(module: str, places: dict[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module in which torch has names that we define elsewhere: the module that defines each, and the names.

    So `nn.modules.conv.LazyConv2d` can be imported and unpickled, and no file imports a later one.

    >>> from undertow.nn.modules import conv
    >>> conv.LazyConv1d.__name__
    'LazyConv1d'
    """
    where = {name: place for place, names in places.items() for name in names.split()}

    def __getattr__(name: str) -> Any:
        if name not in where:
            raise _missing(module, name)
        from importlib import import_module

        return getattr(import_module(where[name]), name)

    return __getattr__


def explain_missing(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module that has all its names: it only says why one of torch's is missing."""

    def __getattr__(name: str) -> Any:
        raise _missing(module, name)

    return __getattr__


def _missing(module: str, name: str) -> AttributeError:
    """The error for a name that is not there. With the module in it, Python itself proposes names that are spelled alike."""
    words = f"module {module!r} has no attribute {name!r}"
    if not name.startswith("_"):  # tools probe every module for `__wrapped__` and the like
        from undertow._missing_names import native_sentence

        words = native_sentence(module, name) or words
    return AttributeError(words, name=name, obj=sys.modules[module])
