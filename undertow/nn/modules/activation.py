"""Activations as modules; the functions are in nn.functional."""

from __future__ import annotations

import undertow
from undertow._C import Parameter, Tensor
from undertow._lazy import names_from
from undertow.nn import functional as F
from undertow.nn import init
from undertow.nn.modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class _Inplace(Module):
    """An activation without parameters that can work in place."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Return `inplace=True` if set."""
        return "inplace=True" if self.inplace else ""


class ReLU(_Inplace):
    """max(x, 0)."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation."""
        return F.relu(input, inplace=self.inplace)


class SELU(_Inplace):
    """The self-normalising exponential unit."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation."""
        return F.selu(input, self.inplace)


class SiLU(_Inplace):
    """x * sigmoid(x)."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation."""
        return F.silu(input, inplace=self.inplace)


class Mish(_Inplace):
    """x * tanh(softplus(x))."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation."""
        return F.mish(input, inplace=self.inplace)


class Hardsigmoid(_Inplace):
    """clamp(x / 6 + 1/2, 0, 1)."""

    def extra_repr(self) -> str:
        """Return an empty string, as in torch."""
        return ""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation."""
        return F.hardsigmoid(input, self.inplace)


class Hardswish(_Inplace):
    """x * hardsigmoid(x)."""

    def extra_repr(self) -> str:
        """Return an empty string, as in torch."""
        return ""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation."""
        return F.hardswish(input, self.inplace)


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation."""
        return undertow.sigmoid(input)


class Tanh(Module):
    """tanh(x)."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation."""
        return undertow.tanh(input)


class LogSigmoid(Module):
    """log(sigmoid(x))."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation."""
        return F.logsigmoid(input)


class Softsign(Module):
    """x / (1 + |x|)."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation."""
        return F.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x)."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation."""
        return F.tanhshrink(input)


class GELU(Module):
    """x times the cumulative normal distribution function of x, or its tanh approximation."""

    def __init__(self, approximate: Literal["none", "tanh"] = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """Return the approximation."""
        return f"approximate={self.approximate!r}"


class GLU(Module):
    """The first half along dim times the sigmoid of the second half."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation."""
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        """Return the dimension."""
        return f"dim={self.dim}"


class Threshold(Module):
    """x where it exceeds `threshold`, `value` elsewhere."""

    threshold: float
    value: float
    inplace: bool

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation."""
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        """Return threshold and value."""
        return f"threshold={self.threshold}, value={self.value}" + (", inplace=True" if self.inplace else "")


class Hardtanh(Module):
    """clamp(x, min_val, max_val)."""

    min_val: float
    max_val: float

    def __init__(
        self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False, min_value: float | None = None, max_value: float | None = None
    ) -> None:
        super().__init__()
        for old, new in (("min_value", min_value), ("max_value", max_value)):
            if new is not None:
                import warnings

                warnings.warn(f"keyword argument `{old}` is deprecated and rename to `{old[:-2]}`", FutureWarning, stacklevel=2)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if not self.max_val > self.min_val:
            raise AssertionError("max_val must be larger than min_val")

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        """Return the bounds."""
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


class ReLU6(Hardtanh):
    """clamp(x, 0, 6)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """Return `inplace=True` if set."""
        return "inplace=True" if self.inplace else ""


class ELU(Module):
    """x, or alpha * (exp(x) - 1) below zero."""

    alpha: float
    inplace: bool

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation."""
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """Return alpha."""
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class CELU(ELU):
    """x, or alpha * (exp(x / alpha) - 1) below zero."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation."""
        return F.celu(input, self.alpha, self.inplace)


class LeakyReLU(Module):
    """x, or negative_slope * x below zero."""

    negative_slope: float
    inplace: bool

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        """Return the slope."""
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class RReLU(Module):
    """LeakyReLU with a random slope for each element in training mode."""

    lower: float
    upper: float
    inplace: bool

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """Return the bounds."""
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class PReLU(Module):
    """LeakyReLU with a learnable slope, one in total or one per channel."""

    num_parameters: int
    init: float
    weight: Parameter

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(undertow.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set all slopes to the initial value."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """Return the number of slopes."""
        return f"num_parameters={self.num_parameters}"


class Softplus(Module):
    """log(1 + exp(beta x)) / beta, and x itself where beta x exceeds threshold."""

    beta: float
    threshold: float

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """Return beta and threshold."""
        return f"beta={self.beta}, threshold={self.threshold}"


class Hardshrink(Module):
    """x, or zero between -lambd and lambd."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation."""
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """Return lambd."""
        return f"{self.lambd}"


class Softshrink(Hardshrink):
    """x moved towards zero by lambd, and zero between -lambd and lambd."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation."""
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """Return lambd."""
        return str(self.lambd)


class Softmin(Module):
    """softmax(-x)."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("dim", None)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation."""
        return F.softmin(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        """Return the dimension."""
        return f"dim={self.dim}"


class Softmax(Softmin):
    """exp(x) divided by its sum along dim."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation."""
        return F.softmax(input, self.dim, _stacklevel=5)


class LogSoftmax(Softmin):
    """log(softmax(x))."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation."""
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """softmax over the channels of each pixel."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation."""
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)


if not TYPE_CHECKING:  # torch has these names here; type checkers find them in their own modules
    __getattr__ = names_from(
        __name__,
        {
            "undertow.nn.modules.attention": "MultiheadAttention",
        },
    )
