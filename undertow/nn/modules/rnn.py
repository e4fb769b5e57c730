"""Recurrent layers: RNN, LSTM, GRU over sequences. Cells are in _rnn_cells.py, the functions in undertow/_functions/recurrent.py."""

from __future__ import annotations

import math
import numbers
import warnings

import undertow
from undertow._C import Parameter, Tensor
from undertow._functions import recurrent as _recurrent
from undertow.nn import init
from undertow.nn.modules._rnn_cells import GRUCell, LSTMCell, RNNCell, RNNCellBase
from undertow.nn.modules.module import Module
from undertow.nn.utils.rnn import PackedSequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
_FUNCTIONS = {"LSTM": _recurrent.lstm, "GRU": _recurrent.gru, "RNN_TANH": _recurrent.rnn_tanh, "RNN_RELU": _recurrent.rnn_relu}


def _check_options(input_size: Any, hidden_size: Any, num_layers: int, dropout: Any, proj_size: int, switches: dict[str, Any]) -> None:
    for name, value in switches.items():
        if not isinstance(value, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(value).__name__}")
    if not isinstance(dropout, numbers.Number) or not 0 <= dropout <= 1 or isinstance(dropout, bool):  # type: ignore[operator]  # complex raises
        raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
    if dropout > 0 and num_layers == 1:  # type: ignore[operator]  # compared above
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater than 1, "
            f"but got dropout={dropout} and num_layers={num_layers}",
            stacklevel=4,
        )
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size)):
        if not isinstance(value, int):
            raise TypeError(f"{name} should be of type int, got: {type(value).__name__}")
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


