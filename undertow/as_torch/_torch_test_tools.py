"""Load the tools of PyTorch's own tests from an installed PyTorch, so that its test files find the databases they need.

A module of torch.testing._internal (operators, modules and optimizers with their sample inputs, TestCase, decorators) is run from
PyTorch's installed file; `import torch` in it imports Undertow. If PyTorch or expecttest, which the tools need, is not installed, or if
UNDERTOW_TEST_TOOLS=own is set, the smaller tools in as_torch/shims/testing/_internal are used instead.
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
    from types import CodeType
    from typing import Any

_TOOLS = "torch.testing._internal."
_TABLE = _TOOLS + "generated.annotated_fn_args"  # the arguments of every function, for tests of __torch_function__
_COMPARISON = "torch.testing._comparison"  # TestCase.assertEqual extends it
_OURS = {_TOOLS + "common_dtype"}  # ours lists the dtypes that Undertow has


@functools.cache
def _folder() -> Path | None:
    """Return the folder of the installed PyTorch, which as_torch's finder hides, or None if its tools cannot be used."""
    if os.environ.get("UNDERTOW_TEST_TOOLS") == "own" or PathFinder.find_spec("expecttest", sys.path) is None:
        return None
    found = PathFinder.find_spec("torch", sys.path)
    places = (found.submodule_search_locations or []) if found is not None else []
    return next((Path(place) for place in places if (Path(place) / "testing" / "_internal").is_dir()), None)


def _or_a_stand_in(lookup: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the operator lookup of PyTorch's database to return a stand-in for a missing operator, so that the others still load."""

    def found(obj: Any, name: str, *default: Any) -> Any:
        try:
            return lookup(obj, name, *default)
        except AttributeError:
            return stand_in(name if name.startswith("torch.") else f"torch.{name}")

    return found


def _without_lazy(choose: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the choice of test devices to leave out the lazy one: it is not here, and its set-up runs in the tests of all devices."""

    def chosen(except_for: Any = None, only_for: Any = None, include_lazy: bool = False, *rest: Any, **kwargs: Any) -> Any:
        return choose(except_for, only_for, False, *rest, **kwargs)

    return chosen


def _is_here(dotted: str) -> bool:
    """Return True if the function exists; it is named as in PyTorch's table of functions."""
    found = sys.modules["torch"]
    for name in dotted.split(".")[1:]:
        if not hasattr(found, name):
            return False
        found = getattr(found, name)
    return True


class _Loader(SourceFileLoader):
    """Runs the file, then fixes assumptions that hold only in PyTorch's own environment."""

    def get_code(self, fullname: str) -> CodeType | None:
        if fullname != _TABLE:
            return super().get_code(fullname)
        import ast

        tree = ast.parse(self.get_data(self.path))
        for table in ast.walk(tree):  # its keys are functions: one that is missing would end the import
            if isinstance(table, ast.Dict) and all(isinstance(key, ast.Attribute) for key in table.keys):
                kept = [at for at, key in enumerate(table.keys) if key is not None and _is_here(ast.unparse(key))]
                table.keys, table.values = [table.keys[at] for at in kept], [table.values[at] for at in kept]
        return compile(tree, self.path, "exec")

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        names = vars(module).get("MODULE_CLASS_NAMES", {})
        for cls in names:  # PyTorch's test names use `nn_Linear`, without our package name
            names[cls] = names[cls].removeprefix("undertow.")
        for name, wrap in (("_getattr_qual", _or_a_stand_in), ("get_desired_device_type_test_bases", _without_lazy)):
            if name in vars(module):
                vars(module)[name] = wrap(vars(module)[name])
        if vars(module).get("IS_CI") and PathFinder.find_spec("xmlrunner", sys.path) is None:
            vars(module)["IS_CI"] = False  # CI is set on many machines that do not have the report writer that IS_CI requires


def spec(fullname: str) -> ModuleSpec | None:
    """Return the spec that loads a module of torch's test tools from PyTorch's own file, or None."""
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
