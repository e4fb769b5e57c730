"""Names that are loaded on first use. A package's `__init__.pyi` is their only list.

This follows Scientific Python's SPEC 1: the stub that type checkers and editors read also
defines `__getattr__`, `__dir__` and `__all__`. Reading a stub does not use `importlib`, `re` or `ast`: importing
those takes longer than reading the stub. The messages about missing names are in _missing_names.py.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def read_stub(text: str) -> dict[str, str | None]:
    """Return the names in a stub, each with the module it comes from, or None if the stub only declares it.

    Reads only the form our stubs have, one name per line; tests/package/test_public_names.py compares the result with `ast`.

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
    """Return `__getattr__`, `__dir__` and `__all__` of the package whose `__init__.py` is `file`, from the stub in the same folder.

    Names that start with an underscore can be accessed too, but are in `__all__` only if `private` is True.
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
        setattr(sys.modules[package], name, value)  # also if the import has just set a submodule of the same name
        return value

    def __dir__() -> list[str]:
        return sorted({*public, *(name for name in vars(sys.modules[package]) if name.startswith("__"))})

    return __getattr__, __dir__, public


def names_from(module: str, places: dict[str, str]) -> Callable[[str], Any]:
    """Return a `__getattr__` that finds names in the modules of `places`: torch has these names in `module`, we define them elsewhere.

    With it `nn.modules.conv.LazyConv2d` can be imported and unpickled without circular imports.

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
    """Return a `__getattr__` that only raises, with the reason why a name of torch is missing."""

    def __getattr__(name: str) -> Any:
        raise _missing(module, name)

    return __getattr__


def _missing(module: str, name: str) -> AttributeError:
    """Return the error for a missing name. It refers to the module, so Python suggests similar names."""
    words = f"module {module!r} has no attribute {name!r}"
    if not name.startswith("_"):  # tools look up `__wrapped__` and the like in every module
        from undertow._missing_names import native_sentence

        words = native_sentence(module, name) or words
    return AttributeError(words, name=name, obj=sys.modules[module])
