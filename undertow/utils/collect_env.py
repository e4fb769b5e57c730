"""System information for bug reports: `python -m undertow.utils.collect_env` prints it.

The names and the layout are those of `torch.utils.collect_env`. Nothing is sent anywhere.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from importlib import metadata
from typing import NamedTuple

__all__ = ["SystemEnv", "get_env_info", "get_pretty_env_info", "main", "pretty_str"]

_PACKAGES = ("numpy", "scipy", "torch", "safetensors", "transformers", "accelerate", "mypy", "pytest")
_INSTRUCTIONS = (
    "sse4_2", "avx", "avx2", "fma", "f16c", "bmi2", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_bf16", "amx_bf16", "asimd", "sve", "bf16",
)  # fmt: skip


class SystemEnv(NamedTuple):
    """One field per line of the report. Unknown values are None."""

    undertow_version: str
    undertow_location: str
    is_debug_build: bool
    built_by: str
    built_for: str
    build_flags: str
    os: str
    libc_version: str | None
    gcc_version: str | None
    clang_version: str | None
    cmake_version: str | None
    python_version: str
    python_platform: str
    is_free_threaded: bool
    cpu_info: str
    instruction_set: str
    num_threads: str
    environment_variables: str
    pip_packages: str


def _run(*command: str) -> str | None:
    """Return the output of a program; None if it is missing or fails."""
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _tool_version(name: str) -> str | None:
    """Return the first line of `name --version`."""
    text = _run(name, "--version")
    return text.splitlines()[0] if text else None


def _operating_system() -> str:
    if sys.platform == "linux":
        try:
            release = platform.freedesktop_os_release()
        except OSError:
            release = {}
        return f"{release.get('PRETTY_NAME', 'Linux')} ({platform.machine()})"
    if sys.platform == "darwin":
        return f"macOS {platform.mac_ver()[0]} ({platform.machine()})"
    return f"{platform.system()} {platform.release()} ({platform.machine()})"


def _processor() -> str:
    """Return the model, the number of CPUs, and the instruction sets that determine which kernels run."""
    try:
        with open("/proc/cpuinfo") as f:
            text = f.read()
    except OSError:
        return f"{platform.processor() or 'unknown'}, {os.cpu_count()} CPUs"
    model = re.search(r"^(?:model name|Processor)\s*:\s*(.+)$", text, re.M)
    flags = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", text, re.M)
    present = set(flags.group(1).split()) if flags else set()
    shown = " ".join(name for name in _INSTRUCTIONS if name in present)
    return f"{model.group(1).strip() if model else platform.machine()}, {os.cpu_count()} CPUs\nInstructions: {shown or 'none of the relevant ones'}"


def _packages() -> str:
    found = []
    for name in _PACKAGES:
        try:
            found.append(f"[pip3] {name}=={metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return "\n".join(found)


def get_env_info() -> SystemEnv:
    """Collect the fields; run compilers and CMake, if installed, for their versions.

    >>> import undertow
    >>> get_env_info().undertow_version == undertow.__version__
    True
    """
    import undertow

    build, limits = undertow._C._build_info(), undertow._C._cpu_limits()
    variables = sorted(k for k in os.environ if k.startswith("UNDERTOW_") or k == "OMP_NUM_THREADS")
    return SystemEnv(
        undertow_version=undertow.__version__,
        undertow_location=os.path.dirname(undertow.__file__),
        is_debug_build=build["build_type"] == "Debug",
        built_by=build["compiler"],
        built_for=f"{build['system']}, Python {build['python']}",
        build_flags=build["flags"],
        os=_operating_system(),
        libc_version="-".join(filter(None, platform.libc_ver())) or None,
        gcc_version=_tool_version("gcc"),
        clang_version=_tool_version("clang"),
        cmake_version=_tool_version("cmake"),
        python_version=f"{sys.version} ({sys.maxsize.bit_length() + 1}-bit runtime)".replace("\n", ""),
        python_platform=platform.platform(),
        is_free_threaded=not getattr(sys, "_is_gil_enabled", lambda: True)(),
        cpu_info=_processor(),
        instruction_set=f"{build['instruction_set']} (compiled: {', '.join(build['kernel_flags'])})",
        num_threads=f"{undertow.get_num_threads()} (affinity mask: {limits['affinity']}, cgroup: {limits['cgroup'] or 'no quota'})",
        environment_variables=" ".join(f"{k}={os.environ[k]}" for k in variables),
        pip_packages=_packages(),
    )


def pretty_str(envinfo: SystemEnv) -> str:
    """Format the report as text.

    >>> pretty_str(get_env_info()).splitlines()[0].startswith("Undertow version: ")
    True
    """
    e = SystemEnv._make("N/A" if value is None or value == "" else value for value in envinfo)
    return f"""Undertow version: {e.undertow_version}
Location: {e.undertow_location}
Is debug build: {e.is_debug_build}
Built by: {e.built_by}
Built for: {e.built_for}
Build flags: {e.build_flags}

OS: {e.os}
GCC version: {e.gcc_version}
Clang version: {e.clang_version}
CMake version: {e.cmake_version}
Libc version: {e.libc_version}

Python version: {e.python_version}
Python platform: {e.python_platform}
Free-threaded: {e.is_free_threaded}

CPU: {e.cpu_info}
Instruction set in use: {e.instruction_set}
CPU threads: {e.num_threads}
Environment variables: {e.environment_variables}

Versions of relevant libraries:
{e.pip_packages}"""


def get_pretty_env_info() -> str:
    """Return the report about this machine as text."""
    return pretty_str(get_env_info())


def main() -> None:
    """Print the report."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
