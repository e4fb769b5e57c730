"""The functions of `torch.cuda` as a build without CUDA answers them. See _no_device.py."""

from __future__ import annotations

from undertow._no_device import NoContext, answer, refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ANSWERS: dict[str, Any] = {
    "is_available": False,
    "is_bf16_supported": False,
    "is_initialized": False,
    "is_tf32_supported": False,
    "device_count": 0,
    "get_arch_list": [],
    "get_gencode_flags": "",
    "get_rng_state_all": [],
    "memory_allocated": 0,
    "max_memory_allocated": 0,
    "memory_reserved": 0,
    "max_memory_reserved": 0,
    "memory_cached": 0,
    "max_memory_cached": 0,
    "memory_stats": {},
    "is_current_stream_capturing": False,
    "manual_seed": None,
    "manual_seed_all": None,
    "seed": None,
    "seed_all": None,
    "set_rng_state_all": None,
    "empty_cache": None,
    "reset_peak_memory_stats": None,
    "reset_accumulated_memory_stats": None,
    "reset_max_memory_allocated": None,
    "reset_max_memory_cached": None,
    "set_per_process_memory_fraction": None,
}
_REFUSED = (
    "can_device_access_peer current_blas_handle current_device current_stream default_stream get_device_capability get_device_name "
    "get_device_properties get_rng_state graph_pool_handle init initial_seed ipc_collect list_gpu_processes make_graphed_callables "
    "mem_get_info memory_snapshot memory_summary set_device set_rng_state set_stream synchronize utilization temperature power_draw "
    "clock_rate"
)
for _name, _value in _ANSWERS.items():
    globals()[_name] = answer(_name, _value)
for _name in _REFUSED.split():
    globals()[_name] = refusal("cuda", _name)


class device(NoContext):
    """Enters without effect, as a build without CUDA has it."""


device_of = StreamContext = device


def stream(stream: Any) -> device:
    """A context without effect."""
    return device()


class Stream:
    """Cannot be made: there is no device to queue work on."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"torch.cuda.{type(self).__name__} requires CUDA support; this build of Undertow computes on the CPU only")


class Event(Stream):
    """Cannot be made: there is no device to wait for."""


class CUDAGraph(Stream):
    """Cannot be made: there is no device to record."""


class graph(Stream):
    """Cannot be made: there is no device to record."""


class OutOfMemoryError(RuntimeError):
    """What a device without memory would raise; nothing raises it here."""


default_generators: tuple[Any, ...] = ()
has_half = False

__all__ = [
    *_ANSWERS,
    *_REFUSED.split(),
    "CUDAGraph",
    "Event",
    "OutOfMemoryError",
    "Stream",
    "StreamContext",
    "default_generators",
    "device",
    "device_of",
    "graph",
    "has_half",
    "stream",
]
