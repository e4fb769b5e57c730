"""How this build was made, as text."""

from __future__ import annotations

__all__ = ["parallel_info", "show"]


def show() -> str:
    """The version, the threads and the instruction set in use."""
    import undertow

    lines = ["Undertow built with:", f"  - Undertow {undertow.__version__}, C++20 core", f"  - CPU threads: {undertow.get_num_threads()}"]
    return "\n".join([*lines, "  - LAPACK from scipy-openblas64, loaded on first use", "  - CUDA: no", ""])


def parallel_info() -> str:
    """How many threads compute."""
    import undertow

    return f"Undertow's own thread pool\n\tundertow.get_num_threads() : {undertow.get_num_threads()}\n"
