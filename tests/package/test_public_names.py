"""The stubs that list public names agree with the names that exist at run time."""

from __future__ import annotations

import ast
import builtins
import importlib
import subprocess
import sys
import types
from pathlib import Path

import pytest

import undertow as ut
from tools import public_names
from undertow._lazy import read_stub

HERE = Path(ut.__file__).parent
STUBS = sorted(p for p in HERE.rglob("__init__.pyi") if not {"include", "lib", "_C"} & set(p.relative_to(HERE).parts))
SHIMS = "undertow.as_torch.shims"  # lists torch's private names too
PACKAGES = [".".join(("undertow", *p.parent.relative_to(HERE).parts)) for p in STUBS]


def names_by_ast(text: str) -> dict[str, str | None]:
    """The names of a stub according to Python's own parser."""
    names: dict[str, str | None] = {}
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                assert alias.asname == alias.name, f"line {statement.lineno}: a stub gives only names that are imported as themselves"
                names[alias.name] = "." * statement.level + (statement.module or "")
        elif isinstance(statement, ast.AnnAssign):
            assert isinstance(statement.target, ast.Name)
            names[statement.target.id] = None
        elif not isinstance(statement, ast.Import):  # a module that only annotations use
            assert isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant), f"line {statement.lineno}: not read by _lazy.py"
    return names


@pytest.mark.parametrize("stub", STUBS, ids=PACKAGES)
def test_the_reader_of_stubs_agrees_with_ast(stub):
    text = stub.read_text()
    assert read_stub(text) == names_by_ast(text)
    lines = [line for line in text.splitlines() if line.startswith("from ")]
    assert len(lines) == len(set(lines))


@pytest.mark.parametrize(("package", "stub"), list(zip(PACKAGES, STUBS)), ids=PACKAGES)
def test_every_name_of_a_stub_exists_with_the_declared_kind(package, stub):
    module = importlib.import_module(package)
    for name, home in read_stub(stub.read_text()).items():
        value = getattr(module, name)
        if home is None:
            continue
        if home == ".":
            expected = importlib.import_module(f"{package}.{name}")
        else:
            source = importlib.import_module(home, package)
            expected = source._ops[name] if source is ut._C and name in source._ops else getattr(source, name)
        assert value is expected or value != value, f"{package}.{name}"  # nan is not equal to itself


@pytest.mark.parametrize(("package", "stub"), list(zip(PACKAGES, STUBS)), ids=PACKAGES)
def test_dir_and_all_are_the_public_names_of_the_stub(package, stub):
    module = importlib.import_module(package)
    names = read_stub(stub.read_text())
    public = sorted(name for name in names if not name.startswith("_"))
    assert module.__all__ == (sorted(names) if package == SHIMS else public)
    assert [name for name in dir(module) if not name.startswith("_")] == public


@pytest.mark.parametrize(("package", "stub"), list(zip(PACKAGES, STUBS)), ids=PACKAGES)
def test_a_fresh_package_has_no_public_name_that_its_stub_does_not_list(package, stub):
    code = f"import {package}, sys; print(*[n for n, v in vars(sys.modules['{package}']).items() if n[0] != '_' and type(v) is not type(sys)])"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not set(found) - set(read_stub(stub.read_text()))


def test_the_generated_files_are_up_to_date():
    """In a process of its own: operators that other tests register are public names too."""
    if not (public_names.ROOT / "undertow").samefile(HERE):
        assert (HERE / "__init__.pyi").read_text() == public_names.written_stub()
    code = f"import sys; sys.path.append({str(public_names.ROOT)!r}); from tools import public_names; sys.exit(public_names.main(['--check']))"
    check = subprocess.run([sys.executable, "-c", code], cwd=HERE.parent, capture_output=True, text=True)
    assert check.returncode == 0, check.stdout + check.stderr


def test_import_star_gives_the_public_names():
    before = dict(vars(builtins))
    names: dict[str, object] = {}
    exec("from undertow import *", names)
    assert set(ut.__all__) <= set(names) and names["nn"] is ut.nn and names["zeros"] is ut.zeros
    assert not [name for name in names if name.startswith("_") and name not in ("__builtins__",)]
    assert dict(vars(builtins)) == before


@pytest.mark.parametrize("module", ["undertow", "undertow.autograd", "undertow.nn", "undertow.optim", "undertow.linalg", "undertow.nn.functional"])
def test_no_private_name_is_in_all(module):
    assert not [name for name in importlib.import_module(module).__all__ if name.startswith("_")]


def test_tools_for_watching_a_graph_can_be_completed():
    assert {"explain_grad", "saved_tensors_report", "profiler", "functional"} <= set(dir(ut.autograd))
    assert isinstance(ut.autograd.profiler, types.ModuleType) and callable(ut.autograd.explain_grad)


def test_an_editor_completes_lazy_names():
    jedi = pytest.importorskip("jedi")
    code = "import undertow as ut\nut.autograd."
    static = {c.name for c in jedi.Script(code, path="program.py").complete()}  # an editor: reads the stub
    alive = {c.name for c in jedi.Interpreter("ut.autograd.", [{"ut": ut}]).complete()}  # Jupyter: asks dir()
    for found in (static, alive):
        assert {"explain_grad", "saved_tensors_report", "profiler", "functional"} <= found
