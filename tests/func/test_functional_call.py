"""functional_call: modules called with other parameters."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow.func import functional_call, grad, stack_module_state, vmap


class Layer:
    def __init__(self, weight, bias):
        self._parameters = {"weight": weight, "bias": bias}

    def __getattr__(self, name):
        try:
            return self.__dict__["_parameters"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __call__(self, x):
        return x @ self.weight + self.bias


class Model:
    """Two layers that share a weight, and a buffer."""

    def __init__(self):
        weight = ut.ones(2, 2)
        self.first, self.second = Layer(weight, ut.zeros(2)), Layer(weight, ut.ones(2))
        self.scale = ut.tensor(1.0)

    def named_parameters(self, remove_duplicate=True):
        seen = set()
        for name in ("first", "second"):
            for key, value in getattr(self, name)._parameters.items():
                if remove_duplicate and id(value) in seen:
                    continue
                seen.add(id(value))
                yield f"{name}.{key}", value

    def named_buffers(self, remove_duplicate=True):
        yield "scale", self.scale

    def __call__(self, x, times=1):
        return self.second(self.first(x)) * self.scale * times


X = ut.ones(1, 2)


def test_given_tensors_replace_parameters_only_during_the_call():
    model = Model()
    before = model(X).tolist()
    got = functional_call(model, {"second.bias": ut.zeros(2), "scale": ut.tensor(3.0)}, (X,), {"times": 2})
    assert got.tolist() == [[24.0, 24.0]]
    assert model(X).tolist() == before


def test_one_argument_needs_no_tuple_and_dictionaries_may_be_several():
    got = functional_call(Model(), ({"second.bias": ut.zeros(2)}, {"scale": ut.tensor(3.0)}), X)
    assert got.tolist() == [[12.0, 12.0]]


def test_a_shared_parameter_is_replaced_under_all_its_names():
    assert functional_call(Model(), {"first.weight": ut.zeros(2, 2)}, X).tolist() == [[1.0, 1.0]]
    assert functional_call(Model(), {"first.weight": ut.zeros(2, 2), "first.bias": ut.ones(2)}, X, tie_weights=False).tolist() == [[3.0, 3.0]]


def test_the_modules_own_tensors_are_restored_after_an_exception():
    model = Model()
    weight = model.first.weight
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        functional_call(model, {"first.weight": ut.ones(5, 5)}, X)
    assert model.first.weight is weight and model.second.weight is weight


def test_gradients_are_those_of_the_given_tensors():
    model = Model()
    params = {name: value.clone() for name, value in model.named_parameters()}
    loss = lambda p, x: functional_call(model, p, (x.unsqueeze(0),)).sum()  # noqa: E731
    got = vmap(grad(loss), in_dims=(None, 0))(params, ut.tensor([[1.0, 0.0], [0.0, 2.0]]))
    assert got["second.bias"].tolist() == [[1.0, 1.0]] * 2
    assert got["first.bias"].tolist() == [[2.0, 2.0]] * 2
    assert got["first.weight"].shape == (2, 2, 2)


@pytest.mark.parametrize(
    ("dicts", "options", "kind", "text"),
    [
        (3, {}, ValueError, "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts"),
        ((3,), {}, ValueError, "Expected all elements of parameter_and_buffer_dicts to be dictionaries"),
        (({"scale": X}, {"scale": X}), {}, ValueError, "appeared in multiple dictionaries"),
        ({"scale": 3}, {}, TypeError, "is not an instance of"),
        ({"other": X}, {"strict": True}, RuntimeError, "Unexpected key"),
        ({"scale": X}, {"strict": True}, RuntimeError, "Missing key"),
    ],
)
def test_functional_call_raises(dicts, options, kind, text):
    with pytest.raises(kind) as error:
        functional_call(Model(), dicts, (X,), **options)
    assert text in str(error.value)


def test_modules_are_called_with_other_parameters():
    model = ut.nn.Sequential(ut.nn.Linear(2, 3), ut.nn.Tanh(), ut.nn.Linear(3, 1))
    params = {name: p.detach() for name, p in model.named_parameters()}
    x = ut.ones(4, 2)
    got = vmap(grad(lambda p, a: functional_call(model, p, (a,)).sum()), in_dims=(None, 0))(params, x)
    for i in range(4):
        model.zero_grad()
        model(x[i]).sum().backward()
        assert all(ut.allclose(p.grad, got[name][i]) for name, p in model.named_parameters())


def test_an_ensemble_is_a_map_over_stacked_modules():
    models = [ut.nn.Linear(2, 3) for _ in range(4)]
    params, buffers = stack_module_state(models)
    assert buffers == {} and all(p.is_leaf and p.requires_grad for p in params.values())
    got = vmap(lambda p, x: functional_call(models[0], p, (x,)), in_dims=(0, None))(params, X)
    assert ut.allclose(got, ut.stack([m(X) for m in models]))
    got.sum().backward()
    assert params["weight"].grad.shape == (4, 3, 2)
    with pytest.raises(RuntimeError, match="Expected at least one model"):
        stack_module_state([])
    with pytest.raises(RuntimeError, match="the same training/eval mode"):
        stack_module_state([models[0], ut.nn.Linear(2, 3).eval()])
    with pytest.raises(RuntimeError, match="of the same class"):
        stack_module_state([models[0], ut.nn.Tanh()])
    with pytest.raises(RuntimeError, match="to have the same .requires_grad"):
        stack_module_state([models[0], ut.nn.Linear(2, 3).requires_grad_(False)])


def make(lib):
    """A module whose weight has two names, with a buffer that a call counts."""

    class Tied(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.l1 = lib.nn.Linear(1, 1, bias=False)
            self.l2 = lib.nn.Linear(1, 1, bias=False)
            self.l2.weight = self.l1.weight
            self.register_buffer("calls", lib.zeros(()))
            self.note = 3
            with lib.no_grad():
                self.l1.weight.fill_(2.0)

        def forward(self, x):
            self.calls = self.calls + 1
            extra = getattr(self, "extra", None)
            return self.l2(self.l1(x)) + (0 if extra is None else extra)

    return Tied()


NEW = lambda lib, value: lib.full((1, 1), value)  # noqa: E731
CALLS = {
    "one of two names": (lambda lib: {"l1.weight": NEW(lib, 3.0)}, {}),
    "the other name": (lambda lib: {"l2.weight": NEW(lib, 3.0)}, {}),
    "both, the same": (lambda lib: dict.fromkeys(("l1.weight", "l2.weight"), NEW(lib, 3.0)), {}),
    "both, different": (lambda lib: {"l1.weight": NEW(lib, 3.0), "l2.weight": NEW(lib, 4.0)}, {}),
    "both, untied": (lambda lib: {"l1.weight": NEW(lib, 3.0), "l2.weight": NEW(lib, 4.0)}, {"tie_weights": False}),
    "one, untied": (lambda lib: {"l1.weight": NEW(lib, 3.0)}, {"tie_weights": False}),
    "strict, tied": (lambda lib: {"l1.weight": NEW(lib, 3.0), "calls": lib.ones(())}, {"strict": True}),
    "strict, untied": (lambda lib: {"l1.weight": NEW(lib, 3.0), "calls": lib.ones(())}, {"strict": True, "tie_weights": False}),
    "strict, missing": (lambda lib: {"l1.weight": NEW(lib, 3.0)}, {"strict": True}),
    "strict, unexpected": (lambda lib: {"l1.weight": NEW(lib, 3.0), "calls": lib.ones(()), "extra": lib.ones(())}, {"strict": True}),
    "strict, both": (lambda lib: {"extra": lib.ones(())}, {"strict": True}),
    "nothing": (lambda lib: {}, {}),
    "a new name": (lambda lib: {"extra": lib.ones(())}, {}),
    "a new parameter": (lambda lib: {"extra": lib.nn.Parameter(lib.ones(()))}, {}),
    "a buffer": (lambda lib: {"calls": lib.full((), 5.0)}, {}),
    "a number": (lambda lib: {"calls": 3}, {}),
    "a name of no tensor": (lambda lib: {"note": lib.ones(())}, {}),
    "a missing submodule": (lambda lib: {"l3.weight": lib.ones(())}, {}),
    "None": (lambda lib: {"extra": None, "calls": lib.zeros(())}, {}),
}


@pytest.mark.parametrize("case", CALLS)
@pytest.mark.parametrize("old", [False, True])
def test_names_ties_and_strictness_are_torchs(case, old, same_as_torch):
    def scenario(lib):
        module, (given, options) = make(lib), CALLS[case]
        given, weight = given(lib), module.l1.weight
        call = lib.nn.utils.stateless.functional_call if old else lib.func.functional_call
        try:
            out = call(module, given, (lib.ones(1, 1),), **options)
        except Exception as error:
            out = [type(error).__name__, str(error).replace("torch.", "undertow.")]
        same = module.l1.weight is weight and module.l2.weight is weight and "extra" not in module.__dict__
        return out, same, sorted(given.items(), key=lambda item: item[0]), module.calls, sorted(module._parameters), module.note

    same_as_torch(scenario)


def test_reparametrize_module_is_a_context_manager_as_in_torch(same_as_torch):
    def scenario(lib):
        module = make(lib)
        values = {"l1.weight": NEW(lib, 3.0), "calls": lib.zeros(())}
        with lib.nn.utils.stateless._reparametrize_module(module, values, tie_weights=True):
            inside = module(lib.ones(1, 1)), module.l2.weight is values["l1.weight"]
        return inside, module(lib.ones(1, 1)), values, sorted(lib.nn.utils.stateless._untie_named_tensors_map(module, {"l2.weight": lib.ones(1)}))

    same_as_torch(scenario)


def test_a_parallel_module_raises():
    with pytest.raises(RuntimeError, match="can't be used with nn.DataParallel"):
        functional_call(ut.nn.DataParallel(ut.nn.Linear(1, 1)), {}, (ut.ones(1, 1),))


def test_unknown_names_are_attributes_during_the_call():
    model = Model()
    assert functional_call(model, {"other": X}, X).tolist() == [[5.0, 5.0]]
    assert not hasattr(model, "other")
