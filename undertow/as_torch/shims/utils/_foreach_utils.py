"""`torch.utils._foreach_utils`: groups of tensors for joint updates."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Return the non-CPU devices with foreach kernels: none."""
    return []


def _get_fused_kernels_supported_devices() -> list[str]:
    """Return the devices with fused optimizer kernels."""
    return ["cpu"]


def _device_has_foreach_support(device: Any) -> bool:
    return device.type == "cpu"


def _has_foreach_support(tensors: list[Any], device: Any) -> bool:
    return _device_has_foreach_support(device)


def _group_tensors_by_device_and_dtype(tensorlistlist: list[list[Any]], with_indices: bool = False) -> dict[Any, tuple[list[list[Any]], list[int]]]:
    """Group parallel lists by the device and dtype of the tensors in the first list.

    >>> import undertow as ut
    >>> groups = _group_tensors_by_device_and_dtype([[ut.ones(1), ut.ones(1, dtype=ut.float64)]], with_indices=True)
    >>> sorted(indices for _, indices in groups.values())
    [[0], [1]]
    """
    groups: dict[Any, tuple[list[list[Any]], list[int]]] = {}
    for i, each in enumerate(zip(*tensorlistlist, strict=True)):
        lists, indices = groups.setdefault((each[0].device, each[0].dtype), ([[] for _ in tensorlistlist], []))
        for column, tensor in zip(lists, each, strict=True):
            column.append(tensor)
        if with_indices:
            indices.append(i)
    return groups
