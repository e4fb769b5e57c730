"""The emulated CUDA driver: builds the library when its sources have changed, and calls it by ctypes."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from pathlib import Path

SOURCES = Path(__file__).resolve().parent / "emulator"
ROOT = SOURCES.parents[2]


def library() -> Path:
    """Path of libcuda_emulator.so: what UNDERTOW_CUDA_EMULATOR names, else what CMake built of the present sources, else it is built here."""
    if given := os.environ.get("UNDERTOW_CUDA_EMULATOR"):
        return Path(given)
    files = sorted([*SOURCES.glob("*.cpp"), *SOURCES.glob("*.h")])
    changed = max(file.stat().st_mtime for file in files)
    for built in ROOT.glob("build/*/libcuda_emulator.so"):
        if built.stat().st_mtime > changed:
            return built
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
    target = ROOT / "build" / "cuda_emulator" / digest / "libcuda_emulator.so"
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    # Several processes may build at once; each one renames a whole file into place.
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        built = Path(folder) / target.name
        compiler = ["ccache", "g++"] if shutil.which("ccache") else ["g++"]
        objects = []
        for source in files:
            if source.suffix == ".cpp":
                objects.append(f"{folder}/{source.stem}.o")
                subprocess.run([*compiler, "-std=c++20", "-O1", "-fPIC", "-c", str(source), "-o", objects[-1]], check=True)
        subprocess.run(["g++", "-shared", "-pthread", *objects, "-o", str(built), "-ldl"], check=True)
        built.replace(target)
    return target


def environment(**settings: object) -> dict[str, str]:
    """The environment of a process that finds the emulator instead of NVIDIA's libraries. settings: seed=3 is UNDERTOW_EMULATOR_SEED=3."""
    path = str(library())
    names = {f"UNDERTOW_EMULATOR_{name.upper()}": str(value) for name, value in settings.items()}
    return {**os.environ, "UNDERTOW_CUDA_DRIVER": path, "UNDERTOW_NVRTC": path, "UNDERTOW_CUBLASLT": path, "UNDERTOW_NCCL": path, **names}


def run(program: str, **settings: object) -> subprocess.CompletedProcess[str]:
    """Runs a program in a process of its own, where `cuda` is a driver; settings as in environment()."""
    start = "from ctypes import *\nimport numpy as np\nfrom emulated_cuda import *\ncuda = Driver()\n"
    path = {"PYTHONPATH": str(SOURCES.parent)}
    command = [sys.executable, "-c", start + program]
    return subprocess.run(command, env={**environment(**settings), **path}, capture_output=True, text=True, timeout=300)


class CudaError(Exception):
    """A driver call failed; `code` is its result."""

    def __init__(self, call: str, code: int) -> None:
        super().__init__(f"{call} returned {code}")
        self.code = code


class Driver:
    """The library's functions by name; a result other than 0 raises CudaError. Makes the context of device 0 current."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(str(library()))
        self.cuInit(0)
        context = c_void_p()
        self.cuDevicePrimaryCtxRetain(byref(context), 0)
        self.cuCtxSetCurrent(context)

    def __getattr__(self, name: str):
        function = getattr(self.library, name)

        def call(*arguments: object) -> None:
            # Python's integers are addresses, sizes and handles here; 32-bit parameters take the low half.
            code = function(*(c_uint64(a) if isinstance(a, int) else a for a in arguments))
            if code:
                raise CudaError(name, code)

        return call

    def handle(self, name: str, *arguments: object) -> int:
        """The value of a function whose first parameter is the place for a handle or an address."""
        out = c_uint64()
        getattr(self, name)(byref(out), *arguments)
        return out.value

    def compile(self, source: str, expressions: list[str], options: list[str] | None = None, headers: dict[str, str] | None = None) -> Module:
        """Compiles a source by NVRTC and loads it."""
        return Module(self, source, expressions, options or ["--gpu-architecture=sm_90"], headers or {})

    def put(self, array) -> int:
        """Device memory with the content of a NumPy array."""
        pointer = self.handle("cuMemAlloc_v2", array.nbytes)
        self.cuMemcpyHtoD_v2(pointer, c_void_p(array.ctypes.data), array.nbytes)
        return pointer

    def get(self, pointer: int, like):
        """A new NumPy array from device memory."""
        result = like.copy()
        self.cuMemcpyDtoH_v2(c_void_p(result.ctypes.data), pointer, result.nbytes)
        return result


class CompilationError(Exception):
    """NVRTC's log."""


class Module:
    """Kernels by the name expressions that they were compiled for."""

    def __init__(self, driver: Driver, source: str, expressions: list[str], options: list[str], headers: dict[str, str]) -> None:
        self.driver = driver
        texts = (c_char_p * max(1, len(headers)))(*(text.encode() for text in headers.values()))
        names = (c_char_p * max(1, len(headers)))(*(name.encode() for name in headers))
        program = c_void_p()
        driver.nvrtcCreateProgram(byref(program), c_char_p(source.encode()), c_char_p(b"test.cu"), c_int(len(headers)), texts, names)
        for expression in expressions:
            driver.nvrtcAddNameExpression(program, c_char_p(expression.encode()))
        given = (c_char_p * len(options))(*(option.encode() for option in options))
        try:
            driver.nvrtcCompileProgram(program, c_int(len(options)), given)
        except CudaError as error:
            size = c_size_t()
            driver.nvrtcGetProgramLogSize(program, byref(size))
            log = ctypes.create_string_buffer(size.value)
            driver.nvrtcGetProgramLog(program, log)
            raise CompilationError(log.value.decode()) from error
        size = c_size_t()
        driver.nvrtcGetCUBINSize(program, byref(size))
        self.image = ctypes.create_string_buffer(size.value)
        driver.nvrtcGetCUBIN(program, self.image)
        self.lowered: dict[str, bytes] = {}
        for expression in expressions:
            name = c_char_p()
            driver.nvrtcGetLoweredName(program, c_char_p(expression.encode()), byref(name))
            assert name.value
            self.lowered[expression] = name.value
        driver.nvrtcDestroyProgram(byref(program))
        self.handle = driver.handle("cuModuleLoadData", self.image)

    def function(self, expression: str) -> int:
        name = self.lowered.get(expression, expression.encode())
        return self.driver.handle("cuModuleGetFunction", self.handle, c_char_p(name))

    def launch(self, expression: str, grid, block, *arguments: object, stream: int = 0, shared: int = 0) -> None:
        """Launches a kernel. Arguments are ctypes objects, or integers for pointers."""
        values = [c_uint64(a) if isinstance(a, int) else a for a in arguments]
        pointers = (c_void_p * max(1, len(values)))(*(ctypes.cast(ctypes.pointer(v), c_void_p) for v in values))
        sizes = [c_uint(n) for n in (*_three(grid), *_three(block))]
        self.driver.cuLaunchKernel(self.function(expression), *sizes, c_uint(shared), stream, pointers, None)


def _three(size: int | tuple[int, ...]) -> tuple[int, ...]:
    given = (size,) if isinstance(size, int) else size
    return given + (1,) * (3 - len(given))


if __name__ == "__main__":  # python tests/cuda/emulated_cuda.py COMMAND...: runs a command where the emulator is the driver
    sys.exit(subprocess.run(sys.argv[1:], env=environment()).returncode)
