"""The modules of devices this build does not support: queries that report no device, switches that do nothing, and functions that raise.

There is one table of names per device; `fill` creates the functions.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_FEW: dict[str, Any] = {"is_available": False, "device_count": 0, "manual_seed": None, "manual_seed_all": None, "empty_cache": None}
_CUDA: dict[str, Any] = {
    **_FEW,
    "is_bf16_supported": False,
    "is_initialized": False,
    "is_tf32_supported": False,
    "is_current_stream_capturing": False,
    "get_arch_list": [],
    "get_gencode_flags": "",
    "get_rng_state_all": [],
    "memory_stats": {},
    "memory_stats_as_nested_dict": {},
    **dict.fromkeys(("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved", "memory_cached", "max_memory_cached"), 0),
    **dict.fromkeys(("seed", "seed_all", "set_rng_state_all", "reset_peak_memory_stats", "reset_accumulated_memory_stats")),
    **dict.fromkeys(("reset_max_memory_allocated", "reset_max_memory_cached", "set_per_process_memory_fraction")),
}
# For each device: the results of its queries, and the names of the functions that raise.
DEVICES: dict[str, tuple[dict[str, Any], str]] = {
    "cuda": (
        _CUDA,
        "can_device_access_peer current_blas_handle current_device current_stream default_stream get_device_capability get_device_name "
        "get_device_properties get_rng_state get_sync_debug_mode graph_pool_handle init initial_seed ipc_collect list_gpu_processes "
        "make_graphed_callables mem_get_info memory_snapshot memory_summary memory_usage device_memory_used set_device set_rng_state set_stream "
        "set_sync_debug_mode synchronize utilization temperature power_draw clock_rate",
    ),
    **dict.fromkeys(("mps", "mtia", "xpu"), (_FEW, "current_device synchronize")),
    "accelerator": (
        {"is_available": False, "device_count": 0, "current_accelerator": None, "empty_cache": None},
        "synchronize current_device_index set_device_index current_stream set_stream memory_allocated max_memory_allocated memory_reserved "
        "max_memory_reserved memory_stats get_memory_info reset_peak_memory_stats reset_accumulated_memory_stats get_device_capability",
    ),
}


def fill(kind: str, namespace: dict[str, Any]) -> list[str]:
    """Add the functions of an absent device to the namespace of its module, and return their names.

    >>> names = {}
    >>> "synchronize" in fill("xpu", names), names["is_available"]()
    (True, False)
    """
    answers, raising = DEVICES[kind]
    namespace.update({name: answer(name, value) for name, value in answers.items()})
    namespace.update({name: unavailable(kind, name) for name in raising.split()})
    return sorted((*answers, *raising.split()))


def unavailable(kind: str, name: str) -> Callable[..., Any]:
    """Create a function that needs the device: it raises torch's exception class, and its message begins like torch's."""

    def function(*args: Any, **kwargs: Any) -> Any:
        if kind == "accelerator":
            raise RuntimeError("Cannot access accelerator device when none is available.")
        raise AssertionError(f"Torch not compiled with {kind.upper()} enabled; {kind}.{name}: this build of Undertow computes on the CPU only")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Raises: there is no such device."
    return function


def answer(name: str, value: Any) -> Callable[..., Any]:
    """Create a query function that always returns `value`."""

    def query(*args: Any, **kwargs: Any) -> Any:
        return value

    query.__name__ = query.__qualname__ = name
    query.__doc__ = f"{value!r}: there is no such device."
    return query


class NoContext:
    """A context manager of an absent device: entering it has no effect."""

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None: ...
