"""The checked-in stubs match the generator, and declare exactly the names that exist at run time."""

import ast
from pathlib import Path

import pytest

import undertow as ut
from tools.opgen import emit_stub, schema
from undertow import _C

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "undertow"
# What every class may have: __slotnames__ is left by copyreg, the last two by annotations from Python 3.14 on.
OBJECT = set(dir(object)) | {"__dict__", "__module__", "__weakref__", "__slotnames__", "__annotate_func__", "__annotations_cache__"}
PROTOCOL = {"__buffer__", "__release_buffer__"}  # attributes from Python 3.12 on; before that, of the buffer protocol alone
HELPERS = {"_int", "_float", "_bool", "_complex", "_type", "_T", "_device", "_layout", "_memory_format"}  # names for types, which exist only in stubs


def declared(path, inside=""):
    return emit_stub.declared((PACKAGE / path).read_text(), inside) - HELPERS


@pytest.fixture(scope="module")
def generated():
    return emit_stub.stubs(schema.load(ROOT / "ops"))


def test_the_stubs_match_the_generator(generated):
    stale = [path for path, text in generated.items() if (PACKAGE / path).read_text() != text]
    assert not stale, f"run python -m tools.opgen --stubs: {stale}"


def test_no_stub_accepts_every_name(generated):
    with_escape = [path for path in PACKAGE.rglob("*.pyi") if "def __getattr__" in path.read_text()]
    assert not with_escape


def test_the_stub_of_Tensor_declares_its_attributes():
    stub, real = declared("_C/_tensor.pyi", "Tensor") - OBJECT, set(dir(ut.Tensor)) - OBJECT
    assert stub == real


@pytest.mark.parametrize(
    "name", ["dtype", "device", "layout", "memory_format", "Size", "Generator", "UntypedStorage", "Parameter", "_NodeBase", "_FunctionBase", "SavedTensor", "_ImperativeEngine"]
)
def test_the_stub_of_a_type_declares_its_attributes(name):
    stub = declared("_C/__init__.pyi", name)
    real = {n for n in vars(getattr(_C, name)) if n not in OBJECT and not (n == "__call__" or n == "__torch_function__")}
    assert real <= stub
    assert stub - PROTOCOL <= set(dir(getattr(_C, name)))


def test_the_stub_of_the_core_declares_its_names():
    own = {n for n in dir(_C) if not (n.startswith("__") and n.endswith("__"))}
    assert declared("_C/__init__.pyi") == own


@pytest.mark.parametrize(("path", "module"), [("_C/_functions.pyi", ""), ("_C/_nn.pyi", "_nn."), ("linalg.pyi", "linalg."), ("special.pyi", "special."), ("nn/functional.pyi", "nn.functional.")])
def test_every_operator_is_declared_in_its_module(path, module):
    names = {n[len(module) :] for n in _C._ops if n.startswith(module) and "." not in n[len(module) :]}
    names = {n.removeprefix("linalg_") for n in names} if module == "linalg." else names
    stub = declared(path)
    assert names <= stub
    if module in ("", "_nn."):
        assert stub == names


def stars(path):
    """The names that a stub re-exports from modules of the package."""
    for node in ast.parse((PACKAGE / path).read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            yield from __import__(node.module, fromlist=["*"]).__all__


@pytest.mark.parametrize(("path", "module"), [("linalg.pyi", ut.linalg), ("special.pyi", ut.special), ("nn/functional.pyi", ut.nn.functional)])
def test_the_stub_of_a_module_declares_its_public_names(path, module):
    stub = {n for n in declared(path) | set(stars(path)) if not n.startswith("_")}
    assert stub - {"grad"} == set(module.__all__)


def test_the_named_tuple_classes_exist():
    names = [n for n in declared("return_types.pyi") if not n.startswith("_")]
    assert set(dir(ut.return_types)) <= set(names)
    classes = {n.name: n for n in ast.parse((PACKAGE / "return_types.pyi").read_text()).body if isinstance(n, ast.ClassDef)}
    values = ut.eye(2).max(0)
    fields = [f.name for f in classes["max"].body if isinstance(f, ast.FunctionDef)]
    assert fields == ["values", "indices"]
    assert all(hasattr(values, f) for f in fields)


def test_a_stub_has_the_real_defaults():
    text = (PACKAGE / "_C/_functions.pyi").read_text()
    assert "def softmax(input: Tensor, dim: _int, dtype: DTypeLike | None = None" in text
    assert "def cumsum(input: Tensor, dim: _int, *, dtype: DTypeLike | None = None, out: Tensor | None = None) -> Tensor: ..." in text
    assert "= ..." not in text.replace(": ...", "")
