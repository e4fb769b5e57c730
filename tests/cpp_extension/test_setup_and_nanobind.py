"""An extension built by a setup.py, one bound with nanobind, and a library of operators alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import undertow as ut
from undertow.utils import cpp_extension

pytestmark = pytest.mark.slow

SETUP = """
from setuptools import setup
from undertow.utils.cpp_extension import BuildExtension, CppExtension
setup(
    name="ut_setup_demo",
    ext_modules=[CppExtension("ut_setup_demo", ["demo.cpp", "more.cpp"], extra_compile_args={{"cxx": ["-O0", "-std=c++17"]}})],
    cmdclass={{"build_ext": BuildExtension.with_options(use_ninja={ninja}, no_python_abi_suffix=True)}},
)
"""
DEMO = """
#include <undertow/library.h>
#include <undertow/undertow.h>
#define PY_SSIZE_T_CLEAN
#include <Python.h>
undertow::Tensor more(const undertow::Tensor& x);
UNDERTOW_LIBRARY(ut_setup_demo, m) { m.def("more", &more); }
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "ut_setup_demo", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};
PyMODINIT_FUNC PyInit_ut_setup_demo() { return PyModule_Create(&definition); }
"""
MORE = "#include <undertow/undertow.h>\nundertow::Tensor more(const undertow::Tensor& x) { return x + 41; }\n"
NANOBIND = """
#include <undertow/undertow.h>
#include <undertow/nanobind.h>
using namespace undertow;
Tensor weighted(const std::vector<Tensor>& list, const Scalar& s, std::optional<Tensor> extra, ScalarType t, IntArrayRef sizes, const Device& d) {
  Tensor out = zeros(sizes, TensorOptions(t).device(d));
  for (const Tensor& x : list) out = out + x * s;
  return extra ? out + *extra : out;
}
void fail(int64_t i) { UT_CHECK_INDEX(i < 3, "index ", i, " is too large"); }
NB_MODULE(ut_nanobind_demo, m) {
  undertow::python::register_nanobind_errors();
  m.def("same", [](const Tensor& x) { return x; });
  m.def("weighted", &weighted, nanobind::arg("list"), nanobind::arg("s"), nanobind::arg("extra").none(), nanobind::arg("t"), nanobind::arg("sizes"),
        nanobind::arg("d"), nanobind::call_guard<undertow::python::GilRelease>());
  m.def("fail", &fail);
  m.def("scalar", [](const Scalar& s) { return s; });
  m.def("dtype", [](const Tensor& x) { return x.scalar_type(); });
}
"""
LIBRARY = """
#include <undertow/undertow.h>
#include <undertow/library.h>
UNDERTOW_LIBRARY(ut_plain_library, m) { m.def("twice(Tensor x) -> Tensor", [](const undertow::Tensor& x) { return x * 2; }); }
"""
BAD_LIBRARY = """
#include <undertow/undertow.h>
#include <undertow/library.h>
UNDERTOW_LIBRARY(ut_bad_library, m) { m.def("no schema at all"); }
"""


def private(folder):
    folder.chmod(0o700)
    return folder


@pytest.mark.parametrize("ninja", [True, False])
def test_a_setup_script_builds_an_extension(tmp_path, ninja):
    (tmp_path / "setup.py").write_text(SETUP.format(ninja=ninja))
    (tmp_path / "demo.cpp").write_text(DEMO)
    (tmp_path / "more.cpp").write_text(MORE)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(ut.__file__).parents[1])])}
    done = subprocess.run(
        [sys.executable, "setup.py", "build_ext", "--inplace"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "ut_setup_demo.so").exists()
    use = "import undertow as ut, ut_setup_demo; print(ut.ops.ut_setup_demo.more(ut.ones(1)).item())"
    done = subprocess.run([sys.executable, "-c", use], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "42.0", done.stderr


def test_nanobind_converts_the_same_types(tmp_path):
    pytest.importorskip("nanobind")
    module = cpp_extension.load_inline(
        "ut_nanobind_demo", NANOBIND, build_directory=str(private(tmp_path)), no_implicit_headers=True, extra_cflags=["-O0"], use_pch=False
    )
    x = ut.ones(2)
    assert module.same(x) is x
    out = module.weighted([x, x], 1.5, None, ut.float32, [2], ut.device("cpu"))
    assert out.tolist() == [3.0, 3.0]
    assert module.weighted([], 1, x, ut.float64, (2,), "cpu").tolist() == [1.0, 1.0]
    with pytest.raises(IndexError, match="index 5 is too large"):
        module.fail(5)
    with pytest.raises(TypeError, match="undertow.Tensor"):
        module.same(3)
    assert [module.scalar(v) for v in (True, 2, 0.5, 1j)] == [True, 2, 0.5, 1j]
    assert module.dtype(x) is ut.float32


def test_a_library_without_a_module_is_loaded_for_its_operators(tmp_path):
    path = cpp_extension.load_inline(
        "ut_plain_library", LIBRARY, build_directory=str(private(tmp_path)), no_implicit_headers=True, extra_cflags=["-O0"], is_python_module=False
    )
    assert path in ut.ops.loaded_libraries
    assert ut.ops.ut_plain_library.twice(ut.ones(2)).tolist() == [2.0, 2.0]
    ut.ops.load_library(path)  # a second time does nothing


def test_an_operator_that_cannot_be_registered_raises_when_the_library_is_loaded(tmp_path):
    with pytest.raises(RuntimeError, match="a schema must be like"):
        cpp_extension.load_inline(
            "ut_bad_library", BAD_LIBRARY, build_directory=str(private(tmp_path)), no_implicit_headers=True, extra_cflags=["-O0"], is_python_module=False
        )
