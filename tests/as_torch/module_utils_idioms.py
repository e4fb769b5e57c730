"""What the documentation promises about nn.utils, nn.init and lazy modules. Run on both libraries by test_idioms.py."""

import copy
import pickle
import warnings

import torch
import torch.nn as nn
import torch.nn.utils.parametrize as P
from torch.nn.utils import fusion, parametrizations, prune, rnn


def case(f):
    """Runs it and prints its results, one per line."""
    torch.manual_seed(0)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        results = f()
    for number, result in enumerate(results):
        print(f"{f.__name__}[{number}]:", result)
    for w in seen:
        print(f"{f.__name__} warns:", w.category.__name__, str(w.message)[:60])


def error(f, *args, **kwargs):
    """The class and the first words of the error it raises."""
    try:
        result = f(*args, **kwargs)
    except Exception as e:  # noqa: BLE001
        return f"{type(e).__name__}: {str(e).replace('undertow', 'torch')[:90]}"
    return f"no error: {result}"


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).T

    def right_inverse(self, x):
        return x.triu()


class Double(nn.Module):
    def forward(self, x):
        return 2 * x


class Rank1(nn.Module):
    def forward(self, u, v):
        return u.unsqueeze(1) @ v.unsqueeze(0)

    def right_inverse(self, x):
        return x[:, 0].clone(), x[0].clone()


@case
def parametrize():
    m = nn.Linear(3, 3)
    P.register_parametrization(m, "weight", Symmetric())
    symmetric = torch.equal(m.weight, m.weight.T)
    out = [m, symmetric, list(m.state_dict()), type(m).__name__, P.is_parametrized(m), P.is_parametrized(m, "bias"), isinstance(m, nn.Linear)]
    P.register_parametrization(m, "weight", Double())
    out += [m, m.parametrizations.weight.original.shape, len(m.parametrizations.weight), [n for n, _ in m.named_parameters()]]
    with P.cached():
        out.append(m.weight is m.weight)
    out.append(m.weight is m.weight)
    out += [error(setattr, m, "weight", torch.zeros(3, 3)), error(P.register_parametrization, m, "nothing", Double())]
    P.remove_parametrizations(m, "weight")
    out += [m, type(m).__name__, list(m.state_dict()), error(P.remove_parametrizations, m, "weight"), type(m) is nn.Linear]
    return out


@case
def parametrize_with_several_originals():
    m = nn.Linear(3, 3, bias=False)
    P.register_parametrization(m, "weight", Rank1())
    out = [list(m.state_dict()), m.weight.shape, [tuple(p.shape) for p in m.parameters()]]
    m.weight = torch.ones(3, 3)
    out += [m.weight.tolist(), error(P.remove_parametrizations, m, "weight", leave_parametrized=False)]
    k = copy.deepcopy(m)
    out += [torch.equal(k.weight, m.weight), error(pickle.dumps, m)[:80]]
    k.load_state_dict(m.state_dict())
    P.transfer_parametrizations_and_params(m, n := nn.Linear(3, 3, bias=False))
    out += [n, torch.equal(n.weight, m.weight), P.type_before_parametrizations(n) is nn.Linear]
    return out


@case
def parametrizations_that_do_not_fit():
    class Shape(nn.Module):
        def forward(self, x):
            return x[0]

    class Type(nn.Module):
        def forward(self, x):
            return x.double()

    class Text(nn.Module):
        def forward(self, x):
            return "x"

    m = nn.Linear(2, 2)
    out = [error(P.register_parametrization, m, "weight", k()) for k in (Shape, Type, Text)]
    P.register_parametrization(m, "weight", Shape(), unsafe=True)
    return [*out, m.weight.shape, error(P.register_parametrization, nn.Linear(2, 2), "weight", 3)]


@case
def the_known_parametrizations():
    out = []
    for make in (parametrizations.weight_norm, parametrizations.spectral_norm, parametrizations.orthogonal):
        m = make(nn.Linear(3, 4))
        m(torch.ones(3)).sum().backward()
        out += [m, sorted(m.state_dict()), [tuple(p.shape) for p in m.parameters()], error(make, nn.Linear(2, 2), "nothing")]
    q = parametrizations.orthogonal(nn.Linear(3, 5))
    out += [torch.allclose(q.weight.T @ q.weight, torch.eye(3), atol=1e-5), error(parametrizations.orthogonal, nn.Linear(2, 2), orthogonal_map="x"),
            error(parametrizations.orthogonal, nn.BatchNorm1d(2)), error(parametrizations.spectral_norm, nn.Linear(2, 2), n_power_iterations=0)]
    return out


