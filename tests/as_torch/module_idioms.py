"""What the documentation promises about nn.Module: hooks and their order, state dicts, containers. Run on both libraries by test_idioms.py."""

import copy
import pickle
import warnings
from collections import OrderedDict

import torch
import torch.nn as nn
from torch.nn.modules.module import (
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)


def case(f):
    """Runs it and prints its results, one per line."""
    torch.manual_seed(0)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        results = f()
    for number, result in enumerate(results if isinstance(results, list) else [results]):
        print(f"{f.__name__}[{number}]:", result)
    for w in seen:
        print(f"{f.__name__} warns:", w.category.__name__, str(w.message)[:60])


def error(f, *args, **kwargs):
    """The class and the first words of the error it raises."""
    try:
        result = f(*args, **kwargs)
    except Exception as e:  # noqa: BLE001
        return f"{type(e).__name__}: {str(e).replace('undertow', 'torch')[:110]}"
    return f"no error: {result}"


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 3)
        self.b = nn.Sequential(nn.ReLU(), nn.Linear(3, 1))
        self.register_buffer("buf", torch.ones(2))
        self.register_buffer("hidden", torch.zeros(1), persistent=False)
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x, *, double=False):
        y = self.b(self.a(x)) * self.scale
        return y * 2 if double else y


@case
def order_of_all_hooks():
    log = []
    m = Net()
    handles = [
        register_module_forward_pre_hook(lambda mod, a: log.append(("global pre", type(mod).__name__))),
        register_module_forward_hook(lambda mod, a, o: log.append(("global fwd", type(mod).__name__))),
        register_module_full_backward_pre_hook(lambda mod, g: log.append(("global bpre", type(mod).__name__))),
        register_module_full_backward_hook(lambda mod, i, o: log.append(("global bwd", type(mod).__name__))),
    ]
    m.register_forward_pre_hook(lambda mod, a: log.append("pre 1"))
    m.register_forward_pre_hook(lambda mod, a: log.append("pre 2"), prepend=True)
    m.register_forward_hook(lambda mod, a, o: log.append("fwd 1"))
    m.register_forward_hook(lambda mod, a, o: log.append("fwd 0"), prepend=True)
    m.register_full_backward_pre_hook(lambda mod, g: log.append("bpre"))
    m.register_full_backward_hook(lambda mod, i, o: log.append(("bwd", [None if t is None else tuple(t.shape) for t in (*i, *o)])))
    m(torch.ones(1, 2, requires_grad=True)).sum().backward()
    for h in handles:
        h.remove()
    n = len(log)
    m(torch.ones(1, 2))
    return [*log, len(log) - n]


@case
def hooks_change_values():
    m = nn.Linear(2, 2, bias=False)
    nn.init.eye_(m.weight)
    h1 = m.register_forward_pre_hook(lambda mod, a: a[0] + 1)
    h2 = m.register_forward_hook(lambda mod, a, o: o * 10)
    first = m(torch.zeros(2)).tolist()
    h1.remove()
    second = m(torch.ones(2)).tolist()
    h2.remove()
    m.register_forward_pre_hook(lambda mod, a, k: ((a[0] * 2,), {}), with_kwargs=True)
    m.register_forward_hook(lambda mod, a, k, o: o + len(k), with_kwargs=True)
    return [first, second, m(torch.ones(2)).tolist(), error(lambda: m(torch.ones(2), 3))]


@case
def kwargs_reach_hooks():
    m, log = Net(), []
    m.register_forward_pre_hook(lambda mod, a, k: log.append(sorted(k)), with_kwargs=True)
    m.register_forward_hook(lambda mod, a, k, o: log.append(k), with_kwargs=True)
    m(torch.ones(1, 2), double=True)
    m.register_forward_pre_hook(lambda mod, a, k: 3, with_kwargs=True)
    return [*log, error(m, torch.ones(1, 2))]


@case
def a_hook_that_is_always_called():
    log = []

    class Bad(nn.Module):
        def forward(self, x):
            raise ValueError("in forward")

    m = Bad()
    m.register_forward_hook(lambda *a: log.append("normal"))
    m.register_forward_hook(lambda mod, a, o: log.append(("always", o)), always_call=True)
    said = error(m, torch.ones(1))
    k = nn.Identity()
    k.register_forward_hook(lambda *a: (_ for _ in ()).throw(RuntimeError("hook")))
    k.register_forward_hook(lambda *a: log.append("after a failing hook"), always_call=True)
    return [said, error(k, torch.ones(1)), *log]


