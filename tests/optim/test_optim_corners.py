"""Corner cases of torch.optim compared with torch: groups, names, flags, hooks, state dicts that are exchanged, and errors."""

from __future__ import annotations

import copy
import pickle

import pytest
from small_problems import parameter, train

NAMES = ["SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "Adadelta", "RMSprop", "Rprop", "ASGD", "LBFGS", "Adafactor", "Muon"]
STEPPED = [n for n in NAMES if n not in ("LBFGS", "Muon")]  # Muon rounds intermediate results to bfloat16
FLAGS = [
    {"foreach": True},
    {"fused": True},
    {"foreach": True, "fused": True},
    {"capturable": True},
    {"differentiable": True},
    {"fused": True, "differentiable": True},
    {"foreach": True, "differentiable": True},
    {"maximize": True},
]


def make(lib, name, params=None, **options):
    return getattr(lib.optim, name)([parameter(lib, 2, 3)] if params is None else params, **options)


def by_key(x):
    """Dictionaries in the order of their keys, which is not part of the contract."""
    if isinstance(x, dict):
        return {str(k): by_key(x[k]) for k in sorted(x, key=str)}
    return [by_key(v) for v in x] if isinstance(x, list) else x


@pytest.mark.parametrize("name", NAMES)
def test_defaults_and_repr_match_torch(name, same_as_torch):
    same_as_torch(lambda lib: (repr(make(lib, name)), by_key(make(lib, name).defaults)))


@pytest.mark.parametrize("flags", FLAGS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_flags_are_accepted_or_raise_as_in_torch(name, flags, same_as_torch):
    same_as_torch(lambda lib: repr(make(lib, name, **flags)))


@pytest.mark.parametrize("name", STEPPED)
def test_state_dicts_after_some_steps_match_torch(name, same_as_torch):
    def after(lib):
        params = [parameter(lib, 2, 3), parameter(lib, 4)]
        optimizer = make(lib, name, params)
        train(optimizer, params, 3)
        return by_key(optimizer.state_dict()), params

    same_as_torch(after, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", STEPPED)
@pytest.mark.parametrize("flags", [{"maximize": True}, {"foreach": False}, {"lr": "tensor"}], ids=str)
def test_steps_under_flags_match_torch(name, flags, same_as_torch):
    def after(lib):
        params = [parameter(lib, 2, 3)]
        train(make(lib, name, params, **{k: lib.tensor(0.1) if v == "tensor" else v for k, v in flags.items()}), params, 3)
        return params

    same_as_torch(after, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("lr", [-1.0, "two"])
def test_bad_learning_rates_raise_torchs_error(name, lr, same_as_torch):
    result = same_as_torch(lambda lib: make(lib, name, lr=lib.tensor([0.1, 0.2]) if lr == "two" else lr))
    assert result[0] == "ValueError"


@pytest.mark.parametrize("name", [n for n in NAMES if n != "LBFGS"])
def test_groups_and_names_are_kept_as_in_torch(name, same_as_torch):
    def groups(lib):
        optimizer = make(lib, name, [{"params": [parameter(lib, 2, 3)], "lr": 0.5}])
        optimizer.add_param_group({"params": parameter(lib, 2, 2)})
        named = make(lib, name, [("a", parameter(lib, 2, 3)), ("b", parameter(lib, 2, 3))])
        return by_key(optimizer.state_dict()), by_key(named.state_dict()), repr(named)

    same_as_torch(groups)


ERROR_CASES = {
    "nothing": lambda lib: lib.optim.SGD([]),
    "a tensor": lambda lib: lib.optim.SGD(parameter(lib, 2)),
    "a computed tensor": lambda lib: lib.optim.SGD([parameter(lib, 2) * 2]),
    "a number": lambda lib: lib.optim.SGD(3),
    "numbers": lambda lib: lib.optim.SGD([3]),
    "a string": lambda lib: lib.optim.SGD("ab"),
    "a set in a group": lambda lib: lib.optim.SGD([{"params": {parameter(lib, 2)}}]),
    "a group that is a list": lambda lib: lib.optim.SGD([parameter(lib, 2)]).add_param_group([parameter(lib, 2)]),
    "a group without params": lambda lib: lib.optim.SGD([parameter(lib, 2)]).add_param_group({"lr": 1}),
    "names for some": lambda lib: lib.optim.SGD([("a", parameter(lib, 2)), parameter(lib, 2)]),
    "a group without names": lambda lib: lib.optim.SGD([("a", parameter(lib, 2))]).add_param_group({"params": [parameter(lib, 2)]}),
    "a group with names": lambda lib: lib.optim.SGD([parameter(lib, 2)]).add_param_group({"params": [("b", parameter(lib, 2))]}),
    "nesterov without momentum": lambda lib: lib.optim.SGD([parameter(lib, 2)], nesterov=True),
    "a beta of 1": lambda lib: lib.optim.Adam([parameter(lib, 2)], betas=(1.0, 0.9)),
    "a negative epsilon": lambda lib: lib.optim.Adam([parameter(lib, 2)], eps=-1),
    "two groups for LBFGS": lambda lib: lib.optim.LBFGS([{"params": [parameter(lib, 2)]}, {"params": [parameter(lib, 2)]}]),
    "LBFGS without closure": lambda lib: lib.optim.LBFGS([parameter(lib, 2)]).step(),
    "Muon and a vector": lambda lib: lib.optim.Muon([parameter(lib, 2)]),
    "Muon and an unknown scale": lambda lib: lib.optim.Muon([parameter(lib, 2, 2)], adjust_lr_fn="x"),
    "Muon and a negative momentum": lambda lib: lib.optim.Muon([parameter(lib, 2, 2)], momentum=-1.0),
    "Adafactor and a positive decay": lambda lib: lib.optim.Adafactor([parameter(lib, 2)], beta2_decay=1.0),
    "Adafactor and a small threshold": lambda lib: lib.optim.Adafactor([parameter(lib, 2)], d=0.5),
    "Adafactor and a negative epsilon": lambda lib: lib.optim.Adafactor([parameter(lib, 2)], eps=(-1.0, 1e-3)),
}


@pytest.mark.parametrize("what", ERROR_CASES)
def test_errors_match_torch(what, same_as_torch):
    result = same_as_torch(ERROR_CASES[what])
    assert result[0].endswith("Error")


def test_duplicates_warn_in_one_group_and_raise_in_two(same_as_torch):
    def in_one(lib):
        p = parameter(lib, 2)
        return len(lib.optim.SGD([p, p]).param_groups[0]["params"])

    def in_two(lib):
        p = parameter(lib, 2)
        lib.optim.SGD([{"params": [p]}, {"params": [p]}])

    assert same_as_torch(in_one) == 2
    assert same_as_torch(in_two)[0] == "ValueError"


@pytest.mark.parametrize("kind", ["groups", "size", "state"])
def test_state_dicts_that_do_not_fit_raise(kind, same_as_torch):
    def load(lib):
        optimizer = lib.optim.SGD([parameter(lib, 2)])
        state = optimizer.state_dict()
        if kind == "groups":
            state["param_groups"].append(state["param_groups"][0])
        elif kind == "size":
            state["param_groups"][0]["params"] = [0, 1]
        else:
            del state["state"]
        optimizer.load_state_dict(state)

    same_as_torch(load)


def test_hooks_run_in_torchs_order_with_its_arguments(same_as_torch):
    def events(lib):
        p, seen = parameter(lib, 2), []
        optimizer = lib.optim.SGD([p], lr=0.1)
        optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(["pre", len(args), len(kwargs)]))
        optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(["post", len(args), len(kwargs)]))
        optimizer.register_state_dict_pre_hook(lambda o: seen.append("saving"))
        optimizer.register_state_dict_post_hook(lambda o, state: seen.append("saved"))
        optimizer.register_state_dict_post_hook(lambda o, state: seen.append("saved first"), prepend=True)
        optimizer.register_load_state_dict_pre_hook(lambda o, state: seen.append("loading"))
        optimizer.register_load_state_dict_post_hook(lambda o: seen.append("loaded"))
        p.grad = lib.ones(2)
        optimizer.step()
        optimizer.load_state_dict(optimizer.state_dict())
        optimizer.zero_grad()
        seen.append(p.grad is None)
        p.grad = lib.ones(2)
        optimizer.zero_grad(set_to_none=False)
        return [*seen, p.grad]

    same_as_torch(events)


def test_a_hook_before_the_step_may_replace_its_arguments(same_as_torch):
    def replaced(lib):
        optimizer = lib.optim.SGD([parameter(lib, 2)])
        optimizer.register_step_pre_hook(lambda o, args, kwargs: (args, {"closure": lambda: 42}))
        return optimizer.step()

    assert same_as_torch(replaced) == 42


def test_closures_run_with_gradients_on(same_as_torch):
    def modes(lib):
        optimizer = lib.optim.SGD([parameter(lib, 2)])
        with lib.no_grad():
            inside = optimizer.step(lambda: lib.is_grad_enabled())
        return inside, optimizer.step(lambda: lib.is_grad_enabled())

    assert same_as_torch(modes) == [True, True]


def test_copies_and_pickles_show_the_same_options(same_as_torch):
    same_as_torch(lambda lib: [repr(c(lib.optim.Adam([parameter(lib, 2)]))) for c in (copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o)))])


def test_optimizers_without_complex_support_raise_for_complex_parameters(same_as_torch):
    def step(name):
        def run(lib):
            p = lib.nn.Parameter(lib.ones(2, 2, dtype=lib.complex64))
            (p * p).abs().sum().backward()
            getattr(lib.optim, name)([p]).step()

        return run

    assert same_as_torch(step("Adafactor"))[0] == same_as_torch(step("Muon"))[0] == "RuntimeError"
