"""Batch and instance normalisation that infer their number of features from the first input."""

from __future__ import annotations

import undertow
from undertow._C import Parameter, Tensor
from undertow.nn.modules.batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from undertow.nn.modules.instancenorm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from undertow.nn.modules.lazy import LazyModuleMixin
from undertow.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]


class _LazyNorm(LazyModuleMixin):
    """Normalisation that infers num_features from its first input."""

    affine: bool
    track_running_stats: bool
    weight: Parameter
    bias: Parameter
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None
    num_features: int

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False)
        kind = {"device": device, "dtype": dtype}
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            self.weight = UninitializedParameter(**kind)
            if bias:
                self.bias = UninitializedParameter(**kind)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**kind)
            self.running_var = UninitializedBuffer(**kind)
            self.num_batches_tracked = undertow.tensor(0, dtype=undertow.int64, device=device)

    def reset_parameters(self) -> None:
        """Set initial values, once the shapes are known."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()  # type: ignore[misc]  # of the layer that follows among the bases

    def initialize_parameters(self, input: Tensor) -> None:
        """Set num_features from the input's channels."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            for waiting in (*self._parameters.values(), *self._buffers.values()):
                if is_lazy(waiting):
                    waiting.materialize((self.num_features,))
            self.reset_parameters()


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """A `BatchNorm1d` that infers num_features from its first input."""

    cls_to_become: type[Any] = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """A `BatchNorm2d` that infers num_features from its first input."""

    cls_to_become: type[Any] = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """A `BatchNorm3d` that infers num_features from its first input."""

    cls_to_become: type[Any] = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """An `InstanceNorm1d` that infers num_features from its first input."""

    cls_to_become: type[Any] = InstanceNorm1d
    _spatial = 1


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """An `InstanceNorm2d` that infers num_features from its first input."""

    cls_to_become: type[Any] = InstanceNorm2d
    _spatial = 2


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """An `InstanceNorm3d` that infers num_features from its first input."""

    cls_to_become: type[Any] = InstanceNorm3d
    _spatial = 3
