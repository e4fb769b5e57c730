"""Normalization layers compared with torch: values, gradients, buffers, messages and state."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest


def tensor(L, *shape, seed: int = 0, grad: bool = False):
    return L.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype("float32") * 2 + 1).requires_grad_(grad)


def trained(L, module, shape, steps: int = 2):
    """Outputs and gradients over some steps, the running statistics, then an evaluation."""
    told = [repr(module)]
    for step in range(steps):
        x = tensor(L, *shape, seed=step, grad=True)
        y = module(x)
        (y * y * tensor(L, *y.shape, seed=step + 9)).sum().backward()
        told += [y, x.grad, *(p.grad for p in module.parameters())]
    module.eval()
    return [*told, module(tensor(L, *shape, seed=5)), dict(module.state_dict())]


LAYERS = {
    "BatchNorm1d of vectors": lambda L: (L.nn.BatchNorm1d(3), (5, 3)),
    "BatchNorm1d of sequences": lambda L: (L.nn.BatchNorm1d(3), (5, 3, 4)),
    "BatchNorm2d": lambda L: (L.nn.BatchNorm2d(3), (2, 3, 4, 5)),
    "BatchNorm3d": lambda L: (L.nn.BatchNorm3d(3), (2, 3, 2, 3, 2)),
    "BatchNorm2d with the mean over all batches": lambda L: (L.nn.BatchNorm2d(3, momentum=None), (2, 3, 4, 5)),
    "BatchNorm2d without running statistics": lambda L: (L.nn.BatchNorm2d(3, track_running_stats=False), (2, 3, 4, 5)),
    "BatchNorm2d without parameters": lambda L: (L.nn.BatchNorm2d(3, affine=False), (2, 3, 4, 5)),
    "BatchNorm2d without bias": lambda L: (L.nn.BatchNorm2d(3, bias=False), (2, 3, 4, 5)),
    "SyncBatchNorm": lambda L: (L.nn.SyncBatchNorm(3), (2, 3, 4)),
    "InstanceNorm1d": lambda L: (L.nn.InstanceNorm1d(3), (5, 3, 4)),
    "InstanceNorm1d alone": lambda L: (L.nn.InstanceNorm1d(3, affine=True), (3, 4)),
    "InstanceNorm2d that tracks": lambda L: (L.nn.InstanceNorm2d(3, affine=True, track_running_stats=True), (2, 3, 4, 5)),
    "InstanceNorm3d": lambda L: (L.nn.InstanceNorm3d(3, eps=0.1), (2, 3, 2, 3, 2)),
    "LayerNorm": lambda L: (L.nn.LayerNorm(5), (4, 3, 5)),
    "LayerNorm over two dimensions": lambda L: (L.nn.LayerNorm([3, 5], bias=False), (4, 3, 5)),
    "LayerNorm without parameters": lambda L: (L.nn.LayerNorm(5, elementwise_affine=False), (4, 5)),
    "RMSNorm": lambda L: (L.nn.RMSNorm(5), (4, 3, 5)),
    "RMSNorm with eps": lambda L: (L.nn.RMSNorm((3, 5), eps=0.1, elementwise_affine=False), (4, 3, 5)),
    "GroupNorm": lambda L: (L.nn.GroupNorm(2, 6), (4, 6, 3)),
    "GroupNorm without parameters": lambda L: (L.nn.GroupNorm(3, 6, affine=False), (4, 6, 3, 2)),
    "LocalResponseNorm": lambda L: (L.nn.LocalResponseNorm(3, alpha=0.5), (2, 5, 4, 3)),
    "LocalResponseNorm of an even size": lambda L: (L.nn.LocalResponseNorm(4, alpha=0.5, k=2.0), (2, 5, 4)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_trains_as_in_torch(name: str, same_as_torch):
    same_as_torch(lambda L: trained(L, *LAYERS[name](L)), rtol=1e-3, atol=1e-4, whole_messages=True, seed=7)


def _load(make, change):
    def scenario(L):
        module = make(L)
        state = change(L, OrderedDict(module.state_dict()))
        return [list(module.load_state_dict(state)), dict(module.state_dict())]

    return scenario


def _without(L, state):
    state.pop("num_batches_tracked")
    return state


def _version(number):
    def change(L, state):
        state = _without(L, state)
        state._metadata = {"": {"version": number}}
        return state

    return change


SCENARIOS = {
    "a state without the count of batches loads": _load(lambda L: L.nn.BatchNorm1d(2), _without),
    "a state of version one loads": _load(lambda L: L.nn.BatchNorm1d(2), _version(1)),
    "a state of version two must have the count": _load(lambda L: L.nn.BatchNorm1d(2), _version(2)),
    "unexpected running statistics": _load(
        lambda L: L.nn.InstanceNorm1d(2), lambda L, s: OrderedDict(running_mean=L.zeros(2), running_var=L.ones(2))
    ),
    "one value per channel": lambda L: L.nn.BatchNorm1d(3)(L.ones(1, 3)),
    "one value per channel in evaluation": lambda L: L.nn.BatchNorm1d(3).eval()(L.ones(1, 3)),
    "one point per instance": lambda L: L.nn.InstanceNorm1d(3)(L.ones(2, 3, 1)),
    "wrong number of dimensions": lambda L: L.nn.BatchNorm2d(3)(L.ones(2, 3)),
    "wrong number of dimensions for an instance": lambda L: L.nn.InstanceNorm3d(3)(L.ones(3)),
    "wrong number of channels": lambda L: L.nn.BatchNorm1d(3)(L.ones(2, 4)),
    "wrong number of channels for instances with parameters": lambda L: L.nn.InstanceNorm1d(3, affine=True)(L.ones(2, 4, 5)),
    "wrong number of channels for instances without": lambda L: L.nn.InstanceNorm1d(3)(tensor(L, 2, 4, 5)),
    "wrong shape": lambda L: L.nn.LayerNorm(3)(L.ones(2, 4)),
    "no shape": lambda L: L.nn.functional.layer_norm(L.ones(2), ()),
    "channels that make no groups": lambda L: L.nn.GroupNorm(3, 4),
    "no channels for response": lambda L: L.nn.CrossMapLRN2d(2)(L.ones(2, 3)),
    "running statistics missing": lambda L: L.nn.functional.batch_norm(L.ones(2, 3), None, None),
    "integers": lambda L: L.nn.functional.layer_norm(L.ones(2, 3, dtype=L.int64), (3,)),
    "replaced in a model": lambda L: repr(L.nn.SyncBatchNorm.convert_sync_batchnorm(L.nn.Sequential(L.nn.BatchNorm1d(3), L.nn.ReLU()))),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_matches_torch(name: str, same_as_torch):
    same_as_torch(SCENARIOS[name], rtol=1e-4, atol=1e-5, whole_messages=True, seed=7)


def nodes(L, y):
    found, below = [], [y.grad_fn]
    while below:
        node = below.pop()
        if node is not None:
            found.append(node.name().rpartition("::")[2])
            below += [n for n, _ in node.next_functions]
    return sorted(found)


@pytest.mark.parametrize("name", ["layer_norm", "batch_norm", "group_norm", "instance_norm"])
def test_graphs_have_torchs_nodes(name: str, same_as_torch):
    def made(L):
        x, w, b = tensor(L, 2, 4, 4, grad=True), tensor(L, 4, seed=1, grad=True), tensor(L, 4, seed=2, grad=True)
        F = L.nn.functional
        return {
            "layer_norm": lambda: F.layer_norm(x, (4,), w, b),
            "batch_norm": lambda: F.batch_norm(x, None, None, w, b, training=True),
            "group_norm": lambda: F.group_norm(x, 2, w, b),
            "instance_norm": lambda: F.instance_norm(x, None, None, w, b),
        }[name]()

    same_as_torch(lambda L: nodes(L, made(L)))


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (3, 2, 5, 4)])
def test_channels_last_stays_channels_last(shape: tuple[int, ...], same_as_torch):
    def run(L):
        x = tensor(L, *shape).to(memory_format=L.channels_last).requires_grad_()
        y = L.nn.functional.batch_norm(x, None, None, training=True)
        (y * y * y).sum().backward()
        return list(y.stride()), y, x.grad

    same_as_torch(run, rtol=1e-3, atol=1e-4)
