"""State dicts that older versions of PyTorch wrote: groups without the newer options, and counters that are numbers."""

from __future__ import annotations

import copy

import pytest
from small_problems import parameter, train

NAMES = ["SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "Adadelta", "RMSprop", "Rprop", "ASGD", "Adafactor"]
NEWER = ("maximize", "foreach", "capturable", "differentiable", "fused", "nesterov", "amsgrad", "decoupled_weight_decay", "centered", "momentum")
OPTIONAL = {"momentum": ("RMSprop",), "maximize": [n for n in NAMES if n != "Adafactor"]}  # who may lack them; the others need them


def stepped(lib, name):
    p = parameter(lib, 2, 3)
    optimizer = getattr(lib.optim, name)([p])
    train(optimizer, [p], 2)
    return optimizer, p


def loaded(lib, name, change):
    """The parameter, groups and state after an optimizer has loaded a changed state dict and stepped."""
    optimizer, p = stepped(lib, name)
    state = copy.deepcopy(optimizer.state_dict())
    change(state)
    fresh = getattr(lib.optim, name)([p], lr=0.5)
    fresh.load_state_dict(state)
    train(fresh, [p], 1)
    group = {k: v for k, v in sorted(fresh.param_groups[0].items()) if k != "params"}
    return p, group, dict(sorted(fresh.state[p].items()))


@pytest.mark.parametrize("name", NAMES)
def test_missing_options_get_their_defaults(name, same_as_torch):
    def change(state):
        for key in NEWER:
            if name in OPTIONAL.get(key, NAMES):
                state["param_groups"][0].pop(key, None)

    same_as_torch(lambda lib: loaded(lib, name, change), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", [n for n in NAMES if n != "SGD"])
@pytest.mark.parametrize("number", [int, float])
def test_counters_that_are_numbers_become_tensors(name, number, same_as_torch):
    def change(state):
        for key in ("step", "eta", "mu", "mu_product"):
            if key in state["state"][0]:
                value = state["state"][0][key].item()
                state["state"][0][key] = number(value) if key == "step" else value

    result = same_as_torch(lambda lib: loaded(lib, name, change), rtol=1e-4, atol=1e-4)
    assert result[2]["step"].values == 3
