"""The build cache of extensions: what is compiled again, who waits for whom, and which folders raise. The sources need no header of ours."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import undertow as ut
from undertow.utils import _extension_build, cpp_extension

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs POSIX")

MODULE = """
#define PY_SSIZE_T_CLEAN
#include <Python.h>
{more}
static PyObject* answer(PyObject*, PyObject*) {{ return PyLong_FromLong({value}); }}
static PyMethodDef methods[] = {{{{"answer", answer, METH_NOARGS, nullptr}}, {{nullptr, nullptr, 0, nullptr}}}};
static PyModuleDef definition = {{PyModuleDef_HEAD_INIT, "{name}", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr}};
PyMODINIT_FUNC PyInit_{name}() {{ return PyModule_Create(&definition); }}
"""


def source(name="tiny", value="42", more=""):
    return MODULE.format(name=name, value=value, more=more)


def build(folder, text, name="tiny", **options):
    return cpp_extension.load_inline(name, text, build_directory=str(folder), no_implicit_headers=True, **options)


@pytest.fixture
def compilations(tmp_path, monkeypatch):
    """Return a function that says how often the compiler was run to compile."""
    log = tmp_path / "compilations"
    log.write_text("")
    script = tmp_path / "cxx"
    script.write_text(f'#!/bin/sh\nfor a in "$@"; do [ "$a" = -c ] && echo x >> {log}; done\nexec c++ "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    return lambda: len(log.read_text().splitlines())


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "build"
    made.mkdir(mode=0o700)
    return made


def test_the_same_source_is_compiled_once(folder, compilations):
    assert build(folder, source()).answer() == 42
    assert build(folder, source()).answer() == 42
    assert compilations() == 1


def test_another_source_flag_or_name_is_another_build(folder, compilations):
    assert build(folder, source(value="VALUE"), extra_cflags=["-DVALUE=1"]).answer() == 1
    assert build(folder, source(value="VALUE"), extra_cflags=["-DVALUE=2"]).answer() == 2
    assert build(folder, source(value="3")).answer() == 3
    assert build(folder, source(name="other"), name="other").answer() == 42
    assert compilations() == 4


def test_a_changed_header_of_the_user_is_compiled_again(folder, tmp_path, compilations):
    header = tmp_path / "value.h"
    main = tmp_path / "main.cpp"
    main.write_text(source(value="VALUE", more='#include "value.h"'))
    for value, expected in ((5, 1), (5, 1), (6, 2)):
        header.write_text(f"#define VALUE {value}\n")
        module = cpp_extension.load("tiny", [str(main)], build_directory=str(folder))
        assert (module.answer(), compilations()) == (value, expected)


def test_several_sources_make_one_module(folder, tmp_path):
    (tmp_path / "a.cpp").write_text(source(value="helper()", more="long helper();"))
    (tmp_path / "b.cpp").write_text("long helper() { return 7; }\n")
    module = cpp_extension.load("tiny", [str(tmp_path / "a.cpp"), str(tmp_path / "b.cpp")], build_directory=str(folder))
    assert module.answer() == 7


def test_a_replaced_library_is_not_loaded_but_built_again(folder, compilations):
    path = build(folder, source()).__file__
    os.remove(path)  # a loaded library must not be written to
    Path(path).write_bytes(b"not what was built")
    assert build(folder, source()).answer() == 42
    assert compilations() == 2


def test_a_build_that_was_interrupted_leaves_nothing_that_is_used(folder, compilations):
    path = build(folder, source()).__file__
    os.remove(os.path.join(os.path.dirname(path), "manifest.json"))
    assert build(folder, source()).answer() == 42
    assert compilations() == 2


def test_a_folder_that_everybody_can_write_to_is_refused(folder):
    folder.chmod(0o777)
    with pytest.raises(RuntimeError, match="writable by every user"):
        build(folder, source())
    folder.chmod(0o700)
    made = Path(build(folder, source()).__file__).parent
    made.chmod(0o777)
    with pytest.raises(RuntimeError, match="writable by every user"):
        build(folder, source())


def test_a_folder_below_one_that_everybody_can_write_to_is_refused(tmp_path):
    outer = tmp_path / "open"
    (outer / "inner").mkdir(parents=True)
    outer.chmod(0o777)
    with pytest.raises(RuntimeError, match="writable by every user"):
        build(outer / "inner", source())
    outer.chmod(0o1777)  # like /tmp: others cannot replace what is not theirs
    assert _extension_build.check_folder(str(outer / "inner")) == os.path.realpath(outer / "inner")


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(folder):
    os.chown(folder, 12345, 12345)
    with pytest.raises(RuntimeError, match="belongs to user 12345"):
        build(folder, source())


def test_the_default_folder_is_private(tmp_path, monkeypatch):
    monkeypatch.setenv("UNDERTOW_EXTENSIONS_DIR", str(tmp_path / "cache" / "extensions"))
    assert cpp_extension.get_default_build_root() == os.path.realpath(tmp_path / "cache" / "extensions")
    module = cpp_extension.load_inline("tiny", source(), no_implicit_headers=True)
    assert module.answer() == 42
    inside = Path(module.__file__)
    while inside != tmp_path / "cache":
        inside = inside.parent
        assert stat.S_IMODE(inside.stat().st_mode) == 0o700, inside


def test_without_an_environment_variable_the_default_folder_is_in_the_users_cache(monkeypatch):
    monkeypatch.delenv("UNDERTOW_EXTENSIONS_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/home/somebody/cache")
    assert cpp_extension.get_default_build_root() == "/home/somebody/cache/undertow_extensions"


def test_a_lock_that_is_a_link_is_not_followed(folder, tmp_path):
    (folder / ".tiny.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="lock"):
        build(folder, source())
    assert not (tmp_path / "elsewhere").exists()


def test_processes_that_build_the_same_name_wait_for_each_other(folder, tmp_path, compilations):
    (tmp_path / "main.cpp").write_text(source())
    program = (
        "import sys\nfrom undertow.utils import cpp_extension\n"
        f"print(cpp_extension.load('tiny', [{str(tmp_path / 'main.cpp')!r}], build_directory={str(folder)!r}).answer())\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(ut.__file__).parents[1])}
    running = [subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [p.communicate()[0].strip() for p in running] == ["42"] * 3
    assert compilations() == 1


def test_a_compiler_error_is_in_the_exception(folder):
    with pytest.raises(RuntimeError, match=r"Error building extension 'tiny': compiling main.cpp failed") as caught:
        build(folder, source(value="no_such_name"))
    assert "no_such_name" in str(caught.value) and "main.cpp:" in str(caught.value) and "The command was:" in str(caught.value)
    assert [p.name for p in folder.iterdir()] == [".tiny.lock"]


def test_a_linker_error_is_in_the_exception(folder):
    with pytest.raises(RuntimeError, match="linking failed") as caught:
        build(folder, source(), extra_ldflags=["-lno_such_library_anywhere"])
    assert "no_such_library_anywhere" in str(caught.value)


def test_a_missing_compiler_is_named(folder, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(RuntimeError, match="'no-such-compiler' was not found; install g\\+\\+"):
        build(folder, source())


def test_a_missing_build_directory_raises(tmp_path):
    with pytest.raises(FileNotFoundError, match="create it first"):
        build(tmp_path / "missing", source())


def test_missing_headers_of_pybind11_say_how_to_install_it(folder, monkeypatch):
    found = cpp_extension.importlib.util.find_spec
    monkeypatch.setattr(cpp_extension.importlib.util, "find_spec", lambda name: None if name == "pybind11" else found(name))
    with pytest.raises(ModuleNotFoundError, match="pip install pybind11"):
        cpp_extension.load_inline("tiny", "int f() { return 1; }", functions=["f"], build_directory=str(folder))


@pytest.mark.parametrize("name", ["", "a-b", "a/b", "../up", "1x"])
def test_a_name_that_is_no_identifier_raises(folder, name):
    with pytest.raises(ValueError, match="Python identifier"):
        build(folder, source(), name=name)


def test_a_function_name_that_is_none_raises(folder):
    with pytest.raises(ValueError, match="must name C\\+\\+ functions"):
        build(folder, "", functions=['f"); system("x'])


def test_cuda_is_refused(folder, tmp_path):
    with pytest.raises(RuntimeError, match="no CUDA backend"):
        cpp_extension.CUDAExtension("x", ["a.cpp", "b.cu"])
    with pytest.raises(RuntimeError, match="no CUDA backend"):
        cpp_extension.load("x", [str(tmp_path / "kernel.cu")], build_directory=str(folder))
    with pytest.raises(RuntimeError, match="no CUDA backend"):
        cpp_extension.load_inline("x", "", cuda_sources="", with_cuda=True, build_directory=str(folder))
    with pytest.raises(ValueError, match="no cuda backend"):
        cpp_extension.include_paths("cuda")


def test_a_program_is_built_and_its_path_returned(folder, tmp_path):
    (tmp_path / "main.cpp").write_text('#include <cstdio>\nint main() { std::puts("hello"); }\n')
    path = cpp_extension.load("program", [str(tmp_path / "main.cpp")], build_directory=str(folder), is_python_module=False, is_standalone=True)
    assert subprocess.run([path], capture_output=True, text=True, check=True).stdout == "hello\n"


def test_an_older_standard_becomes_the_one_that_the_headers_need():
    assert cpp_extension._with_standard(["-O3", "-std=c++14"]) == ["-std=c++20", "-O3"]
    assert cpp_extension._with_standard(["-std=c++23"]) == ["-std=c++23"]


def test_compilers_are_recognised():
    assert cpp_extension.check_compiler_ok_for_platform(cpp_extension.get_cxx_compiler())
    assert not cpp_extension.check_compiler_ok_for_platform("no-such-compiler")
    ok, version = cpp_extension.get_compiler_abi_compatibility_and_version(cpp_extension.get_cxx_compiler())
    assert ok and version >= (11,)
