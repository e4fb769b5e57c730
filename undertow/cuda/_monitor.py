"""What NVIDIA's management library reports about a GPU: load, temperature, power. It needs the package `nvidia-ml-py`."""

from __future__ import annotations

from undertow.cuda._library import functions, index_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _library_and_device(name: str, device: Any) -> tuple[Any, Any]:
    uuid = functions(name).device_uuid(index_of(device, name))
    try:
        import pynvml
    except ImportError as e:
        raise ModuleNotFoundError("nvidia-ml-py does not seem to be installed or it can't be imported.") from e
    pynvml.nvmlInit()
    return pynvml, pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}")


def utilization(device: Any = None) -> int:
    """Return the percentage of the last second in which kernels ran."""
    library, handle = _library_and_device("utilization", device)
    return library.nvmlDeviceGetUtilizationRates(handle).gpu


def memory_usage(device: Any = None) -> int:
    """Return the percentage of the last second in which memory was read or written."""
    library, handle = _library_and_device("memory_usage", device)
    return library.nvmlDeviceGetUtilizationRates(handle).memory


def device_memory_used(device: Any = None) -> int:
    """Return the bytes of the GPU that all processes use."""
    library, handle = _library_and_device("device_memory_used", device)
    return library.nvmlDeviceGetMemoryInfo(handle).used


def temperature(device: Any = None) -> int:
    """Return the temperature in degrees Celsius."""
    library, handle = _library_and_device("temperature", device)
    return library.nvmlDeviceGetTemperature(handle, 0)


def power_draw(device: Any = None) -> int:
    """Return the power in milliwatts."""
    library, handle = _library_and_device("power_draw", device)
    return library.nvmlDeviceGetPowerUsage(handle)


def clock_rate(device: Any = None) -> int:
    """Return the clock of the multiprocessors in MHz."""
    library, handle = _library_and_device("clock_rate", device)
    return library.nvmlDeviceGetClockInfo(handle, 1)
