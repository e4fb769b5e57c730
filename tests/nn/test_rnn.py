"""Recurrent layers compared with torch: weights, outputs, gradients and errors of RNN, LSTM, GRU, their cells and packed sequences."""

import copy
import pickle

import pytest
from torch_answers import differences, plain

import undertow as ut
from undertow.as_torch import shims

KINDS = ["RNN", "LSTM", "GRU"]
OPTIONS = {
    "plain": {},
    "no bias": {"bias": False},
    "three layers": {"num_layers": 3},
    "bidirectional": {"bidirectional": True},
    "batch first": {"batch_first": True, "num_layers": 2, "bidirectional": True},
    "dropout": {"num_layers": 3, "dropout": 0.4, "bidirectional": True},
    "relu": {"nonlinearity": "relu", "num_layers": 2},
    "projected": {"proj_size": 2},
    "projected, all of it": {"proj_size": 3, "num_layers": 2, "bidirectional": True, "bias": False, "batch_first": True},
}
CASES = [
    (kind, name) for kind in KINDS for name in OPTIONS if not ("projected" in name and kind != "LSTM") and not (name == "relu" and kind != "RNN")
]


def leaves(value):
    return [t for v in value for t in leaves(v)] if isinstance(value, (tuple, list)) else [value]


def weighted(outputs):
    """A number that depends on every output differently."""
    return sum(((t * (k + 1)) ** 2).sum() for k, t in enumerate(leaves(outputs)))


def states(L, kind, layers, batch, hidden, proj=0, dtype=None):
    h = L.randn(layers, *batch, proj or hidden, dtype=dtype)
    return (h, L.randn(layers, *batch, hidden, dtype=dtype)) if kind == "LSTM" else h


