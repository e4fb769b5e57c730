"""Every module class, pickled whole: torch loads ours and we load torch's, with the same attributes, text and results.

Each class has small constructor arguments, and arguments of a call where it has a forward.
"""

from __future__ import annotations

import inspect
import io
import warnings

import numpy as np
import pytest

import undertow as ut

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

X = {d: np.cos(np.arange(2 * 4**d)).reshape(1, 2, *(4,) * d).astype("float32") for d in range(4)}
SEQUENCE = np.sin(np.arange(24)).reshape(3, 2, 4).astype("float32")
PAIR = (X[1][0], X[1][0][::-1].copy())
INDICES = np.array([[1, 0], [2, 1]])


def dims(name: str) -> int:
    return next((int(name[i]) for i in range(len(name) - 1) if name[i] in "123" and name[i + 1] == "d"), 1)


def per_dimension() -> dict[str, tuple]:
    """Constructor and call arguments of the classes that come in one, two and three dimensions."""
    found = {}
    for name in dir(torch.nn):
        x = X[dims(name)]
        if name[-2:] != "1d" and name[-2:] not in ("2d", "3d"):
            continue
        if name.startswith(("Conv", "LazyConv")):
            found[name] = ((3, 1) if name.startswith("Lazy") else (2, 3, 1), (x,))
        elif "Norm" in name:
            found[name] = (() if name.startswith("Lazy") else (2,), (x,))
        elif "MaxUnpool" in name:
            found[name] = ((1,), (x, np.arange(x.size // 2).reshape(1, 1, *x.shape[2:]).repeat(2, 1)))
        elif "Pool" in name:
            found[name] = ((2, 2) if name.startswith("LPPool") else (2,), (x,))
        elif "Pad" in name:
            found[name] = ((1, 2.0) if name.startswith("Constant") else (1,), (x,))
        elif name.startswith("Dropout") or "Dropout" in name:
            found[name] = ((), (x,))
    for d in (2, 3):
        found[f"FractionalMaxPool{d}d"] = ((2, (2,) * d), None)  # random
    return found


CLASSES: dict[str, tuple] = {
    **per_dimension(),
    "AdaptiveLogSoftmaxWithLoss": ((4, 6, [2]), (SEQUENCE[:, 0], np.array([0, 3, 5]))),
    "Bilinear": ((4, 4, 3), PAIR),
    "ChannelShuffle": ((2,), (X[2],)),
    "CosineEmbeddingLoss": ((), (*PAIR, np.array([1, -1]))),
    "CrossEntropyLoss": ((), (X[1][0], np.array([1, 3]))),
    "CrossMapLRN2d": ((2,), None),
    "CTCLoss": ((), None),
    "Embedding": ((5, 3), (INDICES,)),
    "EmbeddingBag": ((5, 3), (INDICES,)),
    "Fold": (((4, 4), 2), None),
    "GaussianNLLLoss": ((), (*PAIR, np.abs(PAIR[0]) + 1)),
    "GRU": ((4, 3, 2), (SEQUENCE,)),
    "GRUCell": ((4, 3), (SEQUENCE[0],)),
    "GroupNorm": ((1, 2), (X[1],)),
    "LayerNorm": ((4,), (X[1],)),
    "LazyLinear": ((3,), (X[1],)),
    "Linear": ((4, 3), (X[1],)),
    "LinearCrossEntropyLoss": ((4, 6), None),
    "LocalResponseNorm": ((2,), (X[2],)),
    "LSTM": ((4, 3, 1, True, True, 0.0, True, 2), (SEQUENCE,)),
    "LSTMCell": ((4, 3), (SEQUENCE[0],)),
    "MarginRankingLoss": ((), (*PAIR, np.ones_like(PAIR[0]))),
    "MultiheadAttention": ((4, 2), (SEQUENCE, SEQUENCE, SEQUENCE)),
    "MultiLabelMarginLoss": ((), (X[1][0], np.array([[1, 0, -1, -1], [2, -1, -1, -1]]))),
    "MultiMarginLoss": ((), (X[1][0], np.array([1, 3]))),
    "NLLLoss": ((), (X[1][0], np.array([1, 3]))),
    "NLLLoss2d": ((), None),
    "PixelShuffle": ((1,), (X[2],)),
    "PixelUnshuffle": ((2,), (X[2],)),
    "RMSNorm": ((4,), (X[1],)),
    "RNN": ((4, 3), (SEQUENCE,)),
    "RNNBase": (("LSTM", 4, 3), None),
    "RNNCell": ((4, 3), (SEQUENCE[0],)),
    "RNNCellBase": ((4, 3, True, 4), None),
    "SyncBatchNorm": ((2,), None),
    "Threshold": ((0.1, 2.0), (X[1],)),
    "Transformer": ((4, 2, 1, 1, 8), (SEQUENCE, SEQUENCE)),
    "TransformerDecoderLayer": ((4, 2, 8), (SEQUENCE, SEQUENCE)),
    "TransformerEncoderLayer": ((4, 2, 8), (SEQUENCE,)),
    "TripletMarginLoss": ((), (*PAIR, PAIR[0] + 1)),
    "TripletMarginWithDistanceLoss": ((), (*PAIR, PAIR[0] + 1)),
    "Unflatten": ((1, (1, 2)), (X[1],)),
    "Unfold": ((2,), (X[2],)),
    "Upsample": ((None, 2), (X[2],)),
    "UpsamplingBilinear2d": ((None, 2), (X[2],)),
    "UpsamplingNearest2d": ((None, 2), (X[2],)),
    "AdaptiveMaxPool1d": ((2,), (X[1],)),
    "Softmax2d": ((), (X[2],)),
}
CONTAINERS = {
    "Sequential": lambda nn: nn.Sequential(nn.Linear(4, 3), nn.LSTM(3, 2)),
    "ModuleList": lambda nn: nn.ModuleList([nn.Linear(4, 3), nn.GRU(3, 2)]),
    "ModuleDict": lambda nn: nn.ModuleDict({"a": nn.Linear(4, 3)}),
    "ParameterList": lambda nn: nn.ParameterList([nn.Linear(4, 3).weight]),
    "ParameterDict": lambda nn: nn.ParameterDict({"a": nn.Linear(4, 3).weight}),
    "TransformerEncoder": lambda nn: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 1),
    "TransformerDecoder": lambda nn: nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8), 1),
    "DataParallel": lambda nn: nn.DataParallel(nn.Linear(4, 3)),
}
NAMES = sorted(n for n in dir(torch.nn) if inspect.isclass(getattr(torch.nn, n)) and issubclass(getattr(torch.nn, n), torch.nn.Module))
LOSSES = ("BCELoss", "L1Loss", "MSELoss", "HuberLoss", "SmoothL1Loss", "SoftMarginLoss", "KLDivLoss", "PoissonNLLLoss", "HingeEmbeddingLoss",
          "BCEWithLogitsLoss", "MultiLabelSoftMarginLoss", "PairwiseDistance", "CosineSimilarity")  # fmt: skip


