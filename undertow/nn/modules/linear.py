"""Linear layers."""

from __future__ import annotations

import math

import undertow
from undertow._C import Parameter, Tensor
from undertow._lazy import names_from
from undertow.nn import functional as F
from undertow.nn import init
from undertow.nn.modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Bilinear", "Identity", "Linear"]


class Identity(Module):
    """Returns its input; accepts and ignores any arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """Return the input."""
        return input


class Linear(Module):
    """x @ weight.T + bias.

    >>> import undertow as ut
    >>> ut.nn.Linear(20, 30)(ut.ones(128, 20)).shape
    undertow.Size([128, 30])
    """

    bias: Parameter
    in_features: int
    out_features: int
    weight: Tensor

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(undertow.empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(undertow.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize weight and bias uniformly in +-1/sqrt(in_features)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """Return the product."""
        # Bypasses __getattr__: parameters are not in the object's __dict__, so `self.weight` first fails the normal lookup, which costs 0.7
        # us instead of 0.06 us, twice per call. A parametrized weight is a property and not in the dictionary.
        own = self._parameters
        return F.linear(input, own["weight"], own["bias"]) if "weight" in own and "bias" in own else F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """x1 A x2 + bias, with one matrix A per output feature."""

    in1_features: int
    in2_features: int
    out_features: int
    weight: Parameter
    bias: Parameter

    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = Parameter(undertow.empty((out_features, in1_features, in2_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(undertow.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize weight and bias uniformly in +-1/sqrt(in1_features)."""
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """Return the product."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, bias={self.bias is not None}"


if not TYPE_CHECKING:  # torch has these names here; type checkers find them in their own modules
    __getattr__ = names_from(
        __name__,
        {
            "undertow.nn.modules._lazy_layers": "LazyLinear",
            "undertow.nn.modules.attention": "NonDynamicallyQuantizableLinear",
        },
    )
