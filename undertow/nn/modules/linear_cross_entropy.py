"""`LinearCrossEntropyLoss`: a linear layer followed by the cross entropy of its outputs."""

from __future__ import annotations

import math

from undertow._C import Tensor
from undertow.nn import functional as F
from undertow.nn._linear_cross_entropy import LinearCrossEntropyOptions
from undertow.nn.modules.linear import Linear
from undertow.nn.modules.loss import _WeightedLoss

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["LinearCrossEntropyLoss", "LinearCrossEntropyOptions"]


class LinearCrossEntropyLoss(_WeightedLoss):
    """Cross entropy of `linear(input)`; with `out_features`, for that many positions at once.

    >>> import undertow as ut
    >>> LinearCrossEntropyLoss(3, 4)(ut.zeros(2, 3), ut.tensor([0, 1]))
    tensor(1.3863, grad_fn=<NllLossBackward0>)
    """

    num_classes: int
    out_features: tuple[int, ...]
    ignore_index: int | None
    label_smoothing: float
    linear: Linear
    __constants__: list[str] = ["num_classes", "out_features", "reduction", "ignore_index", "label_smoothing"]

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        if weight is not None and weight.shape != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight, None, None, reduction)
        self.num_classes, self.out_features = num_classes, out_features
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
        self.linear = Linear(in_features, num_classes * math.prod(out_features), bias=bias, device=device, dtype=dtype)
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compute the loss."""
        outputs = (self.num_classes, *self.out_features)
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape((*outputs, self.linear.in_features)),
            target,
            linear_bias=None if self.linear.bias is None else self.linear.bias.reshape(outputs),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        """Return the constructor's arguments."""
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
            f"bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
