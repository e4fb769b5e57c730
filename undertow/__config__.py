"""Text descriptions of this build and its runtime settings. The core provides the values; CMake compiles them in."""

from __future__ import annotations

__all__ = ["parallel_info", "show"]

_VARIABLES = ("UNDERTOW_NUM_THREADS", "OMP_NUM_THREADS")


def show() -> str:
    """Describe the build: version, compiler and flags, kernel instruction sets (compiled and in use), number of threads.

    >>> print(show())
    Undertow built with:
      - Undertow ...
      - C++20 core for ..., compiled by ...
      - Instruction set in use: ...
    """
    import undertow

    build = undertow._C._build_info()
    lines = [
        "Undertow built with:",
        f"  - Undertow {build['version']}, for Python {build['python']}",
        f"  - C++20 core for {build['system']}, compiled by {build['compiler']}, {build['build_type']} build",
        f"  - Instruction set in use: {build['instruction_set']}; compiled: {', '.join(build['kernel_flags'])}",
        f"  - Flags: {build['flags']}",
        *(f"  - Flags of {name} kernels: {flags.strip()}" for name, flags in build["kernel_flags"].items()),
        f"  - Sanitizers: {build['sanitizers'] or 'none'}",
        "  - Matrix products, factorizations, convolutions and Fourier transforms: Undertow's own",
        "  - CUDA: no",
        f"  - CPU threads: {undertow.get_num_threads()}",
    ]
    return "\n".join([*lines, ""])


def parallel_info() -> str:
    r"""Describe the number of threads used for computation, and the settings that determine it.

    >>> parallel_info().splitlines()[0]
    "Undertow's own thread pool"
    """
    import os

    import undertow

    limits = undertow._C._cpu_limits()
    lines = [
        "Undertow's own thread pool",
        f"\tundertow.get_num_threads() : {undertow.get_num_threads()}",
        f"\tCPUs that this process may use : {limits['available']}",
        f"\tCPUs in the affinity mask : {limits['affinity']}",
        f"\tCPUs in the cgroup quota : {limits['cgroup'] or 'no quota'}",
        "Environment variables:",
        *(f"\t{name} : {os.environ.get(name, '[not set]')}" for name in _VARIABLES),
    ]
    return "\n".join([*lines, ""])
