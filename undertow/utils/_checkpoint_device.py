"""Random states of accelerators in checkpoints, besides the CPU's. There is no accelerator yet."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
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


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """Return the accelerators of the arguments and their random states: none for CPU tensors; the CPU's state is stored separately."""
    return [], []


def set_device_states(devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None) -> None:
    """Restore the random states returned by `get_device_states`."""
    if len(devices) != len(states):
        raise ValueError(f"set_device_states: {len(devices)} devices and {len(states)} states; expected one state for each device")
    if devices:
        raise RuntimeError(f"set_device_states: device {devices[0]}: this build supports only the CPU")
