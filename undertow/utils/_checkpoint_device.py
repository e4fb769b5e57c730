"""State that a recomputation restores besides the CPU's random numbers: autocast, and random states of accelerators (there are none yet)."""

from __future__ import annotations

import contextlib
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from undertow import Tensor


class DefaultDeviceType:
    """The device type that checkpoints assume if all arguments are on the CPU.

    >>> DefaultDeviceType.get_device_type()
    'cpu'
    """

    _default_device_type = "cpu"

    @staticmethod
    def set_device_type(device: str = "cpu") -> None:
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        return DefaultDeviceType._default_device_type


def autocast_state() -> tuple[bool, Any]:
    """Return whether autocast is enabled for the CPU, and its dtype."""
    module = sys.modules.get("undertow.amp.autocast_mode")  # not imported: never enabled
    return (False, None) if module is None else (module.is_autocast_enabled("cpu"), module.get_autocast_dtype("cpu"))


def restored_autocast(state: tuple[bool, Any]) -> AbstractContextManager[Any]:
    """Return a context manager in which autocast is as it was when `state` was taken."""
    enabled, dtype = state
    if not enabled and not autocast_state()[0]:
        return contextlib.nullcontext()
    from undertow.amp.autocast_mode import autocast

    return autocast("cpu", dtype=dtype, enabled=enabled)


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """Return the accelerators of the arguments and their random states: none for CPU tensors; the CPU's state is stored separately."""
    return [], []


def set_device_states(devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None) -> None:
    """Restore the random states returned by `get_device_states`."""
    if len(devices) != len(states):
        raise ValueError(f"set_device_states: {len(devices)} devices and {len(states)} states; expected one state for each device")
    if devices:
        raise RuntimeError(f"set_device_states: device {devices[0]}: this build supports only the CPU")
