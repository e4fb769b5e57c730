"""Global settings of torch programs: determinism, precision, threads, the default device.

Undertow's results do not depend on the number of threads and are the same in every run, so most of these settings
are stored and have no effect.
"""

from __future__ import annotations

import warnings

from undertow import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import device as _device

__all__ = [
    "are_deterministic_algorithms_enabled",
    "compiled_with_cxx11_abi",
    "empty_cache",
    "get_default_device",
    "get_deterministic_debug_mode",
    "get_device_module",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled",
    "set_default_device",
    "set_default_tensor_type",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_num_interop_threads",
    "set_warn_always",
    "use_deterministic_algorithms",
]

_state: dict[str, Any] = {"deterministic": False, "warn_only": False, "fill": True, "precision": "highest", "interop": 1, "warn_always": False}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for algorithms that always give the same bits. Without it, cuDNN on a GPU may add in an order that changes: gradients of
    convolutions, and those of attention with respect to the query. All else is deterministic anyway. Memory that nothing was written
    to (`empty`, `resize_`) is filled; see `undertow.utils.deterministic`.

    >>> import undertow as ut
    >>> ut.use_deterministic_algorithms(True)
    >>> ut.are_deterministic_algorithms_enabled()
    True
    >>> ut.use_deterministic_algorithms(False)
    """
    for argument, value in (("'mode' (position 1)", mode), ("'warn_only'", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(f"_set_deterministic_algorithms(): argument {argument} must be bool, not {type(value).__name__}")
    _state.update(deterministic=mode, warn_only=warn_only)
    _C._set_fill_uninitialized(mode and _state["fill"])
    from undertow.backends._switches import tell

    tell({"mode": "deterministic_algorithms"}, "mode", mode)


def _fills_uninitialized() -> bool:
    return _state["fill"]


def _set_fills_uninitialized(mode: bool) -> None:
    if not isinstance(mode, bool):
        raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
    _state["fill"] = mode
    _C._set_fill_uninitialized(mode and _state["deterministic"])


def are_deterministic_algorithms_enabled() -> bool:
    """Return the `mode` passed to `use_deterministic_algorithms`."""
    return _state["deterministic"]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return the `warn_only` passed to `use_deterministic_algorithms`."""
    return _state["warn_only"]


_DEBUG_MODES = {"default": 0, "warn": 1, "error": 2}


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Call `use_deterministic_algorithms` with a level: "default" or 0, "warn" or 1, "error" or 2."""
    value = _DEBUG_MODES.get(debug_mode, -1) if isinstance(debug_mode, str) else debug_mode
    if value not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, 2, 'default', 'warn' or 'error', but got {debug_mode!r}")
    use_deterministic_algorithms(value != 0, warn_only=value == 1)


def get_deterministic_debug_mode() -> int:
    """Return 0, 1 or 2; see `set_deterministic_debug_mode`."""
    return 0 if not _state["deterministic"] else 1 if _state["warn_only"] else 2


def set_float32_matmul_precision(precision: str) -> None:
    """Set the precision of float32 products on a GPU: "highest" computes in float32, "high" and "medium" may use TF32.

    The CPU always computes in float32.
    """
    if precision not in ("highest", "high", "medium"):
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current setFloat32MatmulPrecision call has no effect.", stacklevel=2
        )
        return
    _state["precision"] = precision
    from undertow.backends import cuda

    cuda.matmul.allow_tf32 = precision != "highest"


def get_float32_matmul_precision() -> str:
    """Return the setting of `set_float32_matmul_precision`."""
    return _state["precision"]


def set_num_interop_threads(n: int) -> None:
    """Store the number. It has no effect: operations run one at a time."""
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError(f"set_num_interop_threads expects an int, but got {type(n).__name__}")
    if n <= 0:
        raise RuntimeError(f"set_num_interop_threads expects a positive integer, got {n}")
    if n >= 2**63:
        raise ValueError(f"Overflow when unpacking long long: {n}")
    _state["interop"] = n


def get_num_interop_threads() -> int:
    """Return the setting of `set_num_interop_threads`."""
    return _state["interop"]


def set_default_device(device: Any) -> None:
    """Set the device on which this thread creates tensors by default; None resets it to the CPU.

    >>> import undertow as ut
    >>> ut.set_default_device("meta")
    >>> ut.zeros(2, 3)
    tensor(..., device='meta', size=(2, 3))
    >>> ut.set_default_device(None)
    """
    _C._set_default_device(_C.device("cpu") if device is None else _C.device(device))


def get_default_device() -> _device:
    """Return the default device of factory functions: set by `with device:`, otherwise by `set_default_device`."""
    return _C._default_device()


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype from a legacy tensor class, such as `undertow.DoubleTensor`, or its name."""
    dtype = _C.tensor(0).type(t).dtype
    if not dtype.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    _C.set_default_dtype(dtype)


def set_flush_denormal(mode: bool) -> bool:
    """Return False, as torch does on CPUs without this feature: denormal numbers are never flushed to zero."""
    return False


def set_warn_always(b: bool, /) -> None:
    """Set whether warnings that come once per process are repeated.

    >>> import undertow as ut
    >>> ut.set_warn_always(True)
    >>> ut.is_warn_always_enabled()
    True
    >>> ut.set_warn_always(False)
    """
    _state["warn_always"] = bool(b)
    _C._set_warn_always(bool(b))


def is_warn_always_enabled() -> bool:
    """Return the setting of `set_warn_always`."""
    return _state["warn_always"]


def compiled_with_cxx11_abi() -> bool:
    """Return True: the core is compiled with the C++11 ABI."""
    return True


def get_device_module(device: Any = None) -> Any:
    """Return the module of a device: `undertow.cpu`, `undertow.cuda`. Without a device, that of the accelerator, if there is one."""
    import undertow

    kind = undertow.device(device).type if device is not None else "cuda" if undertow.cuda.is_available() else "cpu"
    return getattr(undertow, kind)


def empty_cache() -> None:
    """Return memory that is kept for reuse, of the CPU and of GPUs, to the system: see `undertow.cpu.memory_stats`.

    >>> import undertow as ut
    >>> x = ut.zeros(1000, 1000)
    >>> del x
    >>> ut.empty_cache()
    """
    from undertow import cpu, cuda

    cpu.empty_cache()
    if cuda.is_initialized():
        cuda.empty_cache()
