"""The tools of PyTorch's own tests, read from an installed PyTorch: so its test files find the databases they are written with.

A module of torch.testing._internal (operators, modules and optimizers with their sample inputs, TestCase, decorators) is run from the file that
PyTorch installed; `import torch` in it gives Undertow, as everywhere. Where PyTorch, or the expecttest its tools need, is not installed, or
UNDERTOW_TEST_TOOLS=own says so, the smaller tools of undertow.testing._internal take their place.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType

from undertow.as_torch._standin import stand_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_TOOLS = "torch.testing._internal."
_COMPARISON = "torch.testing._comparison"  # which TestCase.assertEqual extends
_OURS = {_TOOLS + "common_dtype"}  # which knows the dtypes that are here


@functools.cache
def _folder() -> Path | None:
    """PyTorch's own package, which the finder of as_torch hides, if its tools can be used."""
    if os.environ.get("UNDERTOW_TEST_TOOLS") == "own" or PathFinder.find_spec("expecttest", sys.path) is None:
        return None
    found = PathFinder.find_spec("torch", sys.path)
    places = (found.submodule_search_locations or []) if found is not None else []
    return next((Path(place) for place in places if (Path(place) / "testing" / "_internal").is_dir()), None)


def _or_a_stand_in(lookup: Callable[..., Any]) -> Callable[..., Any]:
    """The function by which PyTorch's database finds an operator that must be there: one missing must not hide the others."""

    def found(obj: Any, name: str, *default: Any) -> Any:
        try:
            return lookup(obj, name, *default)
        except AttributeError:
            return stand_in(name if name.startswith("torch.") else f"torch.{name}")

    return found


class _Loader(SourceFileLoader):
    """Runs the file, then mends what holds on PyTorch's own machines alone."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        names = vars(module).get("MODULE_CLASS_NAMES", {})
        for cls in names:  # `nn_Linear`, as PyTorch names the tests of modules, and not by where the class lives here
            names[cls] = names[cls].removeprefix("undertow.")
        if "_getattr_qual" in vars(module):
            module._getattr_qual = _or_a_stand_in(module._getattr_qual)
        if vars(module).get("IS_CI") and PathFinder.find_spec("xmlrunner", sys.path) is None:
            module.IS_CI = False  # the variable CI is set everywhere; the writer of reports that it asks for is not installed everywhere


def spec(fullname: str) -> ModuleSpec | None:
    """How to load a module of torch's test tools from PyTorch's own file, or None."""
    wanted = fullname == _COMPARISON or (fullname.startswith(_TOOLS) and fullname not in _OURS)
    folder = _folder() if wanted else None
    if folder is None:
        return None
    path = folder.joinpath(*fullname.split(".")[1:])
    if path.with_suffix(".py").is_file():
        file = path.with_suffix(".py")
        return importlib.util.spec_from_file_location(fullname, file, loader=_Loader(fullname, str(file)))
    if (path / "__init__.py").is_file():
        return importlib.util.spec_from_file_location(fullname, path / "__init__.py", submodule_search_locations=[str(path)])
    return None
