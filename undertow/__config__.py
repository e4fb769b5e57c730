"""How this build was made and how it runs here, as text. Everything comes from the core, which CMake told about the build."""

from __future__ import annotations

__all__ = ["parallel_info", "show"]

_VARIABLES = ("UNDERTOW_NUM_THREADS", "OMP_NUM_THREADS")


def show() -> str:
    """The version, the compiler and its flags, the instruction sets of the kernels and the one in use, the threads.

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
    r"""How many threads compute, and what decides it.

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
        f"\tCPUs in the quota of the control group : {limits['cgroup'] or 'no quota'}",
        "Environment variables:",
        *(f"\t{name} : {os.environ.get(name, '[not set]')}" for name in _VARIABLES),
    ]
    return "\n".join([*lines, ""])
