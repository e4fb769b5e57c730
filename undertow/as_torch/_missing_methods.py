"""Tensor methods that torch has and Undertow does not have: while as_torch is installed, accessing one raises with the reason."""

from __future__ import annotations

import warnings

from undertow import Tensor, _missing_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TENSOR_METHODS = (
    "chalf dequantize int_repr ipu "
    "map2_ mtia q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qscheme "
    "to_mkldnn to_padded_tensor align_to align_as refine_names rename rename_ symeig eig lstsq solve"
)


def volatile(self: Any) -> bool:
    """Return False: `Tensor.volatile` has had no effect since torch 0.4."""
    warnings.warn("volatile was removed (Variable.volatile is always False)", stacklevel=2)
    return False


def _set_volatile(self: Any, value: Any) -> None:
    warnings.warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.", stacklevel=2)


class _Absent:
    """Descriptor of a missing method: access raises AttributeError with the reason, so `hasattr` is False."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        raise AttributeError(_missing_names.sentence(f"torch.Tensor.{self.name}"), name=self.name, obj=instance)


def _dir(self: Any) -> list[str]:
    """Return the names of the attributes that the tensor has."""
    missing = {name for name in TENSOR_METHODS.split() if isinstance(vars(Tensor).get(name), _Absent)}
    if not self.is_cuda:
        missing = {*missing, "__cuda_array_interface__"}
    return sorted({*object.__dir__(self)} - missing - {"volatile"})


def mark_tensor_methods() -> None:
    """Make missing tensor methods raise with the reason why they are missing."""
    for name in TENSOR_METHODS.split():
        if name not in vars(Tensor):
            setattr(Tensor, name, _Absent(name))
    Tensor.volatile = property(volatile, _set_volatile)  # type: ignore[attr-defined]
    Tensor.__dir__ = _dir  # type: ignore[method-assign]


def unmark_tensor_methods() -> None:
    """Undo `mark_tensor_methods`."""
    for name in TENSOR_METHODS.split():
        if isinstance(vars(Tensor).get(name), _Absent):
            delattr(Tensor, name)
    del Tensor.volatile, Tensor.__dir__  # type: ignore[attr-defined]
