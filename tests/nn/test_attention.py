"""Attention: properties that a comparison with torch does not cover."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut
from undertow.nn import functional as F

attention = F.scaled_dot_product_attention


def tensors(*shapes, dtype="float64", grad=True):
    rng = np.random.default_rng(0)
    return [ut.tensor(rng.standard_normal(s).astype(dtype), requires_grad=grad) for s in shapes]


OPTIONS = {
    "plain": ({}, 2),
    "causal": ({"is_causal": True}, 2),
    "masked": ({"attn_mask": ut.tensor([[True, False, True], [False, False, False], [True, True, True]])}, 2),
    "shared keys": ({"enable_gqa": True}, 4),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_first_and_second_derivatives_and_tangents_are_right(name: str):
    options, heads = OPTIONS[name]
    inputs = tensors((1, heads, 3, 2), (1, 2, 3, 2), (1, 2, 3, 2))
    run = lambda q, k, v: attention(q, k, v, **options)  # noqa: E731
    assert "FlashAttention" in run(*inputs).grad_fn.name()
    assert ut.autograd.gradcheck(run, inputs, check_forward_ad=True)
    assert ut.autograd.gradgradcheck(run, inputs, check_fwd_over_rev=True)


@pytest.mark.parametrize("batch, heads, queries, keys", [(2, 3, 90, 70), (1, 2, 300, 270)], ids=["a task for each head", "tasks that share a head"])
def test_the_tiled_operator_matches_the_composition(batch, heads, queries, keys):
    q, k, v = tensors((batch, heads, queries, 8), (batch, heads, keys, 8), (batch, heads, keys, 8))
    weights = tensors((batch, heads, queries, 8), grad=False)[0]
    for causal in (False, True):
        found = []
        for f in (attention, ut._C._ops["_scaled_dot_product_attention_math"]):
            out = f(q, k, v, is_causal=causal)
            found.append([out, *ut.autograd.grad(out, (q, k, v), weights)])
        for a, b in zip(*found, strict=True):
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shape", [(4, 4, 100, 16), (1, 8, 700, 8)], ids=["a task for each head", "tasks that share a head"])
def test_results_are_bitwise_equal_for_any_number_of_threads(shape):
    inputs = tensors(shape, shape, shape, dtype="float32")
    weights = tensors(shape, dtype="float32", grad=False)[0]
    found, before = [], ut.get_num_threads()
    try:
        for threads in (1, 2, 20):
            ut.set_num_threads(threads)
            out = attention(*inputs, is_causal=True)
            found.append([t.detach().numpy().tobytes() for t in (out, *ut.autograd.grad(out, inputs, weights))])
    finally:
        ut.set_num_threads(before)
    assert found[0] == found[1] == found[2]


def test_no_matrix_of_scores_is_kept_for_the_backward_pass():
    out = attention(*tensors((1, 1, 512, 8), (1, 1, 512, 8), (1, 1, 512, 8)))
    node = out.grad_fn
    kept = [getattr(node, name) for name in dir(node) if name.startswith("_saved_")]
    assert max(t.numel() for t in kept if isinstance(t, ut.Tensor)) == 512 * 8


@pytest.mark.parametrize("dims", [(0, 0, 0), (0, None, None), (None, 1, 0)])
def test_vmap_matches_a_loop(dims):
    shapes = [(2, 2, 3, 4) if d is None else (2, 5, 2, 3, 4) if d == 1 else (5, 2, 2, 3, 4) for d in dims]
    inputs = tensors(*shapes, grad=False)
    masks = ut.rand(5, 3, 3)

    def run(q, k, v, m):
        return ut.func.grad(lambda q: (attention(q, k, v, m) ** 2).sum())(q), attention(q, k, v, m)

    together = ut.vmap(run, in_dims=(*dims, 0))(*inputs, masks)
    for i in range(5):
        alone = run(*(t if d is None else t.select(d, i) for t, d in zip(inputs, dims, strict=True)), masks[i])
        for a, b in zip(together, alone, strict=True):
            np.testing.assert_allclose(a[i].numpy(), b.numpy(), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("queries, keys", [(63, 65), (130, 33), (300, 300), (1, 200), (700, 31)])
def test_tiles_and_panels_end_anywhere(queries: int, keys: int):
    q, k, v = tensors((1, 2, queries, 20), (1, 2, keys, 20), (1, 2, keys, 20))
    weights = tensors((1, 2, queries, 20), grad=False)[0]
    for causal in (False, True):
        tiled = attention(q, k, v, is_causal=causal)
        whole = ut._scaled_dot_product_attention_math(q, k, v, is_causal=causal)
        assert ut.allclose(tiled, whole, atol=1e-12)
        for mine, theirs in zip(ut.autograd.grad(tiled, (q, k, v), weights), ut.autograd.grad(whole, (q, k, v), weights), strict=True):
            assert ut.allclose(mine, theirs, atol=1e-12)


def test_results_are_bitwise_equal_for_any_threads_and_head_layout():
    rng = np.random.default_rng(1)
    rows = [ut.tensor(rng.standard_normal((2, 150, 3, 32)).astype("float32")) for _ in range(3)]  # heads next to each other, as in layers
    before, results = ut.get_num_threads(), []
    try:
        for threads, lay in ((1, lambda t: t), (2, lambda t: t), (2, lambda t: t.contiguous())):
            ut.set_num_threads(threads)
            q, k, v = (lay(t.transpose(1, 2)).requires_grad_() for t in rows)
            out = attention(q, k, v)
            results.append([out.detach(), *ut.autograd.grad(out.sum(), (q, k, v))])
    finally:
        ut.set_num_threads(before)
    for other in results[1:]:
        assert all(ut.equal(a, b) for a, b in zip(results[0], other, strict=True))
