"""Attention compared with torch: values, gradients, nodes, messages and random numbers."""

from __future__ import annotations

import numpy as np
import pytest


def tensor(L, *shape, seed: int = 0, dtype: str = "float64", grad: bool = False):
    return L.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(dtype)).requires_grad_(grad)


def attended(L, q, k, v, *, dtype="float64", mask=None, **options):
    """The result, its gradients, and the names of its nodes."""
    inputs = [tensor(L, *s, seed=i, dtype=dtype, grad=True) for i, s in enumerate((q, k, v))]
    mask = mask(L) if mask else None
    if mask is not None and mask.requires_grad:
        inputs.append(mask)
    out = L.nn.functional.scaled_dot_product_attention(*inputs[:3], mask, **options)
    grads = L.autograd.grad(out, inputs, tensor(L, *out.shape, seed=9, dtype=dtype))
    return [out, *grads, list(out.stride()), out.grad_fn.name().startswith("ScaledDotProductFlash")]


def _hidden(L):
    allowed = np.random.default_rng(3).random((5, 6)) < 0.6
    allowed[2] = False
    return L.from_numpy(allowed)


Q, K = (2, 3, 5, 4), (2, 3, 6, 4)
CASES = {
    "plain": lambda L: attended(L, Q, K, K),
    "float32": lambda L: attended(L, Q, K, K, dtype="float32"),
    "causal": lambda L: attended(L, Q, K, K, is_causal=True),
    "causal, more queries": lambda L: attended(L, (2, 3, 9, 4), K, K, is_causal=True),
    "scaled": lambda L: attended(L, Q, K, K, scale=0.3),
    "hidden keys": lambda L: attended(L, Q, K, K, mask=_hidden),
    "hidden keys for each head": lambda L: attended(L, Q, K, K, mask=lambda L: _hidden(L).expand(2, 3, 5, 6)),
    "an added mask": lambda L: attended(L, Q, K, K, mask=lambda L: tensor(L, 2, 1, 5, 6)),
    "a mask and causal": lambda L: attended(L, Q, K, K, mask=lambda L: tensor(L, 5, 6), is_causal=True),
    "a mask with a gradient": lambda L: attended(L, Q, K, K, mask=lambda L: tensor(L, 2, 1, 5, 6, grad=True)),
    "values of another width": lambda L: attended(L, Q, K, (2, 3, 6, 7)),
    "three dimensions": lambda L: attended(L, (3, 5, 4), (3, 6, 4), (3, 6, 4)),
    "two dimensions": lambda L: attended(L, (5, 4), (6, 4), (6, 4), is_causal=True),
    "shared keys": lambda L: attended(L, (2, 6, 5, 4), K, K, enable_gqa=True),
    "shared keys, causal": lambda L: attended(L, (2, 6, 5, 4), K, K, enable_gqa=True, is_causal=True),
    "dropout": lambda L: attended(L, Q, K, K, dropout_p=0.4),
    "all dropped": lambda L: attended(L, Q, K, K, dropout_p=1.0),
    "many rows": lambda L: attended(L, (1, 2, 150, 8), (1, 2, 70, 8), (1, 2, 70, 8)),
    "many rows, causal": lambda L: attended(L, (1, 2, 150, 8), (1, 2, 170, 8), (1, 2, 170, 8), is_causal=True),
    "heads behind rows": lambda L: L.nn.functional.scaled_dot_product_attention(*(tensor(L, 2, 5, 3, 4, seed=i).transpose(1, 2) for i in range(3))),
}


@pytest.mark.parametrize("name", CASES)
def test_attention_matches_torch(name: str, same_as_torch):
    tolerance = 1e-5 if name == "float32" else 1e-9
    same_as_torch(CASES[name], rtol=10 * tolerance, atol=tolerance, whole_messages=True, seed=7)


ERROR_CASES = {
    "other dtypes": lambda L: attended(L, Q, K, K)[0] + L.nn.functional.scaled_dot_product_attention(L.ones(2, 2), L.ones(2, 2).double(), L.ones(2, 2)),
    "one dimension": lambda L: L.nn.functional.scaled_dot_product_attention(L.ones(2), L.ones(2, 2), L.ones(2, 2)),
}


@pytest.mark.parametrize("name", ERROR_CASES)
def test_errors_match_torch(name: str, same_as_torch):
    def words(L):
        with pytest.raises(RuntimeError) as caught:
            ERROR_CASES[name](L)
        return str(caught.value).split("but got")[0]

    same_as_torch(words)


def layer(L, q, k, v=None, *, made=None, train=True, alike=False, **options):
    """A module's results, weights and gradients; its inputs are one tensor if `alike`."""
    m = L.nn.MultiheadAttention(8, 2, **(made or {}))
    with L.no_grad():
        for i, p in enumerate(m.parameters()):
            p.copy_(tensor(L, *p.shape, seed=20 + i, dtype="float32") / 3)
    m.train(train)
    query = tensor(L, *q, dtype="float32", grad=True)
    key = query if alike else tensor(L, *k, seed=1, dtype="float32", grad=True)
    value = query if alike else key if v is None else tensor(L, *v, seed=2, dtype="float32", grad=True)
    out, weights = m(query, key, value, **{n: o(L) if callable(o) else o for n, o in options.items()})
    grads = L.autograd.grad((out * tensor(L, *out.shape, seed=9, dtype="float32")).sum(), [query, *m.parameters()], allow_unused=True)
    return [out, weights, list(grads)]


def _hide(*shape, seed=4):
    def mask(L):
        hidden = np.random.default_rng(seed).random(shape) < 0.4
        hidden[..., 0] = False
        return L.from_numpy(hidden)

    return mask


