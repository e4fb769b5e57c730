"""Normalisation of each channel over the batch."""

from __future__ import annotations

import undertow
from undertow._C import Parameter, Tensor
from undertow._lazy import names_from
from undertow.nn import functional as F
from undertow.nn import init
from undertow.nn.modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"]


class _NormBase(Module):
    """Base class of batch and instance normalisation: weight and bias of each channel, and running statistics."""

    num_features: int
    eps: float
    momentum: float | None
    affine: bool
    track_running_stats: bool
    _version = 2
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, Parameter(undertow.empty(num_features, device=device, dtype=dtype)) if wanted else None)
        if track_running_stats:
            self.register_buffer("running_mean", undertow.zeros(num_features, device=device, dtype=dtype))
            self.register_buffer("running_var", undertow.ones(num_features, device=device, dtype=dtype))
            self.register_buffer("num_batches_tracked", undertow.tensor(0, dtype=undertow.int64, device=device))
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Reset the running statistics: mean zero, variance one, no batches."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()  # type: ignore[union-attr]  # there with track_running_stats

    def reset_parameters(self) -> None:
        """Reset the running statistics, set weight to one and bias to zero."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        """Return sizes and settings."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _upgrade_state(self, state_dict: dict[str, Any], prefix: str, version: int | None, error_msgs: list[str]) -> None:
        """Add entries that are missing in the state of older versions: before version 2 the number of batches was not stored."""
        if (version is None or version < 2) and self.track_running_stats and prefix + "num_batches_tracked" not in state_dict:
            own = self.num_batches_tracked
            state_dict[prefix + "num_batches_tracked"] = own if own is not None else undertow.tensor(0, dtype=undertow.int64)

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        self._upgrade_state(state_dict, prefix, local_metadata.get("version"), error_msgs)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        """Return the normalised input; in training mode, update the running statistics."""
        self._check_input_dim(input)
        average = self._weight_of_batch()
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        kept = not self.training or self.track_running_stats
        return F.batch_norm(
            input, self.running_mean if kept else None, self.running_var if kept else None, self.weight, self.bias, by_batch, average, self.eps
        )

    def _weight_of_batch(self) -> float:
        """Count the batch in training mode, and return its weight in the running statistics."""
        average = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # cumulative average over all batches
                average = 1.0 / float(self.num_batches_tracked)
        return average


class BatchNorm1d(_BatchNorm):
    """Normalises each channel of (N, C) or (N, C, L) over the batch; then multiplies by a weight and adds a bias.

    >>> import undertow as ut
    >>> ut.nn.BatchNorm1d(1, eps=1e-9)(ut.tensor([[1.0], [3.0]])).tolist()
    [[-1.0], [1.0]]
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class BatchNorm2d(_BatchNorm):
    """Normalises each channel of (N, C, H, W) over the batch; then multiplies by a weight and adds a bias."""

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")


class BatchNorm3d(_BatchNorm):
    """Normalises each channel of (N, C, D, H, W) over the batch; then multiplies by a weight and adds a bias."""

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")


class SyncBatchNorm(_BatchNorm):
    """BatchNorm for any number of dimensions, with the statistics of the batches of all processes of a group."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        """Return the input normalised by the mean and the variance over all processes; without a process group as BatchNorm does."""
        from undertow import distributed

        if not self.training or not distributed.is_initialized() or distributed.get_world_size(self.process_group) == 1:
            return super().forward(input)
        from undertow.distributed._data_parallel.sync_batch_norm import normalized

        self._check_input_dim(input)
        mean, var = (self.running_mean, self.running_var) if self.track_running_stats else (None, None)
        return normalized(input, mean, var, self.weight, self.bias, self._weight_of_batch(), self.eps, self.process_group)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module | Self:
        """Replace every BatchNorm in `module` by an instance of this class with its parameters and statistics."""
        converted: Module = module
        if isinstance(module, _BatchNorm):
            converted = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            if module.affine:
                converted.weight, converted.bias = module.weight, module.bias
            converted.running_mean, converted.running_var = module.running_mean, module.running_var
            converted.num_batches_tracked, converted.training = module.num_batches_tracked, module.training
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted


if not TYPE_CHECKING:  # torch has these names here; type checkers find them in their own modules
    __getattr__ = names_from(
        __name__,
        {
            "undertow.nn.modules._lazy_norms": "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d",
        },
    )
