"""Figures about the memory of GPUs, and the caching allocator's switches. Without a GPU, figures are 0 and switches do nothing."""

from __future__ import annotations

import os

from undertow import _C
from undertow.cuda._library import available, functions, index_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "AcceleratorError",
    "OutOfMemoryError",
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "empty_cache",
    "get_allocator_backend",
    "get_per_process_memory_fraction",
    "host_memory_stats",
    "ipc_collect",
    "list_gpu_processes",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
]


def memory_stats(device: Any = None) -> dict[str, int]:
    """Return the figures of a GPU's allocator: counts and bytes, now, at the peak, allocated and freed in all.

    >>> import undertow as ut
    >>> if ut.cuda.is_available():
    ...     peak = ut.cuda.memory_stats()["allocated_bytes.all.peak"]
    """
    return functions().memory_stats(index_of(device)) if available() else {}


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """Return the figures of `memory_stats` as dicts in dicts: one level for each part of a name."""
    nested: dict[str, Any] = {}
    for name, value in memory_stats(device).items():
        *outer, last = name.split(".")
        at = nested
        for part in outer:
            at = at.setdefault(part, {})
        at[last] = value
    return nested


def _bytes(kind: str, when: str, device: Any) -> int:
    return memory_stats(device).get(f"{kind}_bytes.all.{when}", 0)


def memory_allocated(device: Any = None) -> int:
    """Return the bytes that tensors have on a GPU."""
    return _bytes("allocated", "current", device)


def max_memory_allocated(device: Any = None) -> int:
    """Return the most bytes that tensors had on a GPU, since the beginning or `reset_peak_memory_stats`."""
    return _bytes("allocated", "peak", device)


def memory_reserved(device: Any = None) -> int:
    """Return the bytes that the allocator has from the driver, for tensors and in its cache."""
    return _bytes("reserved", "current", device)


def max_memory_reserved(device: Any = None) -> int:
    """Return the most bytes that the allocator had from the driver."""
    return _bytes("reserved", "peak", device)


memory_cached = memory_reserved
max_memory_cached = max_memory_reserved


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let the peaks start again from the current figures."""
    if available():
        functions().reset_peak_stats(index_of(device))


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Set the figures of what was allocated and freed in all to 0."""
    if available():
        functions().reset_accumulated_stats(index_of(device))


def empty_cache() -> None:
    """Give cached memory that no tensor uses back to the driver, for other programs."""
    if available():
        functions().empty_cache()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Return the free bytes of a GPU and all of them, as the driver sees them."""
    return functions("mem_get_info").memory_info(index_of(device))


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Limit the memory of a GPU that this process uses to a fraction of all; more raises `OutOfMemoryError`."""
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    if available():
        functions().set_memory_fraction(index_of(device), fraction)


def get_per_process_memory_fraction(device: Any = None) -> float:
    """Return the fraction set by `set_per_process_memory_fraction`; 1 at first."""
    return functions("get_per_process_memory_fraction").memory_fraction(index_of(device))


def caching_allocator_alloc(size: int, device: Any = None, stream: Any = None) -> int:
    """Allocate memory of a GPU for other libraries, and return its address."""
    library = functions("caching_allocator_alloc")
    index = index_of(device)
    if stream is None:
        stream = library.current_stream(index)
    return library.allocate(size, index, getattr(stream, "cuda_stream", stream))


def caching_allocator_delete(mem_ptr: int) -> None:
    """Free memory of `caching_allocator_alloc`."""
    library = functions("caching_allocator_delete")
    for device in range(library.device_count()):
        if any(block["address"] == mem_ptr and block["allocated"] for block in library.memory_snapshot(device)):
            library.deallocate(mem_ptr, device)
            return
    raise ValueError(f"caching_allocator_delete: {mem_ptr:#x} is not an address that caching_allocator_alloc returned")


def get_allocator_backend() -> str:
    """Return "native": the allocator is Undertow's own."""
    return "native"


def memory_snapshot(mempool_id: Any = None) -> list[dict[str, Any]]:
    """Return the segments that the allocator has from the driver, each with its blocks."""
    library = functions("memory_snapshot")
    segments: dict[tuple[int, int], dict[str, Any]] = {}
    for block in (b for device in range(library.device_count()) for b in library.memory_snapshot(device)):
        empty = {
            "device": block["device"], "address": block["segment"], "stream": block["stream"], "total_size": 0, "allocated_size": 0,
            "active_size": 0, "requested_size": 0, "segment_type": "small" if block["small"] else "large",
            "segment_pool_id": (0, block["pool"]), "is_expandable": False, "blocks": [],
        }
        segment = segments.setdefault((block["device"], block["segment"]), empty)
        used = block["size"] * block["allocated"]
        segment["total_size"] += block["size"]
        segment["allocated_size"] += used
        segment["active_size"] += block["size"] if block["allocated"] or block["waits"] else 0
        segment["requested_size"] += block["requested_size"]
        state = "active_allocated" if block["allocated"] else "active_pending_free" if block["waits"] else "inactive"
        segment["blocks"].append({"address": block["address"], "size": block["size"], "requested_size": block["requested_size"], "state": state})
    return list(segments.values())


_ROWS = (
    ("Allocated memory", "allocated_bytes"), ("Active memory", "active_bytes"), ("Requested memory", "requested_bytes"),
    ("GPU reserved memory", "reserved_bytes"), ("Non-releasable memory", "inactive_split_bytes"), ("Allocations", "allocation"),
    ("Active allocs", "active"), ("GPU reserved segments", "segment"), ("Non-releasable allocs", "inactive_split"),
)


def _size_text(value: int) -> str:
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(value) < 10240 or unit == "TiB":
            break
        value = round(value / 1024)
    return f"{value} {unit}"


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Return the figures of `memory_stats` as a table."""
    functions("memory_summary")
    index, stats = index_of(device), memory_stats(device)
    width = 90
    title = f"CUDA memory of device {index}: {stats['num_ooms']} times out of memory, {stats['num_alloc_retries']} retries"
    lines = ["=" * width, title, "=" * width]
    lines.append(f"{'':28}|{'now':>14} |{'peak':>14} |{'allocated':>14} |{'freed':>13}")
    pools = ("all",) if abbreviated else ("all", "small_pool", "large_pool")
    for title, name in _ROWS:
        lines.append("-" * width)
        for pool in pools:
            values = [stats[f"{name}.{pool}.{when}"] for when in ("current", "peak", "allocated", "freed")]
            texts = [_size_text(v) if name.endswith("bytes") else str(v) for v in values]
            label = title if pool == "all" else f"  in {pool.replace('_', ' ')}s"
            lines.append(f"{label:28}|{texts[0]:>14} |{texts[1]:>14} |{texts[2]:>14} |{texts[3]:>13}")
    lines.append("=" * width)
    return "\n".join(lines)


def host_memory_stats() -> dict[str, int]:
    """Return the figures of pinned memory of the host."""
    return functions().pinned_stats() if available() else {}


def list_gpu_processes(device: Any = None) -> str:
    """Return what this process has on a GPU; other processes are not known."""
    functions("list_gpu_processes")
    index = index_of(device)
    return f"GPU:{index}\nprocess {os.getpid():>10d} uses {memory_reserved(index) / 2**20:>12.3f} MB GPU memory"


def ipc_collect() -> None:
    """Do nothing: no memory is shared with other processes."""
    functions("ipc_collect")


OutOfMemoryError = _C._OutOfMemoryError
AcceleratorError = _C._AcceleratorError
