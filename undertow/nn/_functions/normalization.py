"""Normalisations: torch's checks and options around the core's operators."""

from __future__ import annotations

import undertow
from undertow._C import Tensor, _ops
from undertow._override import overridable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__: list[str] = ["batch_norm", "group_norm", "instance_norm", "local_response_norm"]


def _check_values(size: Sequence[int], spatial_of: object = None) -> None:
    """Raise if there is only one value per channel, which has no variance."""
    count = 1
    for i, n in enumerate(size):
        count *= 1 if i == 1 else n
    if count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {spatial_of or size}")


@overridable
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise every channel (dimension 1) to mean 0 and variance 1; multiply by weight, add bias.

    In training the statistics of `input` are used, and the running statistics are updated with `momentum`; otherwise the running
    statistics are used.

    >>> import undertow as ut
    >>> batch_norm(ut.tensor([[1.0], [3.0]]), None, None, training=True, eps=1e-9).tolist()
    [[-1.0], [1.0]]
    """
    if training:
        _check_values(input.size())
        if eps <= 0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    elif eps < 0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    return _ops["batch_norm"](input, weight, bias, running_mean, running_var, training, momentum, eps, False)


@overridable
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise every channel of every sample to mean 0 and variance 1; multiply by weight, add bias."""
    if use_input_stats:
        points = 1
        for n in input.shape[2:]:
            points *= n
        if points == 1:
            raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.size()}")
    return _ops["instance_norm"](input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False)


@overridable
def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """Normalise groups of channels of every sample to mean 0 and variance 1; multiply by weight, add bias."""
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    n, c, *rest = input.shape
    _check_values([n * c // num_groups, num_groups, *rest], [n * c // num_groups, num_groups, *rest])
    return _ops["group_norm"](input, num_groups, weight, bias, eps)


@overridable
def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Divide `input` by (k + alpha * mean of squares)^beta, where the mean is over `size` neighbouring channels, zero-padded.

    >>> import undertow as ut
    >>> local_response_norm(ut.ones(1, 2, 1), 2, alpha=2.0, beta=1.0).flatten().tolist()
    [0.5, 0.3333333432674408]
    """
    dim = input.dim()
    if dim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {dim} dimensions)")
    if size <= 0:
        raise RuntimeError(f"kernel size should be greater than zero, but got {size}")
    if input.numel() == 0:
        return input
    total = channel_window_sum(input * input, size // 2, (size - 1) // 2)
    mean = total / size if input.is_floating_point() or input.is_complex() else total // size
    return input / mean.mul(alpha).add(k).pow(beta)


def channel_window_sum(input: Tensor, before: int, after: int) -> Tensor:
    """Return for each channel the sum of itself, `before` channels before it and `after` channels after it."""
    channels = input.shape[1]
    lead, rest = input.shape[:1], input.shape[2:]
    zeros = [undertow.zeros((*lead, n, *rest), dtype=input.dtype) for n in (before, after)]
    return undertow.cat([zeros[0], input, zeros[1]], 1).unfold(1, before + after + 1, 1).sum(-1)[:, :channels]