class RNNBase(Module):
    """Base class of RNN, LSTM and GRU: parameters by layer and direction, checks, and the call."""

    mode: str
    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    proj_size: int
    __constants__: list[str] = ["mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional", "proj_size"]
    _names: tuple[str, ...] = ("hx",)  # names of the states in error messages

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_options(input_size, hidden_size, num_layers, dropout, proj_size, {"bias": bias, "batch_first": batch_first})
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._all_weights: list[list[str]] = []
        self._flat_weights_names: list[str] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[: 2 if bidirectional else 1]:
                self._add_weights(layer, f"_l{layer}{suffix}", {"device": device, "dtype": dtype})
        self.reset_parameters()

    def _add_weights(self, layer: int, suffix: str, kind: dict[str, Any]) -> None:
        gates, out = _GATES[self.mode] * self.hidden_size, self.proj_size or self.hidden_size
        input_size = self.input_size if layer == 0 else out * (2 if self.bidirectional else 1)
        shapes: dict[str, tuple[int, ...]] = {"weight_ih": (gates, input_size), "weight_hh": (gates, out)}
        if self.bias:
            shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        names = []
        for stem, shape in shapes.items():
            names.append(stem + suffix)
            setattr(self, stem + suffix, Parameter(undertow.empty(shape, **kind)))
        self._all_weights.append(names)
        self._flat_weights_names += names

    # Collected on every access: parameters may be replaced for a call (func.functional_call) or be parametrized.
    @property
    def _flat_weights(self) -> list[Tensor]:
        own = self._parameters
        return [own[name] if name in own else getattr(self, name) for name in self._flat_weights_names]

    @_flat_weights.setter
    def _flat_weights(self, weights: list[Tensor]) -> None:
        """Set the parameters from a list; libraries that replace parameters for a call assign to it."""
        for name, weight in zip(self._flat_weights_names, weights, strict=True):
            if getattr(self, name) is not weight:
                setattr(self, name, weight)

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """The weights of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Do nothing: in torch it makes the weights contiguous for GPU libraries."""

    def reset_parameters(self) -> None:
        """Initialize all weights uniformly in +-1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes, with the list of weights that torch's classes have, so that torch can use what we pickle."""
        own = [self._parameters.get(name) for name in self._flat_weights_names]
        return self.__dict__ if any(w is None for w in own) else {**self.__dict__, "_flat_weights": own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = {k: v for k, v in state.items() if k not in ("_flat_weights", "_flat_weight_refs")}
        super().__setstate__(state)
        self.__dict__.setdefault("proj_size", 0)

    # -- checks ------------------------------------------------------------------------------------------------------

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise if the dtype, number of dimensions or size of the input does not match the weights."""
        weight = self._flat_weights[0]
        if input.dtype != weight.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert input: input.to({weight.dtype}), "
                f"or convert model: model.to({input.dtype})"
            )
        expected = 3 if batch_sizes is None else 2
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}")

    def _batch(self, input: Tensor, batch_sizes: Tensor | None) -> int:
        return int(batch_sizes[0]) if batch_sizes is not None else input.size(0 if self.batch_first else 1)

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """Return the shape of the hidden states."""
        layers = self.num_layers * (2 if self.bidirectional else 1)
        return layers, self._batch(input, batch_sizes), self.proj_size or self.hidden_size

    def check_hidden_size(self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}") -> None:
        """Raise if the states have another shape."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Check the arguments of a call."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Return the states with the batch permuted."""
        return hx if permutation is None else hx.index_select(1, permutation)

    def _weights_have_changed(self) -> bool:
        return False

    # -- the call ----------------------------------------------------------------------------------------------------

    def _pack_states(self, states: tuple[Tensor, ...]) -> Any:
        return states[0]

    def _states(self, hx: Any) -> tuple[Tensor, ...]:
        return (hx,)

    def _zero_states(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[Tensor, ...]:
        return (input.new_zeros(self.get_expected_hidden_size(input, batch_sizes)),)

    def _check_ranks(self, states: tuple[Tensor, ...], is_batched: bool) -> None:
        rank = 3 if is_batched else 2
        if all(s.dim() == rank for s in states):
            return
        of = ", ".join(f"{s.dim()}-D" for s in states)
        got = f"({of}) tensors" if len(states) > 1 else f"{of} tensor"
        kind = "batched 3-D" if is_batched else "unbatched 2-D"
        raise RuntimeError(f"For {kind} input, {' and '.join(self._names)} should also be {rank}-D but got {got}")

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """Return the outputs of the last layer at every step, and the last states of every layer."""
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.dim() not in (2, 3):
            tail = " tensor" if self._get_name() == "RNN" else ""
            raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D{tail} instead")
        is_batched = input.dim() == 3
        if not is_batched:
            input = input.unsqueeze(0 if self.batch_first else 1)
        if hx is None:
            states = self._zero_states(input, None)
        else:
            states = self._states(hx)
            self._check_ranks(states, is_batched)
            if not is_batched:
                states = tuple(s.unsqueeze(1) for s in states)
        packed = self._pack_states(states)
        self.check_forward_args(input, packed, None)
        output, *final = _FUNCTIONS[self.mode](
            input, packed, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional, self.batch_first
        )
        if not is_batched:
            output = output.squeeze(0 if self.batch_first else 1)
            final = [s.squeeze(1) for s in final]
        return output, self._pack_states(tuple(final))

    def _forward_packed(self, sequence: PackedSequence, hx: Any) -> tuple[PackedSequence, Any]:
        data, batch_sizes, sorted_indices, unsorted_indices = sequence
        if hx is None:
            hx = self._pack_states(self._zero_states(data, batch_sizes))
        else:
            hx = self.permute_hidden(hx, sorted_indices)
        self.check_forward_args(data, hx, batch_sizes)
        output, *final = _FUNCTIONS[self.mode](
            data, batch_sizes, hx, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional
        )
        packed = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
        return packed, self.permute_hidden(self._pack_states(tuple(final)), unsorted_indices)

    def extra_repr(self) -> str:
        """Return sizes, and options that are not the default."""
        text = f"{self.input_size}, {self.hidden_size}"
        for name, default in (("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0), ("bidirectional", False)):
            value = getattr(self, name)
            if value != default:
                text += f", {name}={value}"
        return text


class RNN(RNNBase):
    """h = tanh(W_ih x + b_ih + W_hh h + b_hh), or with relu, over a sequence.

    >>> import undertow as ut
    >>> output, h = ut.nn.RNN(10, 20, 2)(ut.ones(5, 3, 10))
    >>> output.shape, h.shape
    (undertow.Size([5, 3, 20]), undertow.Size([2, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory over a sequence.

    >>> import undertow as ut
    >>> output, (h, c) = ut.nn.LSTM(10, 20, batch_first=True)(ut.ones(3, 5, 10))
    >>> output.shape, c.shape
    (undertow.Size([3, 5, 20]), undertow.Size([1, 3, 20]))
    """

    _names = ("hx", "cx")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """Return the shape of the cell states."""
        return self.num_layers * (2 if self.bidirectional else 1), self._batch(input, batch_sizes), self.hidden_size

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Check the arguments of a call."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden[0], self.get_expected_hidden_size(input, batch_sizes), "Expected hidden[0] size {}, got {}")
        self.check_hidden_size(hidden[1], self.get_expected_cell_size(input, batch_sizes), "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Return the states with the batch permuted."""
        return hx if permutation is None else tuple(h.index_select(1, permutation) for h in hx)

    def _pack_states(self, states: tuple[Tensor, ...]) -> Any:
        return states

    def _states(self, hx: Any) -> tuple[Tensor, ...]:
        return hx[0], hx[1]

    def _zero_states(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[Tensor, ...]:
        return (
            input.new_zeros(self.get_expected_hidden_size(input, batch_sizes)),
            input.new_zeros(self.get_expected_cell_size(input, batch_sizes)),
        )


class GRU(RNNBase):
    """Gated recurrent units over a sequence.

    >>> import undertow as ut
    >>> output, h = ut.nn.GRU(10, 20, bidirectional=True)(ut.ones(5, 3, 10))
    >>> output.shape, h.shape
    (undertow.Size([5, 3, 40]), undertow.Size([2, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)
