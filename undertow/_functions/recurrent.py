"""Recurrent functions: lstm, gru, rnn_tanh and rnn_relu over sequences, and one step of each.

A layer's input is multiplied by its weights for all steps at once; only the part that depends on the previous step runs step by step.
An LSTM over padded float32 or float64 sequences runs as one operator of the core (ops/recurrent.toml), everything else as the steps in this file.
"""

from __future__ import annotations

import undertow
from undertow import _C
from undertow._C import Tensor
from undertow._override import overridable
from undertow.nn.functional import dropout as drop
from undertow.nn.functional import linear

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    State = tuple[Tensor, ...]
    Step = Callable[[Tensor, State, "_Weights"], State]

__all__ = ["gru", "gru_cell", "lstm", "lstm_cell", "rnn_relu", "rnn_relu_cell", "rnn_tanh", "rnn_tanh_cell"]


class _Weights:
    """The weights of one direction of one layer; biases and the projection may be None."""

    __slots__ = ("w_ih", "w_hh", "b_ih", "b_hh", "w_hr")

    def __init__(self, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None, w_hr: Tensor | None = None) -> None:
        self.w_ih, self.w_hh, self.b_ih, self.b_hh, self.w_hr = w_ih, w_hh, b_ih, b_hh, w_hr


# -- one step: the next state from the input's part of the gates and the previous state -------------------------------


def _lstm_step(gates: Tensor, state: State, w: _Weights) -> State:
    h, c = state
    i, f, g, o = (gates + linear(h, w.w_hh, w.b_hh)).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    h = o.sigmoid() * c.tanh()
    return (h if w.w_hr is None else linear(h, w.w_hr)), c


def _gru_step(gates: Tensor, state: State, w: _Weights) -> State:
    (h,) = state
    input_r, input_z, input_n = gates.chunk(3, -1)
    hidden_r, hidden_z, hidden_n = linear(h, w.w_hh, w.b_hh).chunk(3, -1)
    z = (input_z + hidden_z).sigmoid()
    n = (input_n + (input_r + hidden_r).sigmoid() * hidden_n).tanh()
    return ((h - n) * z + n,)


def _tanh_step(gates: Tensor, state: State, w: _Weights) -> State:
    return ((gates + linear(state[0], w.w_hh, w.b_hh)).tanh(),)


def _relu_step(gates: Tensor, state: State, w: _Weights) -> State:
    return ((gates + linear(state[0], w.w_hh, w.b_hh)).relu(),)


# -- one direction of one layer, over a padded sequence as one operator ----------------------------------------------

_WHOLE = (undertow.float32, undertow.float64)
_lstm_layer = _C._ops["_nn.lstm_layer"]


def _is_plain(tensors: Sequence[Tensor | None]) -> bool:
    """Whether neither forward mode nor vmap is in use: the fused operator supports neither, the separate steps support both."""
    from undertow.autograd import forward_ad

    return forward_ad._current_level < 0 and all(_C._batched_level(t) < 0 for t in tensors)


def _whole_lstm(input: Tensor, state: State, w: _Weights, reverse: bool) -> tuple[Tensor, State]:
    bias = None if w.b_ih is None or w.b_hh is None else w.b_ih + w.b_hh
    output, cells, _ = _lstm_layer(linear(input, w.w_ih, bias), *state, w.w_hh, reverse)
    last = 0 if reverse else -1
    return output, (output[last], cells[last])


# -- one direction of one layer, step by step --------------------------------------------------------------------------------------


def _layer(step: Step, input: Tensor, state: State, w: _Weights, reverse: bool) -> tuple[Tensor, State]:
    """Run one direction of a layer over a padded sequence of shape (time, batch, features)."""
    if step is _lstm_step and w.w_hr is None and input.dtype in _WHOLE and _is_plain((input, *state, w.w_ih, w.w_hh, w.b_ih, w.b_hh)):
        return _whole_lstm(input, state, w, reverse)
    gates = linear(input, w.w_ih, w.b_ih).unbind(0)
    out = []
    for gate in reversed(gates) if reverse else gates:
        state = step(gate, state, w)
        out.append(state[0])
    return undertow.stack(out[::-1] if reverse else out), state