@case
def older_norms():
    out = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m = nn.utils.weight_norm(nn.Linear(2, 3))
        out += [list(m.state_dict()), m.weight.shape, error(nn.utils.weight_norm, m), m]
        nn.utils.remove_weight_norm(m)
        out += [list(m.state_dict()), error(nn.utils.remove_weight_norm, m)]
        s = nn.utils.spectral_norm(nn.Linear(2, 3))
        s(torch.ones(2))
        out += [list(s.state_dict()), error(nn.utils.spectral_norm, s)]
        nn.utils.remove_spectral_norm(s)
        out += [list(s.state_dict()), error(nn.utils.remove_spectral_norm, s), error(nn.utils.spectral_norm, nn.Linear(2, 2), n_power_iterations=0)]
    return out


@case
def pruning():
    m = nn.Linear(4, 3)
    with torch.no_grad():
        m.weight.copy_(torch.arange(12.0).view(3, 4))
    prune.l1_unstructured(m, "weight", amount=0.25)
    out = [list(m.state_dict()), m.weight.tolist(), m.weight_mask.tolist(), prune.is_pruned(m), len(m._forward_pre_hooks)]
    prune.ln_structured(m, "weight", amount=1, n=2, dim=0)
    out += [m.weight.tolist(), type(next(iter(m._forward_pre_hooks.values()))).__name__]
    prune.remove(m, "weight")
    out += [list(m.state_dict()), prune.is_pruned(m), error(prune.remove, m, "weight")]
    a, b = nn.Linear(2, 2), nn.Linear(2, 2)
    prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=3)
    zeros = int((a.weight == 0).sum() + (b.weight == 0).sum())
    out += [zeros, error(prune.global_unstructured, 3, prune.L1Unstructured, amount=1)]
    for amount in (-1, 1.5, 100, "x", True):
        out.append(error(prune.l1_unstructured, nn.Linear(2, 2), "weight", amount=amount).split(":")[0])
    c = prune.custom_from_mask(nn.Linear(2, 2), "bias", torch.tensor([1.0, 0.0]))
    i = prune.identity(nn.Linear(2, 2), "weight")
    r = prune.random_unstructured(nn.Linear(2, 2), "weight", 2)
    s = prune.random_structured(nn.Linear(4, 4), "weight", 2, dim=1)
    out += [c.bias_mask.tolist(), i.weight_mask.sum(), r.weight_mask.sum(), s.weight_mask.sum(), error(prune.ln_structured, nn.Linear(2, 2), "weight", 1, n=2, dim=5)]
    return out


@case
def clipping():
    def params():
        ps = [nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(1))]
        ps[0].grad, ps[1].grad = torch.tensor([3.0, 4.0]), torch.tensor([0.0, 12.0])
        return ps

    out = []
    for kind in (2, 1.0, float("inf"), 0.5):
        ps = params()
        out += [nn.utils.clip_grad_norm_(ps, 1.0, norm_type=kind), ps[0].grad.tolist()]
    ps = params()
    nn.utils.clip_grad_value_(ps, 3.5)
    bad = params()
    bad[0].grad = torch.tensor([float("nan"), 1.0])
    out += [ps[1].grad.tolist(), error(nn.utils.clip_grad_norm_, bad, 1.0, error_if_nonfinite=True), nn.utils.clip_grad_norm_([], 1.0),
            nn.utils.clip_grad_norm_(params()[0], 1.0), nn.utils.get_total_norm([p.grad for p in params() if p.grad is not None])]
    v = nn.utils.parameters_to_vector(nn.Linear(2, 2).parameters())
    m = nn.Linear(2, 2)
    nn.utils.vector_to_parameters(torch.arange(6.0), m.parameters())
    return [*out, v.shape, m.weight.tolist(), m.bias.tolist(), error(nn.utils.vector_to_parameters, 3, m.parameters())]


@case
def packed_sequences():
    a, b, c = torch.arange(3.0), torch.arange(1.0), torch.arange(2.0)
    padded = rnn.pad_sequence([a, b, c], batch_first=True, padding_value=-1)
    out = [padded.tolist(), rnn.pad_sequence([a, c], padding_side="left").tolist(), [t.tolist() for t in rnn.unpad_sequence(padded, torch.tensor([3, 1, 2]), batch_first=True)]]
    p = rnn.pack_padded_sequence(padded, torch.tensor([3, 1, 2]), batch_first=True, enforce_sorted=False)
    out += [p, p.data.tolist(), p.batch_sizes.tolist(), p.sorted_indices.tolist(), p.unsorted_indices.tolist()]
    back, lengths = rnn.pad_packed_sequence(p, batch_first=True, padding_value=9, total_length=4)
    out += [back.tolist(), lengths.tolist(), [t.tolist() for t in rnn.unpack_sequence(p)], rnn.pack_sequence([a, c, b]).batch_sizes.tolist()]
    out += [error(rnn.pack_padded_sequence, padded, [1, 3, 2], batch_first=True), error(rnn.pack_padded_sequence, padded, [3, 0, 1], batch_first=True, enforce_sorted=False),
            error(rnn.pack_padded_sequence, padded, [3, 1], batch_first=True), error(rnn.pad_packed_sequence, p, total_length=1), error(rnn.pad_sequence, 3),
            error(rnn.pack_sequence, [b, a]), p.is_cuda, p.double().data.dtype, p.to(torch.int64).data.dtype, p.is_pinned()]
    return out


