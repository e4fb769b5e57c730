"""Every layer as a module compared with torch: repr, state, copies, casts, modes, hooks, gradients."""

import copy
import pickle

import pytest

# The arguments of each layer, and the shapes of its inputs.
LAYERS = {
    "Linear": (lambda n: n.Linear(4, 3), [(2, 4)]),
    "Linear without bias": (lambda n: n.Linear(4, 3, bias=False), [(2, 5, 4)]),
    "Bilinear": (lambda n: n.Bilinear(4, 3, 2), [(5, 4), (5, 3)]),
    "Identity": (lambda n: n.Identity(), [(2,)]),
    "Flatten": (lambda n: n.Flatten(), [(2, 3, 4)]),
    "Unflatten": (lambda n: n.Unflatten(1, (2, 2)), [(3, 4)]),
    "PReLU": (lambda n: n.PReLU(4), [(2, 4)]),
    "GELU": (lambda n: n.GELU("tanh"), [(2, 4)]),
    "Softmax": (lambda n: n.Softmax(1), [(2, 4)]),
    "Threshold": (lambda n: n.Threshold(0.1, 20), [(2, 4)]),
    "GLU": (lambda n: n.GLU(), [(2, 4)]),
    "PixelShuffle": (lambda n: n.PixelShuffle(2), [(1, 8, 2, 3)]),
    "PixelUnshuffle": (lambda n: n.PixelUnshuffle(2), [(1, 2, 4, 6)]),
    "ChannelShuffle": (lambda n: n.ChannelShuffle(2), [(1, 4, 2, 2)]),
    "CosineSimilarity": (lambda n: n.CosineSimilarity(), [(3, 4), (3, 4)]),
    "PairwiseDistance": (lambda n: n.PairwiseDistance(keepdim=True), [(3, 4), (3, 4)]),
    "DataParallel": (lambda n: n.DataParallel(n.Linear(4, 3)), [(2, 4)]),
    "Sequential": (lambda n: n.Sequential(n.Linear(4, 4), n.Sequential(n.Tanh(), n.Linear(4, 2))), [(2, 4)]),
    "RNN": (lambda n: n.RNN(4, 3), [(5, 2, 4)]),
    "LSTM": (lambda n: n.LSTM(4, 3, 2, bidirectional=True), [(5, 2, 4)]),
    "GRU": (lambda n: n.GRU(4, 3, batch_first=True), [(5, 2, 4)]),
    "LSTMCell": (lambda n: n.LSTMCell(4, 3), [(2, 4)]),
    "MSELoss": (lambda n: n.MSELoss(), [(2, 4), (2, 4)]),
    "Conv1d": (lambda n: n.Conv1d(4, 6, 3, padding=1, groups=2), [(2, 4, 5)]),
    "Conv2d": (lambda n: n.Conv2d(2, 3, 3, stride=2, bias=False), [(2, 2, 6, 6)]),
    "ConvTranspose2d": (lambda n: n.ConvTranspose2d(2, 3, 2, stride=2), [(1, 2, 3, 3)]),
    "MaxPool2d": (lambda n: n.MaxPool2d(2), [(1, 2, 4, 4)]),
    "AvgPool1d": (lambda n: n.AvgPool1d(2, padding=1), [(1, 2, 4)]),
    "AdaptiveAvgPool2d": (lambda n: n.AdaptiveAvgPool2d((2, None)), [(1, 2, 5, 4)]),
    "Upsample": (lambda n: n.Upsample(scale_factor=2, mode="bilinear"), [(1, 2, 3, 3)]),
    "BatchNorm1d": (lambda n: n.BatchNorm1d(3), [(4, 3)]),
    "BatchNorm2d": (lambda n: n.BatchNorm2d(3, momentum=None), [(4, 3, 2, 2)]),
    "LayerNorm": (lambda n: n.LayerNorm((3, 4)), [(2, 3, 4)]),
    "GroupNorm": (lambda n: n.GroupNorm(2, 4), [(2, 4, 3)]),
    "RMSNorm": (lambda n: n.RMSNorm(4), [(2, 4)]),
    "InstanceNorm2d": (lambda n: n.InstanceNorm2d(3, affine=True), [(2, 3, 2, 2)]),
    "Dropout": (lambda n: n.Dropout(0.3), [(5, 4)]),
    "MultiheadAttention": (lambda n: n.MultiheadAttention(8, 2), [(3, 2, 8), (4, 2, 8), (4, 2, 8)]),
    "TransformerEncoderLayer": (lambda n: n.TransformerEncoderLayer(8, 2, 16, 0.0), [(3, 2, 8)]),
    "TransformerDecoderLayer": (lambda n: n.TransformerDecoderLayer(8, 2, 16, 0.0), [(3, 2, 8), (4, 2, 8)]),
    "ZeroPad2d": (lambda n: n.ZeroPad2d(1), [(1, 2, 3, 3)]),
}


def tensors(value):
    return [t for v in value for t in tensors(v)] if isinstance(value, (tuple, list)) else [value]


def given(L, shapes, dtype=None):
    return [L.randn(*s, dtype=dtype).requires_grad_() for s in shapes]


def run(layer, inputs):
    outputs = tensors(layer(*inputs))
    sum((t**2).sum() for t in outputs).backward()
    return [outputs, [x.grad for x in inputs], [p.grad for p in layer.parameters()]]


