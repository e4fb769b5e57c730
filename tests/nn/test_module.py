"""Modules compared with torch: each scenario must have the same result in both libraries."""

import copy
import gc
import pickle
from collections import OrderedDict

import numpy as np
import pytest


def net(L):
    return L.nn.Sequential(L.nn.Linear(3, 4), L.nn.ReLU(), L.nn.Linear(4, 2))


def data(L):
    return L.tensor(np.linspace(-1, 1, 6).reshape(2, 3).astype("float32"))


class Scenarios:
    def parameters_by_name(L):
        return [(n, list(p.shape), p) for n, p in net(L).named_parameters()]

    def names_of_modules_children_and_buffers(L):
        m = net(L)
        m.register_buffer("count", L.zeros(2))
        m.register_buffer("hidden", L.ones(1), persistent=False)
        return [[n for n, _ in m.named_modules()], [n for n, _ in m.named_children()], [n for n, _ in m.named_buffers()], list(m.state_dict())]

    def representation(L):
        m = L.nn.ModuleList([L.nn.Linear(1, 2), L.nn.Linear(1, 2), L.nn.Tanh()])
        return [repr(net(L)), repr(m), repr(L.nn.ModuleDict({"a": L.nn.GELU()})), repr(L.nn.ParameterList([L.ones(2)])), repr(L.nn.Identity(3))]

    def training_mode_applies_to_submodules(L):
        m = net(L).eval()
        return [[x.training for x in m.modules()], [x.training for x in m.train().modules()]]

    def missing_and_unexpected_keys(L):
        return net(L).load_state_dict({"0.weight": L.zeros(4, 3), "other": L.zeros(1)})

    def sizes_that_do_not_match(L):
        return net(L).load_state_dict({**net(L).state_dict(), "2.bias": L.zeros(5)})

    def loading_something_that_is_not_a_dictionary(L):
        return net(L).load_state_dict([1])

    def loading_without_strictness(L):
        return list(net(L).load_state_dict({"0.weight": L.zeros(4, 3), "other": L.zeros(1)}, strict=False))

    def loading_by_assignment(L):
        m, w = L.nn.Linear(2, 1), L.ones(1, 2)
        m.load_state_dict({"weight": w, "bias": L.zeros(1)}, assign=True)
        w.fill_(5)
        return [m.weight, m.weight.requires_grad]

    def state_is_shared_with_the_module(L):
        m = L.nn.Linear(2, 1)
        m.state_dict()["weight"].fill_(7)
        return m.weight

    def forward_hooks_in_their_order(L):
        m, log = L.nn.Linear(3, 2), []
        m.register_forward_pre_hook(lambda mod, args: log.append("pre"))
        m.register_forward_hook(lambda mod, args, out: log.append("post"))
        m.register_forward_hook(lambda mod, args, out: log.append("first"), prepend=True)
        m.register_forward_hook(lambda mod, args, kwargs, out: log.append(sorted(kwargs)), with_kwargs=True)
        m(input=data(L))
        return log

    def hooks_replace_arguments_and_results(L):
        m = L.nn.Linear(3, 2)
        m.register_forward_pre_hook(lambda mod, args: (args[0] * 0,))
        m.register_forward_hook(lambda mod, args, out: out + 1)
        return m(data(L)) - m.bias

    def a_hook_called_although_forward_raised(L):
        m, log = L.nn.Linear(3, 2), []
        m.register_forward_hook(lambda mod, args, out: log.append(out), always_call=True)
        try:
            m(L.ones(5))
        except RuntimeError:
            log.append("raised")
        return log

    def full_backward_hooks(L):
        m, log = net(L), []
        m[2].register_full_backward_hook(
            lambda mod, gi, go: log.append([[None if g is None else list(g.shape) for g in gi], [list(g.shape) for g in go]])
        )
        m[0].register_full_backward_hook(lambda mod, gi, go: log.append(gi))
        m[2].register_full_backward_pre_hook(lambda mod, go: (go[0] * 2,))
        x = data(L)
        m(x).sum().backward()
        return [log, m[0].weight.grad]

    def a_backward_hook_replaces_gradients(L):
        m, x = L.nn.Linear(3, 2), data(L).requires_grad_()
        m.register_full_backward_hook(lambda mod, gi, go: (gi[0] * 0 + 3,))
        m(x).sum().backward()
        return x.grad

    def both_kinds_of_backward_hook(L):
        m = L.nn.Linear(3, 2)
        m.register_full_backward_hook(lambda *a: None)
        m.register_backward_hook(lambda *a: None)

    def a_removed_hook_is_gone(L):
        m, log = L.nn.Linear(3, 2), []
        with m.register_forward_hook(lambda *a: log.append(1)):
            m(data(L))
        m(data(L))
        return log

    def attributes_before_init(L):
        class Bad(L.nn.Module):
            def __init__(self):
                self.w = L.nn.Parameter(L.ones(1))

        Bad()

    def a_tensor_in_place_of_a_parameter(L):
        L.nn.Linear(2, 2).weight = L.ones(2, 2)

    def a_parameter_that_is_not_a_leaf(L):
        L.nn.Module().register_parameter("w", L.nn.Linear(2, 2).weight * 2)

    def a_name_with_a_dot(L):
        L.nn.Module().register_parameter("a.b", L.nn.Parameter(L.ones(1)))

    def a_name_that_exists(L):
        L.nn.Linear(1, 1).register_buffer("weight", L.ones(1))

    def an_attribute_that_does_not_exist(L):
        return L.nn.Linear(1, 1).nothing

    def a_module_without_forward(L):
        return L.nn.Module()(1)

    def dotted_names_are_found(L):
        m = net(L)
        return [m.get_submodule("0")._get_name(), list(m.get_parameter("2.weight").shape)]

    def a_missing_dotted_name(L):
        return net(L).get_submodule("0.inner")

    def casts_apply_to_all_tensors(L):
        m = net(L).double()
        m.register_buffer("n", L.ones(1, dtype=L.int64))
        m.half()
        return [str(p.dtype) for p in m.parameters()] + [str(b.dtype) for b in m.buffers()]

    def to_an_integer_dtype(L):
        net(L).to(L.int32)

    def zeroing_gradients(L):
        m = net(L)
        m(data(L)).sum().backward()
        m.zero_grad(set_to_none=False)
        kept = [p.grad for p in m.parameters()]
        m.zero_grad()
        return [kept, [p.grad for p in m.parameters()]]

    def copies_are_independent(L):
        m = net(L)
        c, p = copy.deepcopy(m), pickle.loads(pickle.dumps(m))
        with L.no_grad():
            m[0].weight.zero_()
        return [c[0].weight, p[0].weight, type(c[0].weight).__name__]

    def containers_slice_insert_and_add(L):
        m = net(L)
        m.insert(1, L.nn.Tanh())
        m.append(L.nn.Sigmoid())
        del m[0]
        both = m + L.nn.Sequential(L.nn.Identity())
        return [repr(m), repr(m[1:]), len(both), list(both._modules), repr(m.pop(0))]

    def an_ordered_dictionary_of_modules(L):
        m = L.nn.Sequential(OrderedDict(first=L.nn.Linear(3, 3), second=L.nn.ReLU()))
        return [list(m.state_dict()), m.first is m[0], m(data(L))]

    def lists_and_dictionaries_of_parameters(L):
        p = L.nn.ParameterList([L.ones(1), L.nn.Parameter(L.zeros(2))])
        d = L.nn.ParameterDict({"a": L.ones(2)})
        d["b"] = L.zeros(1)
        return [[n for n, _ in p.named_parameters()], [n for n, _ in d.named_parameters()], len(p), "a" in d, list(d.pop("a").shape), len(d)]

    def extra_state_is_saved_and_loaded(L):
        class Counting(L.nn.Module):
            n = 3

            def get_extra_state(self):
                return {"n": self.n}

            def set_extra_state(self, state):
                self.n = state["n"]

        a, b = Counting(), Counting()
        a.n = 9
        b.load_state_dict(a.state_dict())
        return [b.n, list(a.state_dict())]

    def state_dict_hooks(L):
        m, log = L.nn.Linear(1, 1), []
        m.register_state_dict_pre_hook(lambda mod, prefix, keep: log.append(prefix))
        m.register_state_dict_post_hook(lambda mod, state, prefix, meta: state.pop("bias") and None)
        m.register_load_state_dict_post_hook(lambda mod, keys: keys.missing_keys.clear())
        return [list(m.state_dict()), log, list(m.load_state_dict({"weight": L.ones(1, 1)}))]

    def a_shared_parameter_counts_once(L):
        m = L.nn.Sequential(L.nn.Linear(2, 2), L.nn.Linear(2, 2))
        m[1].weight = m[0].weight
        return [len(list(m.parameters())), [n for n, _ in m.named_parameters()], list(m.state_dict())]

    def buffers_assigned_as_buffers(L):
        m = L.nn.Module()
        m.mean = L.nn.Buffer(L.ones(2))
        m.rest = L.nn.Buffer(L.ones(1), persistent=False)
        return [[n for n, _ in m.named_buffers()], list(m.state_dict())]

    def deprecated_state_dict_arguments(L):
        return list(L.nn.Linear(1, 1).state_dict({}, "p."))

    def initial_values_follow_the_seed(L):
        t = L.empty(4, 6)
        i = L.nn.init
        return [
            i.xavier_uniform_(t.clone()),
            i.kaiming_normal_(t.clone()),
            i.trunc_normal_(t.clone(), std=0.5),
            i.trunc_normal_(t.clone(), 0.0, 1.0, 1.5, 2.0),
            i.eye_(t.clone()),
            i.uniform_(t.clone(), -1, 2),
        ]

    def gains(L):
        return [L.nn.init.calculate_gain(n) for n in ("linear", "tanh", "relu", "selu", "leaky_relu")]

    def dirac_and_constants(L):
        return [L.nn.init.dirac_(L.empty(4, 2, 3), 2), L.nn.init.constant_(L.empty(2), 3.0)]

    def fans_of_a_vector(L):
        L.nn.init.xavier_normal_(L.empty(3))

    def clipping(L):
        m = net(L)
        (m(data(L)) * 100).sum().backward()
        norm = L.nn.utils.clip_grad_norm_(m.parameters(), 2.0)
        L.nn.utils.clip_grad_value_(m.parameters(), 0.5)
        return [norm, [p.grad for p in m.parameters()]]

    def a_norm_that_is_not_finite(L):
        w = L.ones(1, requires_grad=True)
        (w * float("inf")).backward()
        L.nn.utils.clip_grad_norm_(w, 1.0, error_if_nonfinite=True)

    def parameters_as_a_vector(L):
        m = L.nn.Linear(2, 1)
        v = L.nn.utils.parameters_to_vector(m.parameters())
        L.nn.utils.vector_to_parameters(L.arange(3.0), m.parameters())
        return [v, m.weight, m.bias]

    def a_new_dictionary_removes_all_global_hooks(L):
        calls, home = [], L.nn.modules.module
        home.register_module_forward_hook(lambda *_: calls.append("forward"))
        home.register_module_forward_pre_hook(lambda *_: calls.append("before"))
        home.register_module_full_backward_pre_hook(lambda *_: calls.append("backward"))
        m = net(L)
        m[0](data(L)).sum().backward()
        seen = list(calls)
        home._global_forward_hooks, home._global_forward_pre_hooks = OrderedDict(), OrderedDict()
        home._global_backward_pre_hooks = OrderedDict()
        m(data(L)).sum().backward()
        return [seen, calls]

    def a_backward_hook_that_returns_a_gradient_for_an_input_without_one(L):
        m = L.nn.Linear(3, 1)
        m.register_full_backward_hook(lambda module, grad_input, grad_output: grad_output)
        m(data(L)).sum().backward()

    def loading_a_state_dict_leaves_no_reference_cycle(L):
        m = net(L)
        state = copy.deepcopy(m).state_dict()
        gc.collect()
        m.load_state_dict(state)
        return gc.collect()

    def embeddings(L):
        e = L.nn.Embedding(5, 2, padding_idx=-1)
        e(L.tensor([0, 4, 0])).sum().backward()
        return [e.weight, e.weight.grad, repr(e), L.nn.Embedding.from_pretrained(L.ones(2, 2)).weight.requires_grad]