@case
def fused_layers():
    conv, bn = nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3)
    conv(torch.randn(2, 2, 5, 5))
    bn(torch.randn(4, 3, 2, 2))
    conv.eval(), bn.eval()
    x = torch.randn(1, 2, 5, 5)
    f = fusion.fuse_conv_bn_eval(conv, bn)
    lin, lbn = nn.Linear(2, 3).eval(), nn.BatchNorm1d(3).eval()
    g = fusion.fuse_linear_bn_eval(lin, lbn)
    y = torch.randn(4, 2)
    return [torch.allclose(f(x), bn(conv(x)), atol=1e-5), f, torch.allclose(g(y), lbn(lin(y)), atol=1e-6), g, type(f.weight).__name__,
            error(fusion.fuse_conv_bn_eval, conv.train(), bn), error(fusion.fuse_linear_bn_eval, nn.Linear(2, 3).eval(), nn.BatchNorm1d(2).eval())]


@case
def initialisation():
    out = []
    for name, args in (("uniform_", ()), ("normal_", (1.0, 2.0)), ("trunc_normal_", ()), ("constant_", (0.3,)), ("ones_", ()), ("zeros_", ()), ("eye_", ()),
                       ("xavier_uniform_", ()), ("xavier_normal_", (2.0,)), ("kaiming_uniform_", ()), ("kaiming_normal_", ()), ("orthogonal_", ()), ("sparse_", (0.5,))):
        t = torch.empty(3, 4)
        r = getattr(nn.init, name)(t, *args)
        out += [r is t, f"{name} {float(t.double().sum()):.4f}"]
    d = nn.init.dirac_(torch.empty(4, 2, 3), groups=2)
    out += [d.tolist(), nn.init.calculate_gain("relu"), nn.init.calculate_gain("leaky_relu", 0.2), error(nn.init.calculate_gain, "x"), error(nn.init.calculate_gain, "leaky_relu", "a"),
            nn.init._calculate_fan_in_and_fan_out(torch.empty(3, 4, 2, 2)), error(nn.init.xavier_uniform_, torch.empty(3)), error(nn.init.eye_, torch.empty(3)),
            error(nn.init.dirac_, torch.empty(3, 3)), error(nn.init.sparse_, torch.empty(3), 0.1), error(nn.init.orthogonal_, torch.empty(3)),
            error(nn.init.kaiming_normal_, torch.empty(3, 3), mode="x"), error(nn.init.kaiming_uniform_, torch.empty(0, 3)), error(nn.init.dirac_, torch.empty(3, 3, 3), groups=2)]
    g = torch.Generator().manual_seed(3)
    return [*out, nn.init.uniform_(torch.empty(2), generator=g).tolist(), nn.init.normal(torch.empty(2)).shape]


@case
def lazy_modules():
    m = nn.Sequential(nn.LazyLinear(3), nn.ReLU(), nn.LazyBatchNorm1d())
    out = [m, m[0].weight, m[0].has_uninitialized_params(), list(m.state_dict()), error(lambda: m[0].weight.shape), error(lambda: m[0].weight + 1)[:60]]
    m(torch.ones(2, 5))
    out += [m, type(m[0]).__name__, m[0].weight.shape, m[2].running_mean.shape]
    k = nn.LazyLinear(3)
    k.load_state_dict(m[0].state_dict())
    out += [k.weight.shape, k.has_uninitialized_params(), k]
    k(torch.ones(1, 5))
    c = nn.LazyConv2d(2, 3)
    out += [k, error(c, torch.ones(3)), c(torch.ones(1, 4, 5, 5)).shape, c]
    fresh = nn.LazyLinear(2)
    fresh.to(torch.float64)
    loaded = pickle.loads(pickle.dumps(fresh))
    out += [isinstance(loaded.weight, nn.UninitializedParameter), error(nn.Linear(2, 2).load_state_dict, fresh.state_dict()),
            error(fresh.share_memory), nn.parameter.is_lazy(fresh.weight), error(torch.optim.SGD, [fresh.weight], lr=0.1)[:40]]
    return out


@case
def parameters_and_buffers():
    p = nn.Parameter(torch.ones(2), requires_grad=False)
    b = nn.Buffer(torch.zeros(1), persistent=False)

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.b = b
            self.p = p

    m = M()
    q = copy.deepcopy(p)
    return [p, repr(b), list(m.state_dict()), [n for n, _ in m.named_buffers()], isinstance(b, nn.Buffer), type(q).__name__, q.requires_grad, isinstance(torch.ones(1), nn.Parameter),
            type(p + 1).__name__, type(p.data).__name__, type(p.detach()).__name__, pickle.loads(pickle.dumps(p)), nn.Parameter(), type(m.b).__name__,
            error(setattr, m, "p", torch.ones(2)), error(setattr, m, "p", None), m.p]
