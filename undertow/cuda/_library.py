"""The functions of the CUDA backend (core/kernels/cuda/control.h), and what the modules of this package share: which device is meant."""

from __future__ import annotations

from undertow import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def available() -> bool:
    """Return True if there is a GPU that can be used. The first call looks for the driver; it does not raise."""
    return _C._cuda() is not None


def functions(name: str = "") -> Any:
    """Return the module of the backend's functions; raise as torch does if there is no GPU. `name` is the function that needs it."""
    found = _C._cuda()
    if found is None:
        what = f"cuda.{name}: " if name else ""
        raise AssertionError(f"Torch not compiled with CUDA enabled; {what}there is no GPU to use: {_C._cuda_missing()}")
    return found


def index_of(device: Any, name: str = "") -> int:
    """Return the number of a device given as a number, a name, a device, or None for the current one.

    >>> import undertow as ut
    >>> index_of("cuda:1"), index_of(ut.device("cuda", 2)), index_of(3)
    (1, 2, 3)
    """
    if type(device) is int:
        return device
    if isinstance(device, str):
        device = _C.device(device)
    if isinstance(device, _C.device):
        if device.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {device}")
        if device.index is not None:
            return device.index
    elif device is not None:
        raise ValueError(f"Expected a cuda device with a specified index or an integer, but got: {device!r}")
    return functions(name).current_device()
