"""Normalisation of each channel of each sample."""

from __future__ import annotations

import warnings

from undertow._C import Tensor
from undertow._lazy import names_from
from undertow.nn import functional as F
from undertow.nn.modules.batchnorm import _NormBase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]


class _InstanceNorm(_NormBase):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _get_no_batch_dim(self) -> int:
        raise NotImplementedError

    def _upgrade_state(self, state_dict: dict[str, Any], prefix: str, version: int | None, error_msgs: list[str]) -> None:
        found = [name for name in ("running_mean", "running_var") if prefix + name in state_dict]
        if version is None and not self.track_running_stats and found:
            own, names = type(self).__name__, " and ".join(f'"{prefix}{name}"' for name in found)
            error_msgs.append(
                f"Unexpected running stats buffer(s) {names} for {own} with track_running_stats=False. If state_dict is a "
                f"checkpoint saved before 0.4.0, this may be expected because {own} does not track running stats by default "
                "since 0.4.0. Please remove these keys from state_dict. If the running stats are actually needed, instead set "
                f"track_running_stats=True in {own} to enable them. See the documentation of {own} for details."
            )
            for name in found:
                state_dict.pop(prefix + name)
        super()._upgrade_state(state_dict, prefix, version, error_msgs)

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalised input; a single sample may have no batch dimension."""
        self._check_input_dim(input)
        channels = input.dim() - self._get_no_batch_dim()
        if input.size(channels) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={channels} to match num_features ({self.num_features}), but got: {input.size(channels)}."
                )
            warnings.warn(
                f"input's size at dim={channels} does not match num_features. You can silence this warning by not passing in "
                "num_features, which is not used because affine=False",
                stacklevel=2,
            )
        alone = input.dim() == self._get_no_batch_dim()
        x = input.unsqueeze(0) if alone else input
        own = self.training or not self.track_running_stats
        momentum = 0.0 if self.momentum is None else self.momentum
        out = F.instance_norm(x, self.running_mean, self.running_var, self.weight, self.bias, own, momentum, self.eps)
        return out.squeeze(0) if alone else out


class InstanceNorm1d(_InstanceNorm):
    """Normalises each channel of each sample of (N, C, L) or (C, L).

    >>> import undertow as ut
    >>> ut.nn.InstanceNorm1d(1, eps=0.0)(ut.tensor([[[1.0, 3.0]], [[5.0, 5.5]]])).tolist()
    [[[-1.0, 1.0]], [[-1.0, 1.0]]]
    """

    def _get_no_batch_dim(self) -> int:
        return 2

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class InstanceNorm2d(_InstanceNorm):
    """Normalises each channel of each sample of (N, C, H, W) or (C, H, W)."""

    def _get_no_batch_dim(self) -> int:
        return 3

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (3, 4):
            raise ValueError(f"expected 3D or 4D input (got {input.dim()}D input)")


class InstanceNorm3d(_InstanceNorm):
    """Normalises each channel of each sample of (N, C, D, H, W) or (C, D, H, W)."""

    def _get_no_batch_dim(self) -> int:
        return 4

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (4, 5):
            raise ValueError(f"expected 4D or 5D input (got {input.dim()}D input)")


if not TYPE_CHECKING:  # torch has these names here; type checkers find them in their own modules
    __getattr__ = names_from(
        __name__,
        {
            "undertow.nn.modules._lazy_norms": "LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d",
        },
    )
