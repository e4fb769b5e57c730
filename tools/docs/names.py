"""Which modules and names are public: read from the imported package, so that the reference follows it."""
from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
import types
import warnings

import undertow

# Names that exist only for programs written for PyTorch are described in docs/from_pytorch.md instead.
LEFT_OUT = "undertow.as_torch"


def is_private(path: str) -> bool:
    return any(part.startswith("_") for part in path.split("."))


def modules() -> list[types.ModuleType]:
    """Every public module, the shortest paths first, so that an object is described where its path is shortest."""
    names = ["undertow"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names += [m.name for m in pkgutil.walk_packages(undertow.__path__, "undertow.", onerror=lambda name: None)]
        found = []
        for name in names:
            if is_private(name) or name.startswith(LEFT_OUT):
                continue
            try:
                found.append(importlib.import_module(name))
            except ModuleNotFoundError as error:
                if error.name and error.name.startswith("undertow"):
                    raise
                print(f"tools.docs: {name} is left out, because {error.name} is not installed", file=sys.stderr)
    return sorted(found, key=lambda m: (m.__name__.count("."), m.__name__))


def public_names(module: types.ModuleType) -> list[str]:
    """What `dir()` or `__all__` lists, where the module defines one; else what the module's own file defines."""
    declared = set(vars(module).get("__all__", ()))
    if "__dir__" in vars(module):
        declared |= set(dir(module))
    if not declared:
        declared = {n for n, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__}
    names = []
    for name in sorted(declared):
        if name.startswith("_") or name == "TYPE_CHECKING":
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = getattr(module, name, None)
        if not inspect.ismodule(value) and type(value).__module__ != "__future__":
            names.append(name)
    return names
