"""Extensions in C++, like `torch.utils.cpp_extension`: compile a function on tensors and call it from Python.

`load_inline` and `load` compile when they are called and keep the result (Note [Build Cache] in `_extension_build.py`). `CppExtension` and
`BuildExtension` are for a setup.py. See docs/cpp_extensions.md.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys

from undertow.utils import _extension_build as _build
from undertow.utils._extension_build import get_cxx_compiler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType
    from typing import Any

__all__ = [
    "BuildExtension",  # noqa: F822  by __getattr__
    "CUDAExtension",
    "CppExtension",
    "SyclExtension",
    "check_compiler_is_gcc",
    "check_compiler_ok_for_platform",
    "cmake_prefix_path",
    "get_compiler_abi_compatibility_and_version",
    "get_cxx_compiler",
    "get_default_build_root",
    "include_paths",
    "is_ninja_available",
    "library_paths",
    "load",
    "load_inline",
    "remove_extension_h_precompiler_headers",
    "verify_ninja_availability",
]

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_NO_GPU = "Undertow has no {0} backend, so it does not compile {0} code; {1}"
_STANDARD = "-std=c++20"
CUDA_HOME = ROCM_HOME = SYCL_HOME = CUDNN_HOME = None
IS_WINDOWS = False


def _for_torch_programs() -> bool:
    """Return True if `import torch` imports Undertow; then `#include <torch/extension.h>` finds our header."""
    found = sys.modules.get("undertow.as_torch")
    return found is not None and bool(found.installed())


def _library() -> str:
    return os.path.join(_ROOT, "lib", "libundertow.dylib" if sys.platform == "darwin" else "libundertow.so")


def include_paths(device_type: str = "cpu", torch_include_dirs: bool = True) -> list[str]:
    """Return the folders for the compiler's -I, in which `<undertow/undertow.h>` is found.

    While as_torch is installed, `<torch/extension.h>` and `<torch/torch.h>` are found in them too.
    """
    if device_type != "cpu":
        raise ValueError(_NO_GPU.format(device_type, "device_type must be 'cpu'"))
    if not torch_include_dirs:
        return []
    installed = os.path.join(_ROOT, "include")
    if os.path.isdir(installed):
        return [installed, *([os.path.join(installed, "as_torch")] if _for_torch_programs() else [])]
    # The source tree, after a build in place.
    source, build = os.path.dirname(_ROOT), os.path.dirname(os.path.realpath(_library()))
    api = os.path.join(source, "core", "api")
    torchs = [os.path.join(api, "as_torch"), os.path.join(build, "as_torch")] if _for_torch_programs() else []
    return [api, os.path.join(build, "generated"), source, build, *torchs]


def library_paths(device_type: str = "cpu", torch_include_dirs: bool = True, cross_target_platform: str | None = None) -> list[str]:
    """Return the folders for the linker's -L; the library is `undertow`."""
    if device_type != "cpu":
        raise ValueError(_NO_GPU.format(device_type, "device_type must be 'cpu'"))
    return [os.path.join(_ROOT, "lib")] if torch_include_dirs else []


def cmake_prefix_path() -> str:
    """Return the path for `cmake -DCMAKE_PREFIX_PATH=...`, so that find_package(undertow) provides the target undertow::undertow."""
    return os.path.join(_ROOT, "share", "cmake", "undertow")


def get_default_build_root() -> str:
    """Return the folder of extensions that are built without `build_directory`: `$UNDERTOW_EXTENSIONS_DIR`, or one in the user's cache folder.

    It belongs to the user alone; a folder that others can write to raises an error.
    """
    given = os.environ.get("UNDERTOW_EXTENSIONS_DIR") or (os.environ.get("TORCH_EXTENSIONS_DIR") if _for_torch_programs() else None)
    if given:
        return os.path.realpath(os.path.expanduser(given))
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.realpath(os.path.join(cache, "undertow_extensions"))


def _python_tag() -> str:
    return f"py{sys.version_info.major}{sys.version_info.minor}{getattr(sys, 'abiflags', '')}_cpu"


def is_ninja_available() -> bool:
    """Return True if ninja can be run."""
    import shutil

    return shutil.which("ninja") is not None


def verify_ninja_availability() -> None:
    """Raise RuntimeError if ninja cannot be run."""
    if not is_ninja_available():
        raise RuntimeError("Ninja is required to load C++ extensions (pip install ninja to get it)")


