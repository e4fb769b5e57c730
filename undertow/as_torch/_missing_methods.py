"""Tensor methods that torch has and Undertow does not have: while as_torch is installed, accessing one raises with the reason."""

from __future__ import annotations

from undertow import _missing_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TENSOR_METHODS = (
    "ccol_indices chalf coalesce col_indices crow_indices dense_dim dequantize indices int_repr ipu is_coalesced "
    "map2_ mtia q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qscheme "
    "resize_as_sparse_ row_indices smm sparse_dim sparse_mask sparse_resize_ "
    "sparse_resize_and_clear_ sspaddmm to_mkldnn to_padded_tensor to_sparse to_sparse_bsc to_sparse_bsr "
    "to_sparse_coo to_sparse_csc to_sparse_csr values align_to align_as refine_names rename rename_ symeig eig lstsq solve"
)


class _Absent:
    """Descriptor of a missing method: access raises AttributeError with the reason, so `hasattr` is False."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        raise AttributeError(_missing_names.sentence(f"torch.Tensor.{self.name}"), name=self.name, obj=instance)


def mark_tensor_methods() -> None:
    """Make missing tensor methods raise with the reason why they are missing."""
    from undertow import Tensor

    for name in TENSOR_METHODS.split():
        if name not in vars(Tensor):
            setattr(Tensor, name, _Absent(name))


def unmark_tensor_methods() -> None:
    """Undo `mark_tensor_methods`."""
    from undertow import Tensor

    for name in TENSOR_METHODS.split():
        if isinstance(vars(Tensor).get(name), _Absent):
            delattr(Tensor, name)