@case
def backward_hooks_change_gradients():
    m = nn.Linear(2, 1, bias=False)
    nn.init.ones_(m.weight)
    m.register_full_backward_hook(lambda mod, i, o: (i[0] * 10,))
    x = torch.ones(1, 2, requires_grad=True)
    m(x).sum().backward()
    p = nn.Linear(2, 1, bias=False)
    nn.init.ones_(p.weight)
    p.register_full_backward_pre_hook(lambda mod, o: (o[0] * 3,))
    y = torch.ones(1, 2, requires_grad=True)
    p(y).sum().backward()
    q = nn.Linear(2, 1)
    q.register_full_backward_hook(lambda mod, i, o: (i[0], None))
    return [x.grad.tolist(), m.weight.grad.tolist(), y.grad.tolist(), p.weight.grad.tolist(), error(lambda: q(y).sum().backward())]


@case
def kinds_of_backward_hooks_do_not_mix():
    m = nn.Linear(1, 1)
    m.register_backward_hook(lambda *a: None)
    k = nn.Linear(1, 1)
    k.register_full_backward_hook(lambda *a: None)
    return [error(m.register_full_backward_hook, lambda *a: None), error(k.register_backward_hook, lambda *a: None)]


@case
def registration_hooks():
    log = []
    hs = [
        register_module_buffer_registration_hook(lambda mod, n, b: log.append(("buffer", n))),
        register_module_module_registration_hook(lambda mod, n, s: log.append(("module", n))),
        register_module_parameter_registration_hook(lambda mod, n, p: log.append(("parameter", n))),
    ]
    Net()
    for h in hs:
        h.remove()
    Net()
    return log


@case
def removable_handles():
    m = nn.Linear(1, 1)
    h = m.register_forward_hook(lambda *a: None)
    with h:
        inside = len(m._forward_hooks)
    again = pickle.loads(pickle.dumps(h))
    again.remove()
    return [inside, len(m._forward_hooks), h.id >= 0]


@case
def state_dict_hooks():
    log = []
    m = Net()
    m.register_state_dict_pre_hook(lambda mod, prefix, keep: log.append(("pre", prefix, keep)))
    m.register_state_dict_post_hook(lambda mod, d, prefix, meta: log.append(("post", list(d)[-1])))
    m._register_state_dict_hook(lambda mod, d, prefix, meta: d)
    d = m.state_dict(prefix="p.", keep_vars=True)
    m2 = Net()
    m2.register_load_state_dict_pre_hook(lambda mod, d, prefix, meta, strict, missing, unexpected, errors: log.append(("load pre", prefix, strict)))
    m2.register_load_state_dict_post_hook(lambda mod, keys: (log.append(("load post", list(keys.missing_keys))), keys.missing_keys.clear())[1])
    plain = m.state_dict()
    del plain["scale"]
    result = m2.load_state_dict(plain, strict=True)
    return [*log, list(d), sorted(d._metadata), result, d["p.scale"] is m.scale]


@case
def loading_says_what_does_not_fit():
    m = Net()
    d = m.state_dict()
    d["extra"] = torch.ones(1)
    d["a.weight"] = torch.ones(5, 5)
    del d["b.1.bias"]
    loose = m.state_dict()
    loose["x"] = torch.ones(1)
    return [
        error(m.load_state_dict, d),
        error(m.load_state_dict, 3),
        error(m.load_state_dict, {**m.state_dict(), "scale": 3}),
        m.load_state_dict(loose, strict=False),
        m.load_state_dict(m.state_dict()),
    ]


@case
def loading_by_assignment():
    m = Net()
    d = {k: v.double() for k, v in m.state_dict().items()}
    m.load_state_dict(d, assign=True)
    same = m.a.weight.data_ptr() == d["a.weight"].data_ptr()
    with torch.device("cpu"):
        k = Net()
    return [m.a.weight.dtype, type(m.a.weight).__name__, m.a.weight.requires_grad, same, m.buf.dtype, k.scale.device]