def check_compiler_is_gcc(compiler: str) -> bool:
    """Return True if the command is GCC's C++ compiler."""
    import subprocess

    try:
        out = subprocess.run([compiler, "--version"], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout
    except OSError:
        return False
    return "Free Software Foundation" in out or "g++" in out.split("\n")[0]


def check_compiler_ok_for_platform(compiler: str) -> bool:
    """Return True if the command is a C++ compiler that extensions can be built with: GCC or Clang."""
    import shutil
    import subprocess

    if shutil.which(compiler) is None:
        return False
    return check_compiler_is_gcc(compiler) or "clang" in subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout


def get_compiler_abi_compatibility_and_version(compiler: str) -> tuple[bool, tuple[int, ...]]:
    """Return whether the compiler can build extensions, and its version. GCC 11 and Clang 14 are the first with the C++20 that the headers need."""
    import subprocess

    if not check_compiler_ok_for_platform(compiler):
        return False, (0,)
    is_gcc = check_compiler_is_gcc(compiler)
    out = subprocess.run([compiler, "-dumpfullversion", "-dumpversion"] if is_gcc else [compiler, "--version"], capture_output=True, text=True).stdout
    found = re.search(r"(\d+(?:\.\d+)*)", out)
    version = tuple(map(int, found.group(1).split("."))) if found else (0,)
    return version >= ((11,) if is_gcc else (14,)), version


def remove_extension_h_precompiler_headers() -> None:
    """Remove the precompiled headers in the default build folder. They are built again when they are needed."""
    import shutil

    root = os.path.join(get_default_build_root(), _python_tag())
    for name in os.listdir(root) if os.path.isdir(root) else []:
        if name.startswith("headers-"):
            shutil.rmtree(os.path.join(root, name))


def _stamp() -> str:
    """Return a hash of Undertow's version, its library and its headers (by time and size), and of this Python."""
    import undertow

    parts = [undertow.__version__, sys.version]
    found = os.stat(_library())
    parts.append(f"{found.st_size} {found.st_mtime_ns}")
    installed = os.path.join(_ROOT, "include")
    for top in [installed] if os.path.isdir(installed) else include_paths()[:2]:
        for folder, _, names in sorted(os.walk(top)):
            for path in (os.path.join(folder, n) for n in sorted(names) if n.endswith((".h", ".inc"))):
                found = os.stat(path)
                parts.append(f"{path} {found.st_size} {found.st_mtime_ns}")
    return _build.hash_of(*parts)


def _binding_includes(text: str) -> list[str]:
    """Return the flags for the headers of pybind11 and nanobind that the sources ask for; raise if pybind11 is needed and not installed."""
    flags = []
    for package, wanted in (("pybind11", r"pybind11|<(torch|undertow)/extension\.h>|PYBIND11_MODULE"), ("nanobind", r"nanobind|NB_MODULE")):
        asked = re.search(wanted, text) is not None
        if not asked and package == "nanobind":
            continue
        spec = importlib.util.find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            if not asked:
                continue  # a header of the user's may still ask for it; then undertow/pybind11.h says what is missing
            raise ModuleNotFoundError(
                f"cpp_extension: the sources use {package}, whose headers are not installed; run `python -m pip install {package}`", name=package
            )
        root = spec.submodule_search_locations[0]
        flags += ["-isystem", os.path.join(root, "include")]
        if package == "nanobind":
            flags += ["-isystem", os.path.join(root, "ext", "robin_map", "include"), "-fno-strict-aliasing"]
    return flags


def _binding_sources(text: str) -> list[str]:
    """Return the sources that the sources need to be linked with: nanobind is not only headers."""
    if not re.search(r"\bNB_MODULE\b", text):
        return []
    spec = importlib.util.find_spec("nanobind")
    assert spec is not None and spec.submodule_search_locations is not None  # _binding_includes has found it
    return [os.path.join(spec.submodule_search_locations[0], "src", "nb_combined.cpp")]


def _flags(name: str, text: str, extra: Sequence[str], includes: Sequence[str]) -> list[str]:
    """Return the compiler's flags for sources with the given text."""
    own = [f for path in include_paths() for f in ("-isystem", path)]
    user = [f for path in includes for f in ("-I", os.path.abspath(path))]
    define = [f"-DTORCH_EXTENSION_NAME={name}", f"-DUNDERTOW_EXTENSION_NAME={name}", "-DTORCH_API_INCLUDE_EXTENSION_H"]
    return [*define, *user, *own, *_build.python_include(), *_binding_includes(text), "-fPIC", "-O1", "-fvisibility=hidden", *_with_standard(extra)]


def _with_standard(flags: Sequence[str]) -> list[str]:
    """Return the flags with the C++ standard that our headers need; a newer one stays."""
    kept = [f for f in flags if not re.fullmatch(r"-std=(c|gnu)\+\+(98|03|0x|11|14|17|1[yz])", f)]
    return kept if any(f.startswith("-std=") for f in kept) else [_STANDARD, *kept]


def _links(extra: Sequence[str]) -> list[str]:
    paths = [f for p in library_paths() for f in (f"-L{p}", f"-Wl,-rpath,{p}")]
    return [*paths, "-lundertow", *extra]


def _refuse_gpu(cuda: Any, sycl: Any, sources: Sequence[str]) -> None:
    for what, asked in (("CUDA", cuda), ("SYCL", sycl)):
        if asked:
            raise RuntimeError(_NO_GPU.format(what, "leave out with_cuda, with_sycl and their sources"))
    for path in sources:
        if os.path.splitext(path)[1] in (".cu", ".cuh", ".hip", ".sycl"):
            raise RuntimeError(_NO_GPU.format("CUDA", f"but got the source {path}"))


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"cpp_extension: the name of an extension must be a Python identifier, got {name!r}")


