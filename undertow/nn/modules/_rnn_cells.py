"""Modules that compute one step of a recurrent layer: RNNCell, LSTMCell, GRUCell."""

from __future__ import annotations

import math

import undertow
from undertow._C import Parameter, Tensor
from undertow._functions import recurrent as _recurrent
from undertow.nn import init
from undertow.nn.modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class RNNCellBase(Module):
    """Base class of the cells: the weights."""

    input_size: int
    hidden_size: int
    bias: bool
    weight_ih: Parameter
    weight_hh: Parameter
    __constants__: list[str] = ["input_size", "hidden_size", "bias"]

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        kind = {"device": device, "dtype": dtype}
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        self.weight_ih = Parameter(undertow.empty((num_chunks * hidden_size, input_size), **kind))
        self.weight_hh = Parameter(undertow.empty((num_chunks * hidden_size, hidden_size), **kind))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(undertow.empty(num_chunks * hidden_size, **kind)) if bias else None)
        self.reset_parameters()

    def extra_repr(self) -> str:
        """Return the sizes, and options that are not the default."""
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text

    def reset_parameters(self) -> None:
        """Initialize all weights uniformly in +-1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _check(self, input: Tensor, *states: tuple[str, Tensor | None]) -> None:
        name = self._get_name()
        for what, t in (("input", input), *states):
            if t is not None and t.dim() not in (1, 2):
                raise ValueError(f"{name}: Expected {what} to be 1D or 2D, got {t.dim()}D instead")

    def _zeros(self, input: Tensor) -> Tensor:
        return input.new_zeros((input.size(0), self.hidden_size))

    def _weights(self) -> tuple[Any, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _step(self, function: Any, input: Tensor, hx: Tensor | None) -> Tensor:
        """Run a cell with one state, for a batch or a single row."""
        self._check(input, ("hidden", hx))
        is_batched = input.dim() == 2
        rows = input if is_batched else input.unsqueeze(0)
        if hx is None:
            hx = self._zeros(rows)
        elif not is_batched:
            hx = hx.unsqueeze(0)
        out = function(rows, hx, *self._weights())
        return out if is_batched else out.squeeze(0)


class RNNCell(RNNCellBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or with relu instead of tanh.

    >>> import undertow as ut
    >>> ut.nn.RNNCell(10, 20)(ut.ones(3, 10)).shape
    undertow.Size([3, 20])
    """

    __constants__: list[str] = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the new state."""
        function = {"tanh": _recurrent.rnn_tanh_cell, "relu": _recurrent.rnn_relu_cell}.get(self.nonlinearity)
        if function is None:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(function, input, hx)


class LSTMCell(RNNCellBase):
    """One step of a long short-term memory: (h, c).

    >>> import undertow as ut
    >>> h, c = ut.nn.LSTMCell(10, 20)(ut.ones(3, 10))
    >>> h.shape
    undertow.Size([3, 20])
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """Return the new states."""
        c: Any  # None where h is
        h, c = hx if hx is not None else (None, None)
        self._check(input, ("hx[0]", h), ("hx[1]", c))
        is_batched = input.dim() == 2
        rows = input if is_batched else input.unsqueeze(0)
        if h is None:
            h = c = self._zeros(rows)
        elif not is_batched:
            h, c = h.unsqueeze(0), c.unsqueeze(0)
        out = _recurrent.lstm_cell(rows, (h, c), *self._weights())
        return out if is_batched else (out[0].squeeze(0), out[1].squeeze(0))


class GRUCell(RNNCellBase):
    """One step of a gated recurrent unit.

    >>> import undertow as ut
    >>> ut.nn.GRUCell(10, 20)(ut.ones(10)).shape
    undertow.Size([20])
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the new state."""
        return self._step(_recurrent.gru_cell, input, hx)