@case
def attributes_of_a_module():
    m = Net()

    class Late(nn.Module):
        def __init__(self):
            self.a = nn.Linear(1, 1)

    return [
        error(getattr, m, "nothing"),
        error(setattr, m, "a", 3),
        error(setattr, m, "scale", torch.ones(1)),
        error(setattr, m, "buf", "x"),
        error(m.register_buffer, "a", torch.ones(1)),
        error(m.register_buffer, "x.y", torch.ones(1)),
        error(m.register_buffer, "", torch.ones(1)),
        error(m.register_buffer, "new", 3),
        error(m.register_parameter, "a", None),
        error(m.register_parameter, "p.q", None),
        error(m.register_parameter, "new", torch.ones(1)),
        error(m.register_parameter, "made", nn.Parameter(torch.ones(1)) * 2),
        error(m.add_module, "a.b", None),
        error(m.add_module, "scale", nn.Linear(1, 1)),
        error(m.add_module, "n", 3),
        error(Late),
        error(m.get_submodule, "b.1").replace("no error: ", ""),
        error(m.get_submodule, "b.7"),
        error(m.get_parameter, "a.weight").split("\n")[0],
        error(m.get_parameter, "a.nothing"),
        error(m.get_buffer, "scale"),
        error(m.set_submodule, "b.0", nn.Tanh()),
        error(m.set_submodule, "", nn.Tanh()),
        error(delattr, m, "nothing"),
        "hidden" in m.state_dict(),
        sorted(n for n in dir(m) if n in ("a", "scale", "buf")),
        error(m.register_buffer, "maybe", None),
        list(m.state_dict()),
    ]


@case
def members_and_walks():
    m = Net()
    m.tied = m.a
    return [
        [n for n, _ in m.named_parameters()],
        [n for n, _ in m.named_parameters(remove_duplicate=False)],
        [n for n, _ in m.named_parameters(prefix="x", recurse=False)],
        [n for n, _ in m.named_modules()],
        [n for n, _ in m.named_modules(remove_duplicate=False, prefix="q")],
        [n for n, _ in m.named_children()],
        [n for n, _ in m.named_buffers()],
        len(list(m.children())),
        m,
        m.train(False).training,
        [c.training for c in m.modules()],
        m.requires_grad_(False).a.weight.requires_grad,
        error(m.train, 3),
        m.half().a.weight.dtype,
        m.to(torch.float64).buf.dtype,
        error(m.to, torch.int64),
        m.apply(lambda k: None) is m,
        m.zero_grad() is None,
        m._get_name(),
    ]


@case
def sequential():
    s = nn.Sequential(OrderedDict([("one", nn.Linear(1, 2)), ("two", nn.ReLU())]))
    t = nn.Sequential(nn.Linear(1, 1), nn.ReLU(), nn.Tanh())
    out = [s, s.one, s[0], s[-1], len(s), t[1:], t[:-1], [n for n, _ in t.named_children()], nn.Linear in map(type, t)]
    t.append(nn.Sigmoid())
    t.insert(1, nn.GELU())
    out.append(str(t))
    t.extend(nn.Sequential(nn.ELU()))
    popped = t.pop(0)
    out += [str(t), popped, error(t.__getitem__, 10), error(t.insert, 99, nn.ReLU()), error(t.insert, 0, 3), error(t.__getitem__, "a")]
    del t[0]
    del t[1:3]
    u = nn.Sequential(nn.ReLU()) + nn.Sequential(nn.Tanh())
    out += [t, u, nn.Sequential(nn.ReLU()) * 2, 2 * nn.Sequential(nn.ReLU()), error(lambda: u + 3), error(lambda: u * 0), error(lambda: u * "a"), error(u, torch.ones(1), 2)]
    u += nn.Sequential(nn.ELU())
    u *= 2
    u[0] = nn.GELU()
    return [*out, u, list(u.state_dict())]