def _square(L):
    return L.triu(L.full((5, 5), float("-inf")), 1)


LAYERS = {
    "keys are values": lambda L: layer(L, (5, 3, 8), (6, 3, 8)),
    "all different": lambda L: layer(L, (5, 3, 8), (6, 3, 8), (6, 3, 8)),
    "self": lambda L: layer(L, (5, 3, 8), None, alike=True),
    "batch first": lambda L: layer(L, (3, 5, 8), None, alike=True, made={"batch_first": True}),
    "batch first, keys are values": lambda L: layer(L, (3, 5, 8), (3, 6, 8), made={"batch_first": True}),
    "without a batch": lambda L: layer(L, (5, 8), (6, 8)),
    "without a batch, self": lambda L: layer(L, (5, 8), None, alike=True),
    "without weights": lambda L: layer(L, (5, 3, 8), (6, 3, 8), need_weights=False),
    "weights of each head": lambda L: layer(L, (5, 3, 8), (6, 3, 8), average_attn_weights=False),
    "without bias": lambda L: layer(L, (5, 3, 8), (6, 3, 8), made={"bias": False}),
    "other widths": lambda L: layer(L, (5, 3, 8), (6, 3, 4), (6, 3, 7), made={"kdim": 4, "vdim": 7}),
    "biases of keys": lambda L: layer(L, (5, 3, 8), (6, 3, 8), made={"add_bias_kv": True}, attn_mask=_hide(5, 6), key_padding_mask=_hide(3, 6, seed=5)),
    "a zero key": lambda L: layer(L, (5, 3, 8), (6, 3, 8), made={"add_zero_attn": True}, attn_mask=_hide(5, 6), key_padding_mask=_hide(3, 6, seed=5)),
    "padding": lambda L: layer(L, (5, 3, 8), (6, 3, 8), key_padding_mask=_hide(3, 6)),
    "padding without weights": lambda L: layer(L, (5, 3, 8), (6, 3, 8), key_padding_mask=_hide(3, 6), need_weights=False),
    "a mask": lambda L: layer(L, (5, 3, 8), (6, 3, 8), attn_mask=_hide(5, 6)),
    "a mask for each head": lambda L: layer(L, (5, 3, 8), (6, 3, 8), attn_mask=_hide(6, 5, 6), need_weights=False),
    "causal": lambda L: layer(L, (5, 3, 8), None, alike=True, attn_mask=_square, is_causal=True),
    "causal without weights": lambda L: layer(L, (5, 3, 8), None, alike=True, attn_mask=_square, is_causal=True, need_weights=False),
    "causal with padding": lambda L: layer(L, (5, 3, 8), None, alike=True, attn_mask=_square, is_causal=True, need_weights=False,
                                           key_padding_mask=lambda L: L.zeros(3, 5)),
    "dropout": lambda L: layer(L, (5, 3, 8), (6, 3, 8), made={"dropout": 0.3}),
    "dropout without weights": lambda L: layer(L, (5, 3, 8), (6, 3, 8), made={"dropout": 0.3}, need_weights=False),
    "dropout in evaluation": lambda L: layer(L, (5, 3, 8), (6, 3, 8), made={"dropout": 0.3}, train=False),
}


@pytest.mark.parametrize("name", LAYERS)
def test_the_module_matches_torch(name: str, same_as_torch):
    same_as_torch(LAYERS[name], rtol=1e-4, atol=1e-5, whole_messages=True, seed=7)


def _module(L, **made):
    return L.nn.MultiheadAttention(8, 2, **made)


SCENARIOS = {
    "initial values": lambda L: [dict(_module(L).state_dict()), dict(_module(L, kdim=3, add_bias_kv=True).state_dict()), dict(_module(L, bias=False).state_dict())],
    "representation": lambda L: repr(_module(L, batch_first=True)),
    "nothing": lambda L: L.nn.MultiheadAttention(0, 2),
    "heads that do not divide": lambda L: L.nn.MultiheadAttention(8, 3),
    "wrong width": lambda L: _module(L)(L.ones(5, 3, 7), L.ones(5, 3, 7), L.ones(5, 3, 7)),
    "other values": lambda L: _module(L)(L.ones(5, 3, 8), L.ones(6, 3, 8), L.ones(7, 3, 8)),
    "wrong mask": lambda L: _module(L)(*[L.ones(5, 3, 8)] * 3, attn_mask=L.ones(4, 5)),
    "wrong mask of heads": lambda L: _module(L)(*[L.ones(5, 3, 8)] * 3, attn_mask=L.ones(4, 5, 5)),
    "a mask of integers": lambda L: _module(L)(*[L.ones(5, 3, 8)] * 3, attn_mask=L.ones(5, 5, dtype=L.int64)),
    "wrong padding": lambda L: _module(L)(*[L.ones(5, 3, 8)] * 3, key_padding_mask=L.ones(2, 5)),
    "padding of one dimension": lambda L: _module(L)(*[L.ones(5, 3, 8)] * 3, key_padding_mask=L.ones(5)),
    "masks of two kinds": lambda L: list(_module(L)(*[L.ones(5, 3, 8)] * 3, attn_mask=L.zeros(5, 5), key_padding_mask=L.zeros(3, 5, dtype=L.bool))),
    "a hint without a mask": lambda L: _module(L)(*[L.ones(5, 3, 8)] * 3, is_causal=True),
    "batched keys for one query": lambda L: _module(L)(L.ones(5, 8), L.ones(5, 3, 8), L.ones(5, 3, 8)),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_matches_torch(name: str, same_as_torch):
    same_as_torch(SCENARIOS[name], rtol=1e-4, atol=1e-5, whole_messages=True, seed=7)