NAMES = [n for n, f in vars(Scenarios).items() if callable(f)]


@pytest.mark.parametrize("name", NAMES)
def test_a_scenario_matches_torch(name, same_as_torch):
    scenario = vars(Scenarios)[name]
    same_as_torch(scenario, atol=1e-5, whole_messages=True)


ACTIVATIONS = [
    "ReLU",
    "ReLU6",
    "ELU",
    "CELU",
    "SELU",
    "GELU",
    "SiLU",
    "Mish",
    "Sigmoid",
    "Tanh",
    "LogSigmoid",
    "Softsign",
    "Tanhshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "PReLU",
    "Softplus",
    "Hardshrink",
    "Softshrink",
]


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_matches_torch(name, same_as_torch):
    def scenario(L):
        layer = getattr(L.nn, name)()
        x = L.linspace(-4, 4, 9).requires_grad_()
        y = layer(x)
        y.sum().backward()
        return [y, x.grad, repr(layer)]

    same_as_torch(scenario, atol=1e-5, whole_messages=True)


LOSSES = {
    "L1Loss": "f",
    "MSELoss": "f",
    "SmoothL1Loss": "f",
    "HuberLoss": "f",
    "BCEWithLogitsLoss": "u",
    "CrossEntropyLoss": "c",
    "NLLLoss": "c",
    "KLDivLoss": "u",
    "PoissonNLLLoss": "u",
    "SoftMarginLoss": "s",
    "HingeEmbeddingLoss": "s",
}


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_matches_torch(name, reduction, same_as_torch):
    def scenario(L):
        rng = np.random.default_rng(0)
        x = L.tensor(rng.standard_normal((4, 3))).requires_grad_()
        y = {"f": rng.standard_normal((4, 3)), "u": rng.random((4, 3)), "c": rng.integers(0, 3, 4), "s": np.sign(rng.standard_normal((4, 3)))}[
            LOSSES[name]
        ]
        loss = getattr(L.nn, name)(reduction=reduction)(x, L.tensor(y))
        loss.sum().backward()
        return [loss, x.grad]

    same_as_torch(scenario, atol=1e-5)


def test_a_class_may_define_register_buffer_without_persistent(same_as_torch):
    def run(L):
        class Own(L.nn.Module):
            def register_buffer(self, name, tensor):
                super().register_buffer(name, tensor, True)

        module = Own()
        module.kept = L.nn.Buffer(L.ones(2))
        return dict(module.named_buffers()), list(module.state_dict())

    same_as_torch(run)