@case
def module_lists():
    ml = nn.ModuleList([nn.Linear(1, 1), nn.ReLU()])
    ml.append(nn.Tanh())
    ml.extend([nn.ELU(), nn.GELU()])
    ml.insert(1, nn.Sigmoid())
    out = [str(ml), len(ml), ml[1:3], ml[-1], error(ml.__getitem__, 9), error(ml.extend, 3), ml.pop(1), error(ml.__setitem__, 1, 3)]
    del ml[1:3]
    ml += [nn.ReLU()]
    ml[0] = nn.Identity()
    out += [str(ml), ml + [nn.Tanh()], [type(m).__name__ for m in reversed(ml)], nn.ReLU() in ml, list(ml.state_dict()), error(ml, torch.ones(1)), nn.ModuleList()]
    return [*out, nn.ModuleList([nn.Linear(1, 1) for _ in range(3)])]


@case
def module_dicts():
    d = nn.ModuleDict({"a": nn.Linear(1, 1), "b": nn.ReLU()})
    d["c"] = nn.Tanh()
    d.update([("z", nn.ELU()), ("a", nn.Sigmoid())])
    out = [str(d), list(d), list(d.keys()), [type(v).__name__ for v in d.values()], "a" in d, len(d), d.pop("b"), error(d.__getitem__, "b"), error(d.update, 3)]
    del d["c"]
    out += [str(d), error(d.__setitem__, "x.y", nn.ReLU()), error(d.__setitem__, "k", 3), error(d.__setitem__, 3, nn.ReLU()), error(d.update, [("a",)])]
    d.clear()
    return [*out, d, len(d)]


@case
def parameter_lists():
    pl = nn.ParameterList([nn.Parameter(torch.ones(2)), torch.zeros(1), "text"])
    pl.append(torch.ones(3))
    pl.extend([torch.ones(1, 2)])
    out = [str(pl), len(pl), pl[0].shape, pl[1:3], pl[-1].shape, type(pl[1]).__name__, [n for n, _ in pl.named_parameters()], list(pl.state_dict())]
    pl[0] = torch.full((2,), 5.0)
    pl += [torch.ones(1)]
    return [*out, pl[0], error(pl.__getitem__, 99), error(pl.extend, 3), error(pl, 1), len(pl), list(pl)[-1].shape]


@case
def parameter_dicts():
    d = nn.ParameterDict({"w": nn.Parameter(torch.ones(2)), "b": torch.zeros(1), "t": "text"})
    d["z"] = torch.ones(3)
    d.update({"q": nn.Parameter(torch.ones(1))})
    out = [str(d), list(d), "w" in d, len(d), d.get("none", 4), d.setdefault("w").shape, d.pop("q"), error(d.__getitem__, "q"), list(d.state_dict())]
    e = d | nn.ParameterDict({"n": torch.ones(1)})
    f = nn.ParameterDict().fromkeys(["x", "y"], torch.ones(1))
    out += [list(e), list(d.copy()), error(d, 1), list(reversed(d)), d.popitem()[0], list(f)]
    del d["w"]
    d.clear()
    return [*out, len(d), error(d.update, 3), error(nn.ParameterDict().__setitem__, 3, torch.ones(1))[:90]]


@case
def copies():
    m = Net()
    c = copy.deepcopy(m)
    s = copy.copy(m)
    p = pickle.loads(pickle.dumps(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))))
    return [c.a.weight is m.a.weight, torch.equal(c.a.weight, m.a.weight), s.a is m.a, p, list(p.state_dict()), c.hidden.shape, s.__dict__.keys() == m.__dict__.keys()]


@case
def text_of_modules():
    class Extra(nn.Module):
        def __init__(self):
            super().__init__()
            self.x = nn.ModuleDict({"deep": nn.Sequential(nn.Linear(1, 1), Net())})

        def extra_repr(self):
            return "first=1\nsecond=2"

    class OneLine(nn.Module):
        def extra_repr(self):
            return "n=3"

    return [Extra(), OneLine(), nn.Module(), nn.Sequential(), nn.ModuleList([nn.Linear(2, 2)] * 3), error(nn.Module(), 1), error(nn.Module, 1)]


@case
def extra_state():
    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.count = 0

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    a, b = nn.Sequential(Counts()), nn.Sequential(Counts())
    a[0].count = 7
    b.load_state_dict(a.state_dict())
    return [list(a.state_dict()), b[0].count, error(nn.Sequential(nn.ReLU()).load_state_dict, a.state_dict()), error(b.load_state_dict, {}),
            error(nn.Linear(1, 1).get_extra_state)[:85], error(nn.Linear(1, 1).set_extra_state, 1)[:85]]
