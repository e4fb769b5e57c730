"""An optimizer's state is moved from one library to the other and back, and training continues unchanged."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch, the oracle, is not installed")

import undertow as ut

NAMES = ["SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "Adadelta", "RMSprop", "Rprop", "ASGD", "Adafactor", "Muon"]


def parameter(lib, *shape):
    count = math.prod(shape)
    return lib.nn.Parameter(lib.arange(count, dtype=lib.float32).reshape(shape) / count)


def make(lib, name, params):
    return getattr(lib.optim, name)(params)


def train(optimizer, params, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        sum(((p * (i + 1) - 1) ** 2).sum() for i, p in enumerate(params)).backward()
        optimizer.step()


def moved(x, lib):
    if hasattr(x, "detach"):
        return lib.tensor(x.detach().numpy())
    if isinstance(x, dict):
        return {k: moved(v, lib) for k, v in x.items()}
    return [moved(v, lib) for v in x] if isinstance(x, list) else x


@pytest.mark.parametrize("name", NAMES)
def test_a_state_dict_can_be_exchanged_with_torch(name):
    def close(a, b):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), atol=2e-2 if name == "Muon" else 1e-6)

    theirs = [parameter(torch, 2, 3)]
    of_torch = make(torch, name, theirs)
    train(of_torch, theirs, 3)
    ours = [ut.nn.Parameter(ut.tensor(theirs[0].detach().numpy()))]
    of_ours = make(ut, name, ours)
    of_ours.load_state_dict(moved(of_torch.state_dict(), ut))
    train(of_ours, ours, 2)
    train(of_torch, theirs, 2)
    close(ours[0], theirs[0])
    back = [torch.nn.Parameter(torch.tensor(ours[0].detach().numpy()))]
    again = make(torch, name, back)
    again.load_state_dict(moved(of_ours.state_dict(), torch))
    train(again, back, 2)
    train(of_ours, ours, 2)
    close(ours[0], back[0])
