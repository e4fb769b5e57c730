"""Recurrent layers match their equations written out in NumPy; first and second derivatives agree with finite differences."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut

KINDS = ["RNN", "LSTM", "GRU"]
sigmoid = lambda x: 1 / (1 + np.exp(-x))


def one_step(kind, x, state, w_ih, w_hh, b_ih, b_hh, nonlinearity="tanh", w_hr=None):
    """The next state, whose first part is the output."""
    h = state[0]
    if kind == "RNN":
        total = w_ih @ x + b_ih + w_hh @ h + b_hh
        return [np.tanh(total) if nonlinearity == "tanh" else np.maximum(total, 0)]
    if kind == "LSTM":  # Hochreiter and Schmidhuber 1997, with a forget gate; input, forget, cell, output
        i, f, g, o = np.split(w_ih @ x + b_ih + w_hh @ h + b_hh, 4)
        c = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        return [h if w_hr is None else w_hr @ h, c]
    # Cho et al. 2014; reset, update, new
    (ri, zi, ni), (rh, zh, nh) = np.split(w_ih @ x + b_ih, 3), np.split(w_hh @ h + b_hh, 3)
    r, z = sigmoid(ri + rh), sigmoid(zi + zh)
    return [(1 - z) * np.tanh(ni + r * nh) + z * h]


def by_equations(layer, kind, x, states):
    """Outputs of the last layer (steps, batch, directions * size), and final states, for a layer in evaluation mode."""
    named = {name: p.detach().numpy() for name, p in layer.named_parameters()}
    directions = 2 if layer.bidirectional else 1
    finals = [[] for _ in states]
    for level in range(layer.num_layers):
        sides = []
        for side in range(directions):
            end = f"_l{level}" + "_reverse" * side
            w_ih, w_hh = named["weight_ih" + end], named["weight_hh" + end]
            zero = np.zeros(len(w_ih))
            b_ih, b_hh = named.get("bias_ih" + end, zero), named.get("bias_hh" + end, zero)
            options = {"nonlinearity": layer.nonlinearity} if kind == "RNN" else {"w_hr": named.get("weight_hr" + end)} if kind == "LSTM" else {}
            rows = []
            for row in range(x.shape[1]):
                state = [s[level * directions + side, row] for s in states]
                outputs = []
                for step in x[::-1, row] if side else x[:, row]:
                    state = one_step(kind, step, state, w_ih, w_hh, b_ih, b_hh, **options)
                    outputs.append(state[0])
                rows.append((outputs[::-1] if side else outputs, state))
            sides.append(np.stack([np.stack(o) for o, _ in rows], 1))
            for part, final in enumerate(finals):
                final.append(np.stack([state[part] for _, state in rows]))
        x = np.concatenate(sides, -1)
    return x, [np.stack(f) for f in finals]


OPTIONS = {
    "plain": {},
    "no bias": {"bias": False},
    "three layers": {"num_layers": 3},
    "bidirectional": {"bidirectional": True, "num_layers": 2},
    "relu": {"nonlinearity": "relu", "num_layers": 2},
    "projected": {"proj_size": 2, "num_layers": 2, "bidirectional": True},
}
CASES = [(k, n) for k in KINDS for n in OPTIONS if (n != "projected" or k == "LSTM") and (n != "relu" or k == "RNN")]


def made(kind, name, seed=0, dtype=ut.float64, sizes=(4, 5)):
    ut.manual_seed(seed)
    layer = getattr(ut.nn, kind)(*sizes, **OPTIONS[name], dtype=dtype)
    rows = layer.num_layers * (2 if layer.bidirectional else 1)
    widths = [getattr(layer, "proj_size", 0) or sizes[1], sizes[1]] if kind == "LSTM" else [sizes[1]]
    return layer, [ut.randn(rows, 3, width, dtype=dtype) for width in widths]


def called(layer, kind, x, states):
    out, final = layer(x, tuple(states) if kind == "LSTM" else states[0])
    return out, list(final) if kind == "LSTM" else [final]


@pytest.mark.parametrize(("kind", "name"), CASES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_layer_matches_its_equations(kind, name, dtype):
    layer, states = made(kind, name, dtype=getattr(ut, dtype))
    x = ut.randn(6, 3, 4, dtype=getattr(ut, dtype))
    out, finals = called(layer, kind, x, states)
    wanted, wanted_finals = by_equations(layer, kind, x.numpy().astype("float64"), [s.numpy().astype("float64") for s in states])
    tolerance = {"rtol": 1e-10, "atol": 1e-12} if dtype == "float64" else {"rtol": 1e-4, "atol": 1e-5}
    np.testing.assert_allclose(out.detach().numpy(), wanted, **tolerance)
    for a, b in zip(finals, wanted_finals, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b, **tolerance)


@pytest.mark.parametrize("kind", KINDS)
def test_a_cell_is_one_step(kind):
    ut.manual_seed(1)
    cell = getattr(ut.nn, kind + "Cell")(4, 5, dtype=ut.float64)
    x, states = ut.randn(3, 4, dtype=ut.float64), [ut.randn(3, 5, dtype=ut.float64) for _ in range(2 if kind == "LSTM" else 1)]
    out = cell(x, tuple(states) if kind == "LSTM" else states[0])
    weights = [p.detach().numpy() for p in cell.parameters()]
    for part, found in enumerate(out if kind == "LSTM" else [out]):
        wanted = [one_step(kind, x.numpy()[r], [s.numpy()[r] for s in states], *weights)[part] for r in range(3)]
        np.testing.assert_allclose(found.detach().numpy(), np.stack(wanted), rtol=1e-10)


@pytest.mark.parametrize("name", ["plain", "bidirectional"])
@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_agree_with_differences_twice(kind, name):
    options = {"num_layers": 1, **({"bidirectional": True} if name == "bidirectional" else {})}
    ut.manual_seed(2)
    layer = getattr(ut.nn, kind)(2, 2, **options, dtype=ut.float64)
    rows = 2 if layer.bidirectional else 1
    states = [ut.randn(rows, 1, 2, dtype=ut.float64, requires_grad=True) for _ in range(2 if kind == "LSTM" else 1)]
    x = ut.randn(3, 1, 2, dtype=ut.float64, requires_grad=True)
    names, weights = zip(*layer.named_parameters(), strict=True)

    def f(x, *rest):
        given, inside = rest[: len(states)], dict(zip(names, rest[len(states) :], strict=True))
        out, final = ut.func.functional_call(layer, inside, (x, tuple(given) if kind == "LSTM" else given[0]))
        return (out, *final) if kind == "LSTM" else (out, final)

    inputs = [x, *states, *(w.detach().clone().requires_grad_() for w in weights)]
    assert ut.autograd.gradcheck(f, inputs)
    assert ut.autograd.gradgradcheck(f, inputs)


def test_derivatives_of_projected_layers_agree_with_differences_twice():
    ut.manual_seed(3)
    layer = ut.nn.LSTM(2, 3, proj_size=1, dtype=ut.float64)
    x = ut.randn(3, 1, 2, dtype=ut.float64, requires_grad=True)
    f = lambda x, *w: ut.func.functional_call(layer, dict(zip([n for n, _ in layer.named_parameters()], w, strict=True)), (x,))[0]
    inputs = [x, *(w.detach().clone().requires_grad_() for w in layer.parameters())]
    assert ut.autograd.gradcheck(f, inputs)
    assert ut.autograd.gradgradcheck(f, inputs)


@pytest.mark.parametrize("kind", KINDS)
def test_a_packed_batch_is_its_sequences_one_by_one(kind):
    ut.manual_seed(4)
    layer = getattr(ut.nn, kind)(4, 5, 2, bidirectional=True, dtype=ut.float64)
    rows = [ut.randn(n, 4, dtype=ut.float64, requires_grad=True) for n in (2, 6, 1, 4)]
    tools = ut.nn.utils.rnn
    padded, lengths = tools.pad_packed_sequence(layer(tools.pack_sequence(rows, enforce_sorted=False))[0], batch_first=True)
    assert lengths.tolist() == [2, 6, 1, 4]
    alone = [layer(row)[0] for row in rows]
    for whole, one in zip(padded, alone, strict=True):
        ut.testing.assert_close(whole[: len(one)], one)
        assert (whole[len(one) :] == 0).all()
    together = ut.autograd.grad((padded**2).sum(), [*rows, *layer.parameters()])
    apart = ut.autograd.grad(sum((one**2).sum() for one in alone), [*rows, *layer.parameters()])
    for a, b in zip(together, apart, strict=True):
        ut.testing.assert_close(a, b)