def as_text_and_state(L, make, shapes):
    layer = make(L.nn)
    members = [[name for name, _ in list_them()] for list_them in (layer.named_modules, layer.named_parameters, layer.named_buffers)]
    return [repr(layer), dict(layer.state_dict()), members, layer.training]


def as_a_function(L, make, shapes):
    layer = make(L.nn)
    return run(layer, given(L, shapes))


def copied(L, make, shapes):
    layer = make(L.nn)
    inputs = given(L, shapes)
    return [run(c, inputs) for c in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)))]


def cast(L, make, shapes):
    layer = make(L.nn)
    kept = list(layer.parameters())
    wide = layer.double()
    ended = run(wide, given(L, shapes, L.float64))
    other = make(L.nn).to(L.float64)
    return [ended, all(a is b for a, b in zip(kept, layer.parameters())), [str(p.dtype).rpartition(".")[2] for p in other.parameters()]]


def loaded(L, make, shapes):
    layer, other = make(L.nn), make(L.nn)
    result = other.load_state_dict(layer.state_dict())
    inputs = given(L, shapes)
    return [repr(result), tensors(layer(*inputs)), tensors(other(*inputs))]


def switched(L, make, shapes):
    layer = make(L.nn)
    seen = []
    layer.apply(lambda m: seen.append(type(m).__name__))
    flags = [[m.training for m in layer.eval().modules()], [m.training for m in layer.train().modules()]]
    layer.requires_grad_(False)
    return [seen, flags, [p.requires_grad for p in layer.parameters()], tensors(layer.eval()(*given(L, shapes)))]


def watched(L, make, shapes):
    """The order in which hooks run, on every module inside."""
    layer, log = make(L.nn), []
    for name, m in layer.named_modules():
        m.register_forward_pre_hook(lambda m, a, name=name: log.append(f"before {name}"))
        m.register_forward_hook(lambda m, a, o, name=name: log.append(f"after {name}"))
        m.register_full_backward_pre_hook(lambda m, g, name=name: log.append(f"backward {name}"))
        m.register_full_backward_hook(lambda m, gi, go, name=name: log.append(f"done {name} {[None if g is None else list(g.shape) for g in gi]}"))
    return [run(layer, given(L, shapes)), log]


WAYS = [as_text_and_state, as_a_function, copied, cast, loaded, switched, watched]


@pytest.mark.parametrize("way", WAYS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_matches_torch(name, way, same_as_torch):
    make, shapes = LAYERS[name]
    same_as_torch(lambda L: way(L, make, shapes), rtol=1e-4, atol=1e-5)


def test_adaptive_softmax_matches_torch(same_as_torch):
    def scenario(L):
        layer = L.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], div_value=2.0, head_bias=True)
        x = L.randn(6, 8).requires_grad_()
        output, loss = layer(x, L.tensor([0, 3, 5, 12, 19, 4]))
        loss.backward()
        single = layer(x[0], L.tensor(5))
        return [repr(layer), output, loss, x.grad, [p.grad for p in layer.parameters()], layer.log_prob(x), layer.predict(x), list(single)]

    same_as_torch(scenario, rtol=1e-4)


@pytest.mark.parametrize("cutoffs", [[], [4, 4], [10, 4], [0, 4], [4, 20]])
def test_adaptive_softmax_raises_for_bad_cutoffs_as_in_torch(cutoffs, same_as_torch):
    same_as_torch(lambda L: L.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs))


@pytest.mark.parametrize("target", [[25], [-1], [[0]]])
def test_adaptive_softmax_raises_for_bad_targets_as_in_torch(target, same_as_torch):
    same_as_torch(lambda L: L.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4])(L.ones(1, 8), L.tensor(target)))


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_the_functions_of_nn_grad_match_torch(dims, same_as_torch):
    def scenario(L):
        x, w = L.randn(2, 4, *[5] * dims).requires_grad_(), L.randn(6, 2, *[3] * dims).requires_grad_()
        options = (2, 1, 1, 2)
        g = L.randn_like(getattr(L.nn.functional, f"conv{dims}d")(x, w, None, *options))
        by_input, by_weight = (getattr(L.nn.grad, f"conv{dims}d_{of}") for of in ("input", "weight"))
        found = by_input(x.shape, w, g, *options), by_weight(x, w.shape, g, *options)
        again = [L.autograd.grad(f.square().sum(), of)[0] for f, of in zip(found, (w, x), strict=True)]
        return [f.detach() for f in (*found, *again)]

    same_as_torch(scenario, rtol=1e-4, atol=1e-4)


def test_names_of_attention_backends_match_torch(same_as_torch):
    def scenario(L):
        import importlib

        attention = importlib.import_module(L.__name__ + ".nn.attention")
        q = L.randn(1, 2, 3, 4)
        with attention.sdpa_kernel([attention.SDPBackend.MATH]):
            out = L.nn.functional.scaled_dot_product_attention(q, q, q)
        with attention.sdpa_kernel("math"):
            return out

    same_as_torch(scenario)
    names = lambda L: list(L.nn.attention.SDPBackend.__members__) if L.__name__ == "torch" else [b.name for b in L.nn.attention.SDPBackend]
    same_as_torch(names)
