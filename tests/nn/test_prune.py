"""Pruning, fusion and the smaller tools of nn.utils compared with torch."""

import warnings

import pytest

import undertow as ut


def pruned(L, name, *args, **kwargs):
    layer = L.nn.Linear(4, 3)
    prune = __import__(f"{L.__name__}.nn.utils.prune", fromlist=["prune"])
    getattr(prune, name)(layer, *args, **kwargs)
    layer(L.ones(2, 4)).sum().backward()
    state = [dict(layer.state_dict()), [n for n, _ in layer.named_parameters()], layer.weight, layer.weight_orig.grad, prune.is_pruned(layer)]
    prune.remove(layer, "weight")
    return [*state, layer.weight, list(layer.state_dict()), prune.is_pruned(layer)]


def tools(L):
    return __import__(f"{L.__name__}.nn.utils.prune", fromlist=["prune"])


def twice(L, first, second):
    layer, prune = L.nn.Linear(6, 4), tools(L)
    for name, args in (first, second):
        getattr(prune, name)(layer, "weight", *args)
    hook = next(iter(layer._forward_pre_hooks.values()))
    return [layer.weight, layer.weight_mask, len(layer._forward_pre_hooks), type(hook).__name__, len(hook)]


def together(L):
    a, b, prune = L.nn.Linear(4, 3), L.nn.Linear(3, 2), tools(L)
    prune.l1_unstructured(a, "weight", 2)
    prune.global_unstructured([(a, "weight"), (b, "weight")], pruning_method=prune.L1Unstructured, amount=0.5)
    return [a.weight, b.weight]


def fused(L, bias):
    linear = L.nn.Linear(3, 2, bias=bias)
    mean, var, w, b = L.randn(2), L.rand(2) + 0.5, L.randn(2), L.randn(2)
    return list(L.nn.utils.fuse_linear_bn_weights(linear.weight, linear.bias, mean, var, 1e-5, w, b))


def fused_convolution(L, transpose):
    w = L.randn(2, 2, 3, 3)
    mean, var = L.randn(2), L.rand(2) + 0.5
    return list(L.nn.utils.fuse_conv_bn_weights(w, None, mean, var, 1e-5, None, None, transpose))


def stateless(L):
    layer = L.nn.Linear(2, 1)
    return L.nn.utils.stateless.functional_call(layer, {"weight": L.ones(1, 2), "bias": L.zeros(1)}, (L.ones(1, 2),))


SCENARIOS = {
    "nothing": lambda L: pruned(L, "identity", "weight"),
    "random elements": lambda L: pruned(L, "random_unstructured", "weight", 0.4),
    "small elements": lambda L: pruned(L, "l1_unstructured", "weight", 5),
    "elements of little importance": lambda L: pruned(L, "l1_unstructured", "weight", 5, importance_scores=L.arange(12.0).reshape(3, 4)),
    "random channels": lambda L: pruned(L, "random_structured", "weight", 1, dim=0),
    "small channels": lambda L: pruned(L, "ln_structured", "weight", 0.5, n=2, dim=1),
    "channels by another norm": lambda L: pruned(L, "ln_structured", "weight", 1, n=float("-inf"), dim=0),
    "a custom mask": lambda L: pruned(L, "custom_from_mask", "weight", L.eye(3, 4)),
    "elements, then elements": lambda L: twice(L, ("l1_unstructured", (3,)), ("random_unstructured", (0.5,))),
    "channels, then channels": lambda L: twice(L, ("ln_structured", (1, 2, 0)), ("ln_structured", (2, 1, 1))),
    "elements, then a mask": lambda L: twice(L, ("l1_unstructured", (3,)), ("custom_from_mask", (L.eye(4, 6),))),
    "several modules together": together,
    "too many": lambda L: pruned(L, "l1_unstructured", "weight", 99),
    "a negative amount": lambda L: pruned(L, "l1_unstructured", "weight", -1),
    "more than all": lambda L: pruned(L, "l1_unstructured", "weight", 1.5),
    "an amount that is not a number": lambda L: pruned(L, "l1_unstructured", "weight", "a"),
    "channels of a vector": lambda L: pruned(L, "ln_structured", "bias", 1, 2, 0),
    "a missing dimension": lambda L: pruned(L, "ln_structured", "weight", 1, 2, 5),
    "a mask of another shape": lambda L: pruned(L, "custom_from_mask", "weight", L.ones(2, 2)),
    "scores of another shape": lambda L: pruned(L, "l1_unstructured", "weight", 1, importance_scores=L.ones(2)),
    "removing a missing pruning": lambda L: tools(L).remove(L.nn.Linear(1, 1), "weight"),
    "no list of parameters": lambda L: tools(L).global_unstructured(3, tools(L).L1Unstructured, amount=1),
    "channels of several modules": lambda L: tools(L).global_unstructured([(L.nn.Linear(2, 2), "weight")], tools(L).RandomStructured, amount=1),
    "how many": lambda L: [tools(L)._compute_nparams_toprune(amount, 17) for amount in (0, 1, 1.0, 0.4)],
    "how many at most": lambda L: tools(L)._validate_pruning_amount(20, 19),
    "without a module": lambda L: tools(L).L1Unstructured(2).prune(L.tensor([3.0, -1.0, 2.0, 0.5])),
    "folding normalization into a linear layer": lambda L: fused(L, True),
    "the same without bias": lambda L: fused(L, False),
    "folding normalization into a convolution": lambda L: fused_convolution(L, False),
    "and into a transposed one": lambda L: fused_convolution(L, True),
    "functional_call by its old name": stateless,
    "a module without initial values": lambda L: [repr(L.nn.utils.skip_init(L.nn.Linear, 3, 2)), L.rand(2)],
    "no module without initial values": lambda L: L.nn.utils.skip_init(L.nn.ReLU),
    "the norm of several tensors": lambda L: [L.nn.utils.get_total_norm([L.ones(2), L.full((3,), 2.0)], p) for p in (2.0, 1.0, float("inf"))],
}


@pytest.mark.parametrize("what", SCENARIOS)
def test_pruning_matches_torch(what, same_as_torch):
    same_as_torch(SCENARIOS[what])


def test_pruning_that_raises_leaves_the_module_unchanged():
    layer = ut.nn.Linear(2, 2)
    weight = layer.weight
    with pytest.raises(ValueError), warnings.catch_warnings():
        tools(ut).l1_unstructured(layer, "weight", 99)
    assert layer.weight is weight
    assert list(layer.state_dict()) == ["weight", "bias"]