def _packed_layer(step: Step, data: Tensor, sizes: list[int], state: State, w: _Weights, reverse: bool) -> tuple[Tensor, State]:
    """Run one direction of a layer over packed sequences, longest first: step t has the rows of the first sizes[t] sequences."""
    gates = linear(data, w.w_ih, w.b_ih).split(sizes)
    out = []
    if not reverse:
        ended: list[State] = []
        for gate, size in zip(gates, sizes, strict=True):
            running = state[0].size(0)
            if size < running:
                ended.append(tuple(s[size:] for s in state))
                state = tuple(s[:size] for s in state)
            state = step(gate, state, w)
            out.append(state[0])
        return undertow.cat(out), tuple(undertow.cat(parts) for parts in zip(*[state, *reversed(ended)], strict=True))
    first = state
    state = tuple(s[: sizes[-1]] for s in first)
    for gate, size in zip(reversed(gates), reversed(sizes), strict=True):
        running = state[0].size(0)
        if size > running:
            state = tuple(undertow.cat((s, f[running:size])) for s, f in zip(state, first, strict=True))
        state = step(gate, state, w)
        out.append(state[0])
    return undertow.cat(out[::-1]), state


# -- all layers ------------------------------------------------------------------------------------------------------


def _grouped(params: Sequence[Tensor], has_biases: bool, projected: bool, directions: int) -> list[_Weights]:
    size = 2 + 2 * has_biases + projected
    if len(params) % size or len(params) // size != directions:
        raise RuntimeError(f"got an incorrect number of RNN parameters: {len(params)}; expected {size} for each layer and direction, {directions}")
    groups = [params[k : k + size] for k in range(0, len(params), size)]
    if projected and not has_biases:
        return [_Weights(g[0], g[1], w_hr=g[2]) for g in groups]
    return [_Weights(*g) for g in groups]


def _stacked(
    step: Step, input: Tensor, sizes: list[int] | None, states: State, weights: list[_Weights], layers: int, directions: int, dropout: float
) -> tuple[Tensor, State]:
    """Run the layers, each over the outputs of the previous one; return the last layer's outputs and the final states."""
    if states[0].size(0) != layers * directions:
        raise RuntimeError(f"Expected {'more' if states[0].size(0) < layers * directions else 'fewer'} hidden states in stacked_rnn")
    final: list[State] = []
    for layer in range(layers):
        outs = []
        for direction in range(directions):
            k = layer * directions + direction
            first = tuple(s[k] for s in states)
            if sizes is None:
                out, last = _layer(step, input, first, weights[k], reverse=direction == 1)
            else:
                out, last = _packed_layer(step, input, sizes, first, weights[k], reverse=direction == 1)
            outs.append(out)
            final.append(last)
        input = outs[0] if directions == 1 else undertow.cat(outs, -1)
        if dropout and layer < layers - 1:
            input = drop(input, dropout)
    return input, tuple(undertow.stack(parts) for parts in zip(*final, strict=True))


def _run(step: Step, args: tuple[Any, ...], projected: bool = False) -> Any:
    """Parse the two signatures that all four functions have (padded and packed), and run the layers."""
    packed = isinstance(args[2], (Tensor, list, tuple)) and isinstance(args[3], (list, tuple))
    if packed:
        input, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional = args
        batch_first, sizes = False, batch_sizes.tolist()
    else:
        input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first = args
        sizes = None
    states = (hx,) if isinstance(hx, Tensor) else tuple(hx)
    directions = 2 if bidirectional else 1
    if batch_first:
        input = input.transpose(0, 1)
    if sizes is None and input.size(0) == 0:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    weights = _grouped(params, has_biases, projected, num_layers * directions)
    output, final = _stacked(step, input, sizes, states, weights, num_layers, directions, dropout if train else 0.0)
    return (output.transpose(0, 1) if batch_first else output), *final


