"""State that a recomputation restores besides the CPU's random numbers: autocast, and the random states of GPUs."""

from __future__ import annotations

import contextlib
import sys

import undertow
from undertow import _C
from undertow.utils._pytree import tree_leaves

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
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


def autocast_state() -> dict[str, tuple[bool, Any]]:
    """Return, for each device type, whether autocast is enabled, and its dtype."""
    module = sys.modules.get("undertow.amp.autocast_mode")  # not imported: never enabled
    return {} if module is None else {t: (module.is_autocast_enabled(t), module.get_autocast_dtype(t)) for t in ("cpu", "cuda")}


def restored_autocast(state: dict[str, tuple[bool, Any]]) -> AbstractContextManager[Any]:
    """Return a context manager in which autocast is as it was when `state` was taken."""
    stack = contextlib.ExitStack()
    now = autocast_state()
    for device_type in {*state, *now}:
        (enabled, dtype), (is_on, _) = state.get(device_type, (False, None)), now.get(device_type, (False, None))
        if enabled or is_on:
            from undertow.amp.autocast_mode import autocast

            stack.enter_context(autocast(device_type, dtype=dtype, enabled=enabled))
    return stack


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """Return the GPUs of the tensors among the arguments and their random states; the CPU's state is stored separately."""
    devices = sorted({a.get_device() for a in tree_leaves(args) if isinstance(a, _C.Tensor) and a.is_cuda}) if _C._cuda_is_open() else []
    return devices, [undertow.cuda.get_rng_state(i) for i in devices]


def set_device_states(devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None) -> None:
    """Restore the random states returned by `get_device_states`."""
    if len(devices) != len(states):
        raise ValueError(f"set_device_states: {len(devices)} devices and {len(states)} states; expected one state for each device")
    for device, state in zip(devices, states, strict=True):
        undertow.cuda.set_rng_state(state, device)


@contextlib.contextmanager
def forked_device_states(devices: Sequence[int], states: Sequence[Tensor]) -> Iterator[None]:
    """Context manager in which the random states of GPUs are these; afterwards they are as before."""
    before = [undertow.cuda.get_rng_state(i) for i in devices]
    set_device_states(devices, states)
    try:
        yield
    finally:
        set_device_states(devices, before)