@pytest.mark.parametrize(("kind", "name"), CASES, ids=[f"{k}-{n}" for k, n in CASES])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_outputs_and_gradients_match_torch_for_the_same_seed(kind, name, dtype, same_as_torch):
    options = OPTIONS[name]

    def scenario(L):
        t = getattr(L, dtype)
        layer = getattr(L.nn, kind)(4, 5, **options, dtype=t)
        x = L.randn(6, 3, 4, dtype=t).requires_grad_()
        batch = 6 if options.get("batch_first") else 3
        layers = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
        hx = states(L, kind, layers, (batch,), 5, options.get("proj_size", 0), t)
        for h in leaves(hx):
            h.requires_grad_()
        out = layer(x, hx)
        weighted(out).backward()
        without = layer.eval()(x)
        grads = [t.grad for t in (x, *leaves(hx), *layer.parameters())]
        return [repr(layer), dict(layer.state_dict()), list(out), list(without), grads, len(layer.all_weights), layer._flat_weights_names]

    same_as_torch(scenario, rtol=1e-4 if dtype == "float32" else 1e-10, atol=1e-5 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bidirectional", [False, True])
def test_second_derivatives_match_torch(kind, bidirectional, same_as_torch):
    def scenario(L):
        layer = getattr(L.nn, kind)(3, 4, 2, bidirectional=bidirectional, dtype=L.float64)
        x = L.randn(5, 2, 3, dtype=L.float64).requires_grad_()
        leaf = [x, *layer.parameters()]
        out, final = layer(x)
        first = L.autograd.grad((out**2).sum() + weighted(final), leaf, create_graph=True)
        second = L.autograd.grad(sum((g**2).sum() for g in first), leaf)
        return [list(first), list(second)]

    same_as_torch(scenario, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("reverse", [False, True])
def test_the_lstm_operator_agrees_with_finite_differences_twice(reverse):
    ut.manual_seed(0)
    layer = ut._C._ops["_nn.lstm_layer"]
    inputs = [ut.randn(*s, dtype=ut.float64, requires_grad=True) for s in ((4, 2, 12), (2, 3), (2, 3), (12, 3))]
    assert ut.autograd.gradcheck(lambda *a: layer(*a, reverse), inputs)
    assert ut.autograd.gradgradcheck(lambda *a: layer(*a, reverse), inputs)


@pytest.mark.parametrize("kind", KINDS)
def test_forward_mode_and_vmap_go_through_a_layer(kind):
    ut.manual_seed(0)
    layer = getattr(ut.nn, kind)(3, 4, dtype=ut.float64)
    x, v = ut.randn(5, 2, 3, dtype=ut.float64), ut.randn(5, 2, 3, dtype=ut.float64)
    f = lambda x: layer(x)[0]
    _, tangent = ut.func.jvp(f, (x,), (v,))
    step = 1e-6
    ut.testing.assert_close(tangent, (f(x + step * v) - f(x - step * v)) / (2 * step), rtol=1e-6, atol=1e-8)
    samples = ut.randn(3, 5, 2, 3, dtype=ut.float64)
    ut.testing.assert_close(ut.vmap(f)(samples), ut.stack([f(s) for s in samples]))


@pytest.mark.parametrize("kind", KINDS)
def test_functional_call_runs_with_the_given_weights(kind):
    layer = getattr(ut.nn, kind)(3, 4)
    zeros = {name: ut.zeros_like(p) for name, p in layer.named_parameters()}
    out, _ = ut.func.functional_call(layer, zeros, (ut.ones(5, 2, 3),))
    assert out.abs().max() == 0
    assert layer(ut.ones(5, 2, 3))[0].abs().max() > 0


@pytest.mark.parametrize(("kind", "name"), CASES, ids=[f"{k}-{n}" for k, n in CASES])
@pytest.mark.parametrize("sorted", [True, False])
def test_packed_sequences_run_as_in_torch(kind, name, sorted, same_as_torch):
    options = {k: v for k, v in OPTIONS[name].items() if k != "batch_first"}

    def scenario(L):
        R = L.nn.utils.rnn
        layer = getattr(L.nn, kind)(4, 5, **options, dtype=L.float64)
        rows = [L.randn(n, 4, dtype=L.float64).requires_grad_() for n in ((6, 4, 4, 1) if sorted else (2, 6, 1, 4))]
        layers = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
        hx = states(L, kind, layers, (4,), 5, options.get("proj_size", 0), L.float64)
        packed, final = layer(R.pack_sequence(rows, enforce_sorted=sorted), hx)
        padded, lengths = R.pad_packed_sequence(packed, batch_first=True, padding_value=-1.0)
        (weighted(final) + (padded**2).sum()).backward()
        again, _ = layer(R.pack_sequence(rows, enforce_sorted=sorted))
        return [list(packed), list(leaves(final)), padded, lengths, [r.grad for r in rows], [p.grad for p in layer.parameters()], again.data]

    same_as_torch(scenario, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_a_single_sequence_needs_no_batch(kind, same_as_torch):
    def scenario(L):
        layer = getattr(L.nn, kind)(4, 5, 2)
        x = L.randn(6, 4)
        return [list(layer(x)), list(layer(x, states(L, kind, 2, (), 5)))]

    same_as_torch(scenario)


CELLS = [("RNNCell", {}), ("RNNCell", {"nonlinearity": "relu", "bias": False}), ("LSTMCell", {}), ("LSTMCell", {"bias": False}), ("GRUCell", {})]


@pytest.mark.parametrize(("kind", "options"), CELLS, ids=[f"{k}-{len(o)}" for k, o in CELLS])
def test_cells_match_torch(kind, options, same_as_torch):
    def scenario(L):
        cell = getattr(L.nn, kind)(4, 5, **options)
        x = L.randn(3, 4, requires_grad=True)
        hx = (L.randn(3, 5), L.randn(3, 5)) if kind == "LSTMCell" else L.randn(3, 5)
        out = leaves(cell(x, hx))
        single = tuple(h[0] for h in hx) if kind == "LSTMCell" else hx[0]
        weighted(out).backward()
        more = [leaves(cell(x)), leaves(cell(x[0])), leaves(cell(x[0], single))]
        return [repr(cell), dict(cell.state_dict()), out, more, x.grad, [p.grad for p in cell.parameters()]]

    same_as_torch(scenario, rtol=1e-4, atol=1e-5)


def test_the_functions_behind_the_layers_match_torch(same_as_torch):
    def scenario(L):
        w = [L.randn(20, 3), L.randn(20, 5), L.randn(20), L.randn(20)]
        g = [L.randn(15, 3), L.randn(15, 5), L.randn(15), L.randn(15)]
        r = [L.randn(5, 3), L.randn(5, 5)]
        x, h, c = L.randn(4, 2, 3), L.randn(1, 2, 5), L.randn(1, 2, 5)
        tail = (1, 0.0, True, False, False)
        return [
            list(L.lstm(x, (h, c), w, True, *tail)),
            list((shims._VF if L is ut else L._VF).gru(x, h, g, True, *tail)),
            list(L.rnn_tanh(x, h, r, False, *tail)),
            list(L.rnn_relu(x.transpose(0, 1), h, r, False, 1, 0.0, True, False, True)),
            list(L.lstm_cell(x[0], (h[0], c[0]), *w)),
            L.gru_cell(x[0], h[0], *g),
            (shims._VF if L is ut else L._VF).rnn_tanh_cell(x[0], h[0], *r),
            L.rnn_relu_cell(x[0], h[0], *r),
        ]

    same_as_torch(scenario, rtol=1e-4)


def hidden(L, kind, *shape):
    return (L.ones(*shape), L.ones(*shape)) if kind.startswith("LSTM") else L.ones(*shape)


ERROR_CASES = {
    "a dropout of two": lambda L, k: getattr(L.nn, k)(3, 5, dropout=2.0),
    "dropout that is a bool": lambda L, k: getattr(L.nn, k)(3, 5, dropout=True),
    "dropout of one layer": lambda L, k: repr(getattr(L.nn, k)(3, 5, dropout=0.5)),
    "a fractional size": lambda L, k: getattr(L.nn, k)(3, 2.5),
    "no hidden units": lambda L, k: getattr(L.nn, k)(3, 0),
    "no inputs": lambda L, k: getattr(L.nn, k)(0, 3),
    "no layers": lambda L, k: getattr(L.nn, k)(3, 5, 0),
    "a negative projection": lambda L, k: getattr(L.nn, k)(3, 5, proj_size=-1),
    "a wide projection": lambda L, k: getattr(L.nn, k)(3, 5, proj_size=5),
    "an unknown nonlinearity": lambda L, k: L.nn.RNN(3, 5, nonlinearity="x"),
    "an unknown mode": lambda L, k: L.nn.RNNBase("Q", 3, 5),
    "four dimensions": lambda L, k: getattr(L.nn, k)(3, 5)(L.ones(2, 3, 4, 3)),
    "one dimension": lambda L, k: getattr(L.nn, k)(3, 5)(L.ones(3)),
    "another width": lambda L, k: getattr(L.nn, k)(3, 5)(L.ones(4, 2, 7)),
    "another dtype": lambda L, k: getattr(L.nn, k)(3, 5)(L.ones(4, 2, 3, dtype=L.float64)),
    "states without batch": lambda L, k: getattr(L.nn, k)(3, 5)(L.ones(4, 2, 3), hidden(L, k, 1, 5)),
    "states with one": lambda L, k: getattr(L.nn, k)(3, 5)(L.ones(4, 3), hidden(L, k, 1, 1, 5)),
    "states of another batch": lambda L, k: getattr(L.nn, k)(3, 5)(L.ones(4, 2, 3), hidden(L, k, 1, 3, 5)),
    "states of more layers": lambda L, k: getattr(L.nn, k)(3, 5)(L.ones(4, 3), hidden(L, k, 3, 5)),
    "no steps": lambda L, k: getattr(L.nn, k)(3, 5)(L.ones(0, 2, 3)),
    "an empty batch": lambda L, k: getattr(L.nn, k)(3, 5)(L.ones(4, 0, 3))[0],
    "a cell's input of three dimensions": lambda L, k: getattr(L.nn, k + "Cell")(3, 5)(L.ones(2, 3, 4)),
    "a cell's input of another width": lambda L, k: getattr(L.nn, k + "Cell")(3, 5)(L.ones(2, 4)),
    "a cell's state of another batch": lambda L, k: getattr(L.nn, k + "Cell")(3, 5)(L.ones(2, 3), hidden(L, k, 3, 5)),
    "a cell's state of another width": lambda L, k: getattr(L.nn, k + "Cell")(3, 5)(L.ones(2, 3), hidden(L, k, 2, 4)),
    "a cell's state of three dimensions": lambda L, k: getattr(L.nn, k + "Cell")(3, 5)(L.ones(2, 3), hidden(L, k, 1, 2, 5)),
}


@pytest.mark.parametrize("what", ERROR_CASES)
@pytest.mark.parametrize("kind", KINDS)
def test_errors_match_torch(kind, what, same_as_torch):
    same_as_torch(lambda L: ERROR_CASES[what](L, kind))


SEQUENCES = {
    "padding on either side": lambda R, L: [R.pad_sequence([L.ones(3), L.ones(1)], padding_side=s, padding_value=7) for s in ("left", "right")],
    "padding of matrices": lambda R, L: R.pad_sequence([L.ones(3, 2), L.ones(1, 2)], batch_first=True),
    "an unknown side": lambda R, L: R.pad_sequence([L.ones(3)], padding_side="q"),
    "no sequences": lambda R, L: R.pad_sequence([]),
    "a number in place of sequences": lambda R, L: R.pad_sequence(5),
    "unpadding": lambda R, L: R.unpad_sequence(L.arange(6.0).reshape(3, 2), L.tensor([3, 1])),
    "packing": lambda R, L: list(R.pack_sequence([L.arange(3.0), L.arange(2.0), L.arange(1.0)])),
    "packing in any order": lambda R, L: list(R.pack_sequence([L.arange(1.0), L.arange(3.0)], enforce_sorted=False)),
    "packing in a wrong order": lambda R, L: R.pack_sequence([L.ones(1), L.ones(3)]),
    "unpacking": lambda R, L: R.unpack_sequence(R.pack_sequence([L.arange(1.0), L.arange(3.0)], enforce_sorted=False)),
    "a length of zero": lambda R, L: R.pack_padded_sequence(L.ones(3, 2), [3, 0]),
    "too many lengths": lambda R, L: R.pack_padded_sequence(L.ones(3, 2), [3, 1, 1]),
    "nothing to pack": lambda R, L: R.pack_padded_sequence(L.ones(3, 0), []),
    "nothing to pack and no lengths": lambda R, L: R.pack_padded_sequence(L.ones(0, 1, 10), L.ones(2, 2), True),
    "a total length": lambda R, L: list(R.pad_packed_sequence(R.pack_sequence([L.ones(2), L.ones(1)]), total_length=4, padding_value=9.0)),
    "a total length too short": lambda R, L: R.pad_packed_sequence(R.pack_sequence([L.ones(2), L.ones(1)]), total_length=1),
    "a permutation undone": lambda R, L: [R.invert_permutation(L.tensor([2, 0, 1])), R.invert_permutation(None)],
    "casting": lambda R, L: [
        repr(R.pack_sequence([L.ones(2)]).long()),
        R.pack_sequence([L.ones(2)]).double().data,
        R.pack_sequence([L.ones(2)]).is_cuda,
    ],
    "made by hand": lambda R, L: [list(R.PackedSequence(L.ones(3), L.tensor([2, 1]), L.tensor([1, 0]))), R.PackedSequence(L.ones(3))],
}


@pytest.mark.parametrize("what", SEQUENCES)
def test_sequences_are_packed_and_padded_as_in_torch(what, same_as_torch):
    same_as_torch(lambda L: SEQUENCES[what](L.nn.utils.rnn, L))


def test_a_cast_that_changes_nothing_returns_the_same_packed_sequence():
    packed = ut.nn.utils.rnn.pack_sequence([ut.ones(2), ut.ones(1)], enforce_sorted=False)
    assert packed.to(ut.float32) is packed
    for copied in (copy.deepcopy(packed), pickle.loads(pickle.dumps(packed))):
        assert isinstance(copied, ut.nn.utils.rnn.PackedSequence)
        assert not differences(plain(list(copied)), plain(list(packed)), 0, 0)


def test_a_layer_survives_copies_casts_and_loading(same_as_torch):
    def scenario(L):
        layer = L.nn.LSTM(3, 4, 2)
        copies = [copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), L.nn.LSTM(3, 4, 2)]
        copies[2].load_state_dict(layer.state_dict())
        x = L.ones(5, 2, 3)
        wide = copy.deepcopy(layer).double()
        return [[c(x)[0] for c in copies], wide(x.double())[0], [w.dtype == L.float64 for w in wide._flat_weights]]

    same_as_torch(scenario)
