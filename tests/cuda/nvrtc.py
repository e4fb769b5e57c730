"""NVIDIA's run-time compiler by ctypes, for tests that compile device sources where there is no GPU."""

from __future__ import annotations

import ctypes
import glob
import struct
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p, create_string_buffer
from functools import cache
from pathlib import Path

from undertow.cuda._wheels import library_folders

SOURCES = Path(__file__).resolve().parents[2] / "core/kernels/cuda"
ARCHITECTURES = ("sm_80", "sm_90", "sm_100")


@cache
def library() -> ctypes.CDLL | None:
    """NVRTC from NVIDIA's wheel, or as the system finds it; None if it is not installed."""
    for folder in library_folders().split(":"):
        for name in glob.glob(f"{folder}/libnvrtc-builtins.so.*"):
            ctypes.CDLL(name, ctypes.RTLD_GLOBAL)
    for name in (*(f"{folder}/libnvrtc.so.{v}" for v in (13, 12) for folder in library_folders().split(":")), "libnvrtc.so.13", "libnvrtc.so.12"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


@cache
def headers() -> tuple[list[bytes], list[bytes]]:
    """The names and texts of the device sources, as the CUDA library embeds them."""
    files = sorted(p for p in SOURCES.rglob("*") if p.name.endswith((".cuh", "_params.h", "_layout.h")))
    return [p.relative_to(SOURCES).as_posix().encode() for p in files], [p.read_bytes() for p in files]


def errors_of(text: str, expressions: list[str], architecture: str) -> str:
    """The compiler's messages about a program, with the wanted instances of its templates; empty if it compiles."""
    nvrtc = library()
    assert nvrtc is not None
    names, texts = headers()
    program = c_void_p()
    assert nvrtc.nvrtcCreateProgram(byref(program), text.encode(), b"kernel.cu", c_int(len(names)), (c_char_p * len(texts))(*texts),
                                    (c_char_p * len(names))(*names)) == 0  # fmt: skip
    for expression in expressions:
        assert nvrtc.nvrtcAddNameExpression(program, expression.encode()) == 0
    options = [f"--gpu-architecture={architecture}".encode(), b"--std=c++17", b"-default-device", b"--fmad=true"]
    status = nvrtc.nvrtcCompileProgram(program, c_int(len(options)), (c_char_p * len(options))(*options))
    size = c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, byref(size))
    log = create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(byref(program))
    return log.value.decode() or "failed without a message" if status else ""


def programs_in(folder: Path) -> list[tuple[str, str]]:
    """The programs of a folder of compiled kernels (core/kernels/cuda/compile/image_cache.cpp), each with the instance that was wanted."""
    found = []
    for path in sorted(folder.iterdir()):
        data = path.read_bytes()
        if data[:8] != b"utcubin1":
            continue
        (length,) = struct.unpack_from("<Q", data, 8)
        _, _, _, expression, text = data[40 : 40 + length].decode().split("\n", 4)
        found.append((text, expression))
    return found
