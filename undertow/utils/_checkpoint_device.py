"""Which accelerator's random state a checkpoint keeps beside the CPU's. Knows devices by name alone: there is none yet."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow import Tensor


class DefaultDeviceType:
    """The device type checkpoints assume where no argument lies on another than the CPU.

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
    """The accelerators the arguments lie on and their random states: none, for tensors of the CPU, whose state is kept apart."""
    return [], []


def set_device_states(devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None) -> None:
    """Gives accelerators the random states that `get_device_states` gave."""
    if len(devices) != len(states):
        raise ValueError(f"set_device_states: {len(devices)} devices and {len(states)} states; expected one state for each device")
    if devices:
        raise RuntimeError(f"set_device_states: device {devices[0]}: this build has the CPU alone")