def _built(
    name: str,
    sources: list[str],
    inline: dict[str, str],
    cflags: Any,
    ldflags: Any,
    includes: Any,
    folder: str | None,
    verbose: bool,
    kind: str,
    pch: bool,
) -> str:
    _check_name(name)
    text = "\n".join(inline.values())
    for path in sources:
        with open(path, encoding="utf-8", errors="replace") as file:
            text += file.read()
    flags = _flags(name, text, cflags or [], includes or [])
    sources = [*sources, *_binding_sources(text)]
    compiler = _build.Compiler()
    stamp = _stamp()
    if folder is None:
        root = _build.make_folder(os.path.join(_build.make_folder(get_default_build_root()), _python_tag()))
        headers, folder = root, _build.make_folder(os.path.join(root, name))
    else:
        if not os.path.isdir(folder):  # as torch
            raise FileNotFoundError(f"cpp_extension: build_directory={folder!r} is not a folder; create it first")
        headers = folder = _build.check_folder(folder)
    ahead: list[str] = []
    header = re.match(r"(?:\s|//[^\n]*\n|/\*.*?\*/)*#include\s*<((?:undertow|torch)/(?:extension|undertow|torch)\.h)>", text, re.DOTALL)
    if pch and header:
        shared = [f for f in flags if not f.startswith(("-DTORCH_EXTENSION_NAME", "-DUNDERTOW_EXTENSION_NAME"))]
        ahead = _build.precompiled(headers, compiler, header.group(1), shared, stamp, verbose)
    build = _build.Build(name, folder, compiler, [*ahead, *flags], _links(ldflags or []), stamp, verbose)
    build.suffix = ".so" if kind != "program" else ""
    if kind == "program":
        build.output_flags = []
    return build.finish(sources, inline)


def _import(name: str, path: str) -> ModuleType:
    from undertow import _C

    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if errors := _C._library_errors():
        raise RuntimeError(f"{name}: an operator could not be registered: {'; '.join(errors)}")
    return module


def _delivered(name: str, path: str, kind: str) -> Any:
    if kind == "module":
        return _import(name, path)
    if kind == "library":
        from undertow import ops

        ops.load_library(path)
    return path


def _kind(is_python_module: bool, is_standalone: bool) -> str:
    return "program" if is_standalone else "module" if is_python_module else "library"


def load(
    name: str,
    sources: str | Sequence[str],
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_sycl_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: str | Sequence[str] | None = None,
    build_directory: str | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    with_sycl: bool | None = None,
    is_python_module: bool = True,
    is_standalone: bool = False,
    keep_intermediates: bool = True,
    use_pch: bool = True,
) -> Any:
    """Compile C++ files and return the Python module that they define (`PYBIND11_MODULE(UNDERTOW_EXTENSION_NAME, m)`).

    With `is_python_module=False` the library is loaded for the operators that it registers, and with `is_standalone=True` the result is a
    program; both return the path. A second call with the same sources, headers, flags and compiler uses the first one's result.
    """
    sources = [sources] if isinstance(sources, str) else [os.fspath(s) for s in sources]
    includes = [extra_include_paths] if isinstance(extra_include_paths, str) else extra_include_paths
    _refuse_gpu(with_cuda, with_sycl, sources)
    kind = _kind(is_python_module, is_standalone)
    path = _built(name, sources, {}, extra_cflags, extra_ldflags, includes, build_directory, verbose, kind, use_pch)
    return _delivered(name, path, kind)


