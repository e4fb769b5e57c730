"""Each folder of core/ includes only lower layers; only core/python uses Python; the package imports only itself.

docs/architecture.md describes the layers. A lower layer that needs a higher one declares the function below and defines it above.
"""
from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

from .files import text

USES = {
    "base": set(),
    "tensor": {"base"},
    "kernels": {"base", "tensor"},  # what a device is; kernels/<device> is how one computes
    "kernels/cpu": {"base", "tensor", "kernels"},
    "kernels/meta": {"base", "tensor", "kernels"},
    "kernels/cuda": {"base", "tensor", "kernels"},  # a library of its own
    "forward": {"base", "tensor", "kernels", "generated/fwd"},
    "graph": {"base", "tensor"},
    "autograd": {"base", "tensor", "kernels", "forward", "graph", "generated/fwd", "generated/ops"},
    "api": {"base", "tensor", "kernels", "forward", "graph", "autograd", "generated/ops"},  # the C++ API: <undertow/...>
    "python": {"base", "tensor", "kernels", "forward", "graph", "autograd", "api", "generated/fwd", "generated/ops", "generated/bindings"},
}
REGISTERS_DEVICES = Path("core/kernels/backends.cpp")  # the one file that names every device
# Only backends access elements, and the direct path of small pointwise operations.
READS_ELEMENTS = re.compile(r"\bdata_as<|\.data\(\)\s*\+|\bparallel_for\(")
DIRECT_PATH = {Path("core/forward/pointwise/pointwise.h"), Path("core/forward/pointwise/pointwise.cpp")}
# Above the kernels nobody asks for meta: what a device can do is a field of its Backend. The words of torch's error about
# operands on several devices name it.
NAMES_META = re.compile(r"\bis_meta\(\)|DeviceType::Meta\b")
WORDS_FOR_META = Path("core/autograd/recording.cpp")
# Headers that extensions of Python include; nothing of the library does.
FOR_EXTENSIONS = {Path("core/api/undertow") / f"{name}.h" for name in ("extension/python_api", "python", "pybind11", "nanobind", "extension")}
RUNTIME = {"numpy"}  # may be imported by undertow/, but only inside functions, so that importing undertow stays cheap
LOADED_ON_REQUEST = {"testing", "tensorboard"}  # sub-packages that `import undertow` does not load
# Modules that need an optional package, and are loaded only where it is used: by a setup.py, and for a terminal.
NEEDS_PACKAGE = {("setuptools", Path("undertow/utils/_extension_setup.py")), ("textual", Path("undertow/inspect/_terminal.py"))}
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^">]+)[">]', re.M)


def layer_of(include: str) -> str | None:
    parts = include.split("/")
    if parts[0] == "core":
        return f"kernels/{parts[2]}" if parts[1] == "kernels" and len(parts) > 3 else parts[1]
    if parts[0] == "generated":
        return "generated/" + re.split(r"[_.]", parts[1])[0]
    return None


def check_core(path: Path) -> list[str]:
    layer = layer_of(path.as_posix())
    if layer not in USES:
        return [f"{path}: the folder core/{layer} is not in the table of tools/lint/layers.py"]
    out = []
    for include in INCLUDE.findall(text(path)):
        used = layer_of(include)
        if used and used != layer and used not in USES[layer] and path != REGISTERS_DEVICES:
            out.append(f"{path}: core/{layer} may not include {include}")
        if include.startswith(("Python.h", "pybind", "nanobind", "numpy/")) and layer != "python" and path not in FOR_EXTENSIONS:
            out.append(f"{path}: only core/python may know Python, but it includes {include}")
    if layer in ("forward", "autograd") and path not in DIRECT_PATH and READS_ELEMENTS.search(text(path)):
        out.append(f"{path}: reads or writes elements; that belongs in a kernel, reached through backend_of(tensor)")
    if layer in ("forward", "autograd") and path != WORDS_FOR_META and NAMES_META.search(text(path)):
        out.append(f"{path}: names the device meta; ask for what its Backend can do, as fwd::has_elements(tensor) does")
    return out


def check_program(path: Path, files: set[Path]) -> list[str]:
    """A program outside core/, which the build may not compile, includes headers that exist."""
    found = [i for i in INCLUDE.findall(text(path)) if i.startswith("core/")]
    return [f"{path}: includes {i}, which does not exist" for i in found if Path(i) not in files]


def imports(tree: ast.AST) -> list[tuple[str, bool, int]]:
    """Top names of modules, whether imported while the module loads, and the line."""
    found: list[tuple[str, bool, int]] = []

    def walk(node: ast.AST, loading: bool) -> None:
        if isinstance(node, ast.Import):
            found.extend((a.name.split(".")[0], loading, node.lineno) for a in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.append(((node.module or "").split(".")[0], loading, node.lineno))
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        inside = loading and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for child in ast.iter_child_nodes(node):
            walk(child, inside)

    walk(tree, True)
    return found


def check_python(path: Path, allowed: set[str]) -> list[str]:
    out = []
    for name, loading, line in imports(ast.parse(text(path))):
        if name in sys.stdlib_module_names or name in allowed or name == "__future__":
            continue
        if name in RUNTIME and allowed == {"undertow"}:
            if loading and not LOADED_ON_REQUEST.intersection(path.parts):
                out.append(f"{path}:{line}: imports {name} while loading; import it where it is used")
            continue
        if allowed == {"undertow"} and (not loading or name in path.parts or (name, path) in NEEDS_PACKAGE):
            continue  # optional packages, imported by name; a folder with such a name is only for that package
        out.append(f"{path}:{line}: may not import {name}")
    return out


def check(files: list[Path]) -> list[str]:
    out = []
    for path in files:
        if path.parts[0] == "core" and path.suffix in (".h", ".cpp"):
            out += check_core(path)
        elif path.suffix in (".h", ".cpp"):
            out += check_program(path, set(files))
        elif path.parts[0] == "undertow" and path.suffix == ".py":
            out += check_python(path, {"undertow"})
        elif path.parts[:2] in (("tools", "opgen"), ("tools", "lint")) and path.suffix == ".py":
            out += check_python(path, {"tools"})
    return out
