"""`BuildExtension`: the setuptools command build_ext for extensions that use Undertow's headers. Compiles with ninja, or in parallel without it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor

from setuptools.command.build_ext import build_ext

from undertow.utils import _extension_build as _build
from undertow.utils import cpp_extension

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class BuildExtension(build_ext):
    """The command for `cmdclass={"build_ext": BuildExtension}`.

    `extra_compile_args` may be a list, or a dict like torch's: its entry "cxx" is used. Adds C++20, the name of the extension as
    `TORCH_EXTENSION_NAME`, and pybind11's headers if the sources use it.
    """

    @classmethod
    def with_options(cls, **options: Any) -> type[BuildExtension]:
        """Return a subclass with these options: `no_python_abi_suffix`, `use_ninja`."""

        class WithOptions(cls):  # type: ignore[misc, valid-type]  # the class that it is called on
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                super().__init__(*args, **{**kwargs, **options})

        return WithOptions

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.no_python_abi_suffix = kwargs.pop("no_python_abi_suffix", False)
        self.use_ninja = kwargs.pop("use_ninja", True) and cpp_extension.is_ninja_available()
        super().__init__(*args, **kwargs)

    def build_extensions(self) -> None:
        """Compile and link the extensions."""
        command = _build.Compiler().command
        for name in ("compiler_so", "compiler_so_cxx", "compiler_cxx"):
            if hasattr(self.compiler, name):
                kept = list(getattr(self.compiler, name) or [])[1:] if name == "compiler_so" else []
                setattr(self.compiler, name, [*command, *(f for f in kept if f not in ("-Wstrict-prototypes",))])
        for name in ("linker_so", "linker_so_cxx"):
            if getattr(self.compiler, name, None):
                setattr(self.compiler, name, [*command, *getattr(self.compiler, name)[1:]])
        for extension in self.extensions:
            self._prepare(extension)
        single = self.compiler._compile
        self.compiler.compile = self._compile_all
        try:
            super().build_extensions()
        finally:
            self.compiler._compile = single
            del self.compiler.compile

    def get_ext_filename(self, ext_name: str) -> str:
        """Return the file name of an extension, without Python's tag if `no_python_abi_suffix` was given."""
        name = str(super().get_ext_filename(ext_name))
        if not self.no_python_abi_suffix:
            return name
        return re.sub(r"\.[^.]+(\.[^.]+)$", r"\1", name)

    def _prepare(self, extension: Any) -> None:
        given = extension.extra_compile_args
        flags = list(given.get("cxx", [])) if isinstance(given, dict) else list(given or [])
        text = ""
        for path in extension.sources:
            with open(path, encoding="utf-8", errors="replace") as file:
                text += file.read()
        name = extension.name.rpartition(".")[2]
        defines = [f"-DTORCH_EXTENSION_NAME={name}", f"-DUNDERTOW_EXTENSION_NAME={name}", "-DTORCH_API_INCLUDE_EXTENSION_H"]
        extension.extra_compile_args = [*cpp_extension._binding_includes(text), *defines, *cpp_extension._with_standard(flags)]

    def _compile_all(
        self,
        sources: list[str],
        output_dir: str | None = None,
        macros: Any = None,
        include_dirs: Any = None,
        debug: bool = False,
        extra_preargs: Any = None,
        extra_postargs: Any = None,
        depends: Any = None,
    ) -> list[str]:
        """Compile like setuptools' compilers, but in parallel, and with ninja only what has changed."""
        compiler = self.compiler
        _, objects, after, flags, build = compiler._setup_compile(output_dir, macros, include_dirs, sources, depends, extra_postargs)
        before = compiler._get_cc_args(flags, debug, extra_preargs)
        command = [*compiler.compiler_so, *before]
        jobs = [(os.path.abspath(obj), os.path.abspath(build[obj][0])) for obj in objects if obj in build]
        if self.use_ninja and jobs:
            self._run_ninja(jobs, command, after)
            return list(objects)

        def one(job: tuple[str, str]) -> str:
            obj, source = job
            return _build.run([*command, source, "-o", obj, *after], os.path.basename(obj), f"compiling {source}", True)

        with ThreadPoolExecutor(_build.max_jobs(max(1, len(jobs)))) as pool:
            list(pool.map(one, jobs))
        return list(objects)

    def _run_ninja(self, jobs: list[tuple[str, str]], command: list[str], after: list[str]) -> None:
        def escaped(path: str) -> str:
            return path.replace("$", "$$").replace(" ", "$ ").replace(":", "$:")

        line = " ".join(shlex.quote(c).replace("$", "$$") for c in command)
        tail = " ".join(shlex.quote(c).replace("$", "$$") for c in after)
        rules = [f"rule cxx\n  command = {line} -MMD -MF $out.d $in -o $out {tail}\n  depfile = $out.d\n  deps = gcc\n"]
        rules += [f"build {escaped(obj)}: cxx {escaped(source)}\n" for obj, source in jobs]
        folder = os.path.dirname(jobs[0][0])
        path = os.path.join(folder, "build.ninja")
        with open(path, "w", encoding="utf-8") as file:
            file.write("ninja_required_version = 1.3\n" + "\n".join(rules))
        command = ["ninja", "-C", folder, "-f", path, "-j", str(_build.max_jobs(len(jobs)))]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        print(done.stdout, end="")
        if done.returncode != 0:
            errors = [part for part in done.stdout.splitlines() if "error:" in part][:20]
            raise RuntimeError("Error compiling objects for extension:\n" + "\n".join(errors))