def load_inline(
    name: str,
    cpp_sources: str | Sequence[str],
    cuda_sources: Any = None,
    sycl_sources: Any = None,
    functions: str | Sequence[str] | Mapping[str, str] | None = None,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_sycl_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: str | Sequence[str] | None = None,
    build_directory: str | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    with_sycl: bool | None = None,
    is_python_module: bool = True,
    with_pytorch_error_handling: bool = True,
    keep_intermediates: bool = True,
    use_pch: bool = True,
    no_implicit_headers: bool = False,
) -> Any:
    """Compile C++ source text and return a module with the named functions; see `load`.

    `functions` names the functions to bind, or maps their names to docstrings. The first line of the source is `#include <undertow/extension.h>`
    (`<torch/extension.h>` under as_torch) unless `no_implicit_headers` is true.
    """
    _refuse_gpu(with_cuda or cuda_sources, with_sycl or sycl_sources, [])
    texts = [cpp_sources] if isinstance(cpp_sources, str) else list(cpp_sources)
    named = {functions: functions} if isinstance(functions, str) else functions
    docs: dict[str, str] = dict(named) if isinstance(named, dict) else {f: f for f in named or []}
    if docs and not is_python_module:
        raise ValueError("load_inline: functions= binds functions to a Python module, so it needs is_python_module=True")
    if not no_implicit_headers:
        texts.insert(0, "#include <torch/extension.h>\n" if _for_torch_programs() else "#include <undertow/extension.h>\n")
    if docs:
        texts.append(_module_source(docs))
    includes = [extra_include_paths] if isinstance(extra_include_paths, str) else extra_include_paths
    kind = _kind(is_python_module, False)
    path = _built(name, [], {"main.cpp": "\n".join(texts)}, extra_cflags, extra_ldflags, includes, build_directory, verbose, kind, use_pch)
    return _delivered(name, path, kind)


def _module_source(docs: Mapping[str, str]) -> str:
    import json

    lines = ["PYBIND11_MODULE(UNDERTOW_EXTENSION_NAME, m) {"]
    for function, doc in docs.items():
        if not re.fullmatch(r"[A-Za-z_]\w*(::[A-Za-z_]\w*)*", function):
            raise ValueError(f"load_inline: functions must name C++ functions, got {function!r}")
        lines.append(f'  m.def("{function.rpartition("::")[2]}", &{function}, {json.dumps(doc)});')
    return "\n".join([*lines, "}\n"])


def CppExtension(name: str, sources: Sequence[str], *args: Any, **kwargs: Any) -> Any:
    """Return a `setuptools.Extension` with the paths and flags that Undertow's headers need. Use it with `BuildExtension`."""
    import setuptools

    _refuse_gpu(False, False, sources)
    kwargs["include_dirs"] = [*kwargs.get("include_dirs", []), *include_paths()]
    kwargs["library_dirs"] = [*kwargs.get("library_dirs", []), *library_paths()]
    kwargs["libraries"] = [*kwargs.get("libraries", []), "undertow"]
    kwargs["runtime_library_dirs"] = [*(kwargs.get("runtime_library_dirs") or []), *library_paths()]
    kwargs["language"] = "c++"
    return setuptools.Extension(name, list(sources), *args, **kwargs)


def CUDAExtension(name: str, sources: Sequence[str], *args: Any, **kwargs: Any) -> Any:
    """Raise: Undertow has no CUDA backend."""
    raise RuntimeError(_NO_GPU.format("CUDA", f"build {name} with CppExtension and its C++ sources alone"))


def SyclExtension(name: str, sources: Sequence[str], *args: Any, **kwargs: Any) -> Any:
    """Raise: Undertow has no SYCL backend."""
    raise RuntimeError(_NO_GPU.format("SYCL", f"build {name} with CppExtension and its C++ sources alone"))


def __getattr__(name: str) -> Any:
    if name == "BuildExtension":  # setuptools takes long to import
        from undertow.utils._extension_setup import BuildExtension

        globals()["BuildExtension"] = BuildExtension
        return BuildExtension
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