def build(lib, name):
    if name in CONTAINERS:
        return CONTAINERS[name](lib.nn)
    return getattr(lib.nn, name)(*CLASSES.get(name, ((), None))[0])


def call_arguments(name):
    """The arrays a module is called with, or None if it is only compared by its attributes."""
    if name in CONTAINERS or name in ("Module", "Container"):
        return {"TransformerEncoder": (SEQUENCE,), "TransformerDecoder": (SEQUENCE, SEQUENCE), "DataParallel": (X[1],)}.get(name)
    if name in LOSSES:
        return (np.abs(PAIR[0]) / 2, np.abs(PAIR[1]) / 2)
    return CLASSES[name][1] if name in CLASSES else (X[1],)


def carried(module, reader):
    file = io.BytesIO()
    (ut if reader is torch else torch).save(module, file)
    file.seek(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return reader.load(file, weights_only=False)


def result(lib, module, arrays):
    lib.manual_seed(0)
    found = module.eval()(*(lib.tensor(a) for a in arrays))
    flat = []

    def collect(value):
        if isinstance(value, lib.Tensor):
            flat.append(value.detach().numpy())
        elif isinstance(value, (tuple, list)):
            for v in value:
                collect(v)

    collect(found)
    return flat


def attributes(module):
    """The attributes of all modules below, without those of hooks, whose handles are never equal."""
    return {f"{path}.{key}" for path, m in module.named_modules() for key in m.__dict__}


@pytest.mark.parametrize("name", NAMES)
def test_pickles_travel_in_both_directions(name):
    ours, theirs = build(ut, name), build(torch, name)
    there, here = carried(ours, torch), carried(theirs, ut)
    assert type(there) is type(theirs) and type(here) is type(ours)
    assert repr(there) == repr(theirs) and repr(here) == repr(ours)
    assert list(there.state_dict()) == list(theirs.state_dict()) == list(here.state_dict())
    assert attributes(there) == attributes(theirs) and attributes(here) == attributes(ours)
    arrays = call_arguments(name)
    if arrays is None:
        return
    if name.startswith("Lazy"):  # uninitialized: the first call makes the weights
        assert [a.shape for a in result(torch, there, arrays)] == [a.shape for a in result(ut, here, arrays)]
        return
    for a, b in ((result(ut, ours, arrays), result(torch, there, arrays)), (result(ut, here, arrays), result(torch, theirs, arrays))):
        assert a and len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            np.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-6)


def test_parameters_of_a_loaded_rnn_are_the_ones_it_uses():
    for reader, writer in ((torch, ut), (ut, torch)):
        rnn = carried(writer.nn.LSTM(4, 3, num_layers=2), reader)
        assert [w is p for w, p in zip(rnn._flat_weights, rnn.parameters(), strict=True)] == [True] * 8
        rnn(reader.tensor(SEQUENCE))[0].sum().backward()
        assert all(p.grad is not None for p in rnn.parameters())
        reader.optim.SGD(rnn.parameters(), lr=0.1).step()
