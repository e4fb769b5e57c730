"""flex_attention matches scaled_dot_product_attention with the same scores and mask, including its gradients."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow.nn.attention.flex_attention import AuxRequest, BlockMask, and_masks, create_block_mask, create_mask, flex_attention, noop_mask, or_masks
from undertow.nn.functional import scaled_dot_product_attention


def causal(b, h, q, kv):
    return q >= kv


@pytest.fixture
def qkv():
    ut.manual_seed(0)
    return [ut.randn(2, 2, 6, 4, dtype=ut.float64, requires_grad=True) for _ in range(3)]


def test_a_causal_mask_in_blocks_of_any_size(qkv):
    expected = scaled_dot_product_attention(*qkv, is_causal=True)
    wanted = ut.autograd.grad(expected.square().sum(), qkv)
    for size in (1, 2, 4, (3, 2), 128):
        mask = create_block_mask(causal, None, None, 6, 6, BLOCK_SIZE=size)
        out = flex_attention(*qkv, block_mask=mask)
        ut.testing.assert_close(out, expected)
        ut.testing.assert_close(ut.autograd.grad(out.square().sum(), qkv), wanted)


def test_scores_changed_by_position_head_and_a_learned_table(qkv):
    table = ut.randn(2, 11, dtype=ut.float64, requires_grad=True)
    out = flex_attention(*qkv, score_mod=lambda score, b, h, q, kv: score + table[h, q - kv + 5], scale=0.3)
    q, k, v = qkv
    bias = table[:, ut.arange(6)[:, None] - ut.arange(6) + 5]
    expected = (q @ k.mT * 0.3 + bias).softmax(-1) @ v
    ut.testing.assert_close(out, expected)
    ut.testing.assert_close(ut.autograd.grad(out.sum() + out[0].sum(), table), ut.autograd.grad(expected.sum() + expected[0].sum(), table))


def test_a_row_without_positions_gives_zero_and_no_nan_in_gradients(qkv):
    mask = create_block_mask(lambda b, h, q, kv: (q >= kv) & (q > 2), 2, None, 6, 6, BLOCK_SIZE=2)
    out, aux = flex_attention(*qkv, block_mask=mask, return_aux=AuxRequest(lse=True))
    assert out[:, :, :3].abs().sum() == 0 and (aux.lse[:, :, :3] == -float("inf")).all() and aux.max_scores is None
    out.sum().backward()
    assert all(not t.grad.isnan().any() for t in qkv)


def test_fewer_heads_of_keys_are_shared_if_asked_for(qkv):
    q, k, v = qkv[0], qkv[1][:, :1], qkv[2][:, :1]
    ut.testing.assert_close(flex_attention(q, k, v, enable_gqa=True), scaled_dot_product_attention(q, k, v, enable_gqa=True))
    with pytest.raises(ValueError, match="heads"):
        flex_attention(q, k, v)


def test_blocks_are_counted_as_partial_full_or_empty():
    mask = create_block_mask(causal, 1, None, 300, 300)
    assert mask.shape == (1, 1, 300, 300) and mask.BLOCK_SIZE == (128, 128)
    assert mask.kv_num_blocks.tolist() == [[[1, 1, 3]]] and mask.full_kv_num_blocks.tolist() == [[[0, 1, 0]]]
    assert mask.kv_indices.tolist() == [[[[0, 1, 2], [1, 0, 2], [0, 1, 2]]]]
    assert mask.to_dense().tolist() == [[[[1, 0, 0], [1, 1, 0], [1, 1, 1]]]]
    assert mask.sparsity() == pytest.approx(-9.226666666)


def test_a_mask_given_by_its_blocks_alone(qkv):
    mask = BlockMask.from_kv_blocks(ut.tensor([[[1, 2]]]), ut.tensor([[[[1, 0], [0, 1]]]]), BLOCK_SIZE=3)
    allowed = ut.ones(6, 6, dtype=ut.bool)
    allowed[:3, :3] = False
    ut.testing.assert_close(flex_attention(*qkv, block_mask=mask), scaled_dot_product_attention(*qkv, attn_mask=allowed))


def test_masks_can_be_combined():
    near = and_masks(causal, lambda b, h, q, kv: q - kv < 2)
    assert create_mask(near, None, None, 3, 3).int().tolist() == [[[[1, 0, 0], [1, 1, 0], [0, 1, 1]]]]
    assert create_mask(or_masks(near, lambda b, h, q, kv: kv == 2), None, None, 3, 3).int().tolist() == [[[[1, 0, 1], [1, 1, 1], [0, 1, 1]]]]
    assert create_mask(noop_mask, 2, 1, 1, 2).shape == (2, 1, 1, 2)
    with pytest.raises(RuntimeError, match="callable"):
        and_masks(causal, 3)


def test_inputs_that_do_not_fit_raise(qkv):
    q, k, v = qkv
    for error, args in ((NotImplementedError, (q[0], k, v)), (ValueError, (q, k, v.float())), (ValueError, (q[:, :, :4], k, v))):
        with pytest.raises(error):
            flex_attention(*args, block_mask=create_block_mask(causal, None, None, 6, 6))