def lstm(*args: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Run a long short-term memory (LSTM); return outputs, last hidden states and last cell states.

    `lstm(input, (h, c), params, has_biases, num_layers, dropout, train, bidirectional, batch_first)`, or for packed sequences
    `lstm(data, batch_sizes, (h, c), params, has_biases, num_layers, dropout, train, bidirectional)`.
    """
    hx = args[2] if isinstance(args[3], (list, tuple)) else args[1]
    if len(hx) != 2:
        raise RuntimeError("lstm expects two hidden states")
    return _run(_lstm_step, args, projected=hx[0].size(-1) != hx[1].size(-1))


def gru(*args: Any) -> tuple[Tensor, Tensor]:
    """Run gated recurrent units (GRU); return outputs and last hidden states. Arguments as for `lstm`, with one state."""
    return _run(_gru_step, args)


def rnn_tanh(*args: Any) -> tuple[Tensor, Tensor]:
    """Run an Elman recurrent network with tanh; return outputs and last hidden states. Arguments as for `lstm`, with one state."""
    return _run(_tanh_step, args)


def rnn_relu(*args: Any) -> tuple[Tensor, Tensor]:
    """Run an Elman recurrent network with relu; return outputs and last hidden states. Arguments as for `lstm`, with one state."""
    return _run(_relu_step, args)


# -- cells -----------------------------------------------------------------------------------------------------------


def _check_cell(name: str, input: Tensor, states: State, w: _Weights, gates: int) -> None:
    hidden = w.w_hh.size(1)
    if input.size(-1) != w.w_ih.size(1):
        raise RuntimeError(f"input has inconsistent input_size: got {input.size(-1)} expected {w.w_ih.size(1)}")
    for k, state in enumerate(states):
        if input.dim() == 2 and state.size(0) != input.size(0):
            raise RuntimeError(f"Input batch size {input.size(0)} doesn't match hidden{k} batch size {state.size(0)}")
        if state.size(-1) != hidden:
            raise RuntimeError(f"hidden{k} has inconsistent hidden_size: got {state.size(-1)}, expected {hidden}")
    for what, weight in (("weight_ih", w.w_ih), ("weight_hh", w.w_hh)):
        if weight.size(0) != gates * hidden:
            raise RuntimeError(f"{what} first dim must be {gates} * hidden_size = {gates * hidden}, but got {weight.size(0)}")


def _cell(name: str, step: Step, gates: int, input: Tensor, states: State, w: _Weights) -> Any:
    _check_cell(name, input, states, w, gates)
    return step(linear(input, w.w_ih, w.b_ih), states, w)


@overridable
def lstm_cell(
    input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Run one step of `lstm`; return the new hidden and cell states."""
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    return _cell("lstm_cell", _lstm_step, 4, input, tuple(hx), _Weights(w_ih, w_hh, b_ih, b_hh))


@overridable
def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """Run one step of `gru`; return the new hidden state."""
    return _cell("gru_cell", _gru_step, 3, input, (hx,), _Weights(w_ih, w_hh, b_ih, b_hh))[0]


@overridable
def rnn_tanh_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """Run one step of `rnn_tanh`; return the new hidden state."""
    return _cell("rnn_tanh_cell", _tanh_step, 1, input, (hx,), _Weights(w_ih, w_hh, b_ih, b_hh))[0]


@overridable
def rnn_relu_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """Run one step of `rnn_relu`; return the new hidden state."""
    return _cell("rnn_relu_cell", _relu_step, 1, input, (hx,), _Weights(w_ih, w_hh, b_ih, b_hh))[0]
