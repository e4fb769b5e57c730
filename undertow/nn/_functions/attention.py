"""Multi-head attention: input projections, attention per head, output projection."""

from __future__ import annotations

import math
import warnings

import undertow
from undertow._C import Tensor, _ops
from undertow._override import overridable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from undertow import dtype as _dtype

__all__: list[str] = ["multi_head_attention_forward"]

_linear = _ops["nn.functional.linear"]


def as_added(mask: Tensor | None, name: str, other: _dtype | None, other_name: str, target: _dtype, *, check_other: bool = True) -> Tensor | None:
    """Convert a mask to numbers to add to the scores: a boolean mask becomes minus infinity where it is True."""
    if mask is None:
        return None
    if mask.dtype != undertow.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if check_other and other is not None and mask.dtype != other:
        warnings.warn(f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.", stacklevel=4)
    if mask.is_floating_point():
        return mask
    return undertow.zeros_like(mask, dtype=target).masked_fill_(mask, float("-inf"))


def _check_dims(query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None, heads: int) -> bool:
    """Check the numbers of dimensions; return True if the inputs are batched."""
    dims = query.dim()
    if dims not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor")
    kind = "batched (3-D)" if dims == 3 else "unbatched (2-D)"
    if key.dim() != dims or value.dim() != dims:
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {dims}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively"
        )
    if padding is not None and padding.dim() != dims - 1:
        raise AssertionError(
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {dims - 1}-D but found {padding.dim()}-D tensor instead"
        )
    if mask is not None:
        if mask.dim() not in (2, 3):
            raise AssertionError(f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {mask.dim()}-D tensor instead")
        if dims == 2 and mask.dim() == 3 and tuple(mask.shape) != (expected := (heads, query.shape[0], key.shape[0])):
            raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {mask.shape}")
    return dims == 3


def _projected(
    q: Tensor, k: Tensor, v: Tensor, weight: Tensor | None, bias: Tensor | None, separate: tuple[Tensor | None, ...] | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Project queries, keys and values: with one packed weight (in one product if the inputs are the same tensor), or with three weights."""
    size = q.size(-1)
    if separate is not None:
        for name, w in zip("qkv", separate, strict=True):
            if w is None:
                raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")
        biases = (None, None, None) if bias is None else bias.chunk(3)
        return tuple(_linear(x, w, b) for x, w, b in zip((q, k, v), separate, biases, strict=True))
    if weight is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    if k is v:
        if q is k:
            together = _linear(q, weight, bias)
            together = together.unflatten(-1, (3, size)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
            return together[0], together[1], together[2]
        w_q, w_kv = weight.split([size, size * 2])
        b_q, b_kv = (None, None) if bias is None else bias.split([size, size * 2])
        keys = _linear(k, w_kv, b_kv).unflatten(-1, (2, size)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
        return _linear(q, w_q, b_q), keys[0], keys[1]
    weights = weight.chunk(3)
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return tuple(_linear(x, w, b) for x, w, b in zip((q, k, v), weights, biases, strict=True))


def _one_more(mask: Tensor | None) -> Tensor | None:
    """Extend a mask by one key that is not masked."""
    return None if mask is None else undertow.cat([mask, mask.new_zeros((*mask.shape[:-1], 1))], -1)


def _by_heads(t: Tensor, batch: int, heads: int, width: int) -> Tensor:
    return t.view((t.shape[0], batch * heads, width)).transpose(0, 1)


def _given(t: Tensor, name: str, parallel: int, width: int) -> Tensor:
    for dim, wanted in ((0, parallel), (2, width)):
        if t.size(dim) != wanted:
            raise AssertionError(f"expecting {name}.size({dim}) of {wanted}, but got {t.size(dim)}")
    return t


@overridable
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Compute nn.MultiheadAttention: return (output, weights or None); the sequence is dimension 0."""
    has_batch = _check_dims(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not has_batch:
        alone = key is query, value is query, value is key
        query = query.unsqueeze(1)
        key = query if alone[0] else key.unsqueeze(1)
        value = query if alone[1] else key if alone[2] else value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, size = query.shape
    keys = key.shape[0]
    key_padding_mask = as_added(key_padding_mask, "key_padding_mask", None if attn_mask is None else attn_mask.dtype, "attn_mask", query.dtype)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None  # the is_causal hint is enough
    else:
        attn_mask = as_added(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
        is_causal = is_causal and key_padding_mask is None
    if size != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {size}")
    width = size // num_heads
    if width * num_heads != size:
        raise AssertionError(f"embed_dim {size} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
    elif key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = _projected(query, key, value, in_proj_weight, in_proj_bias, separate)

    if attn_mask is not None:
        expected = (length, keys) if attn_mask.dim() == 2 else (batch * num_heads, length, keys)
        if tuple(attn_mask.shape) != expected:
            raise RuntimeError(f"The shape of the {attn_mask.dim()}D attn_mask is {attn_mask.shape}, but should be {expected}.")
        attn_mask = attn_mask.unsqueeze(0) if attn_mask.dim() == 2 else attn_mask
    if bias_k is not None and bias_v is not None:
        if static_k is not None or static_v is not None:
            raise AssertionError("bias cannot be added to static key or value.")
        k, v = undertow.cat([k, bias_k.repeat(1, batch, 1)]), undertow.cat([v, bias_v.repeat(1, batch, 1)])
        attn_mask, key_padding_mask = _one_more(attn_mask), _one_more(key_padding_mask)
    parallel = batch * num_heads
    q = _by_heads(q, batch, num_heads, width)
    k = _by_heads(k, batch, num_heads, width) if static_k is None else _given(static_k, "static_k", parallel, width)
    v = _by_heads(v, batch, num_heads, width) if static_v is None else _given(static_v, "static_v", parallel, width)
    if add_zero_attn:
        nothing = (parallel, 1, width)
        k, v = undertow.cat([k, k.new_zeros(nothing)], 1), undertow.cat([v, v.new_zeros(nothing)], 1)
        attn_mask, key_padding_mask = _one_more(attn_mask), _one_more(key_padding_mask)
    keys = k.size(1)
    if key_padding_mask is not None:
        for dim, wanted in ((0, batch), (1, keys)):
            if key_padding_mask.shape[dim] != wanted:
                raise AssertionError(f"Expected key_padded_mask.shape[{dim}] to be {wanted}, but got {key_padding_mask.shape[dim]}")
        hidden = key_padding_mask.view((batch, 1, 1, keys)).expand(-1, num_heads, -1, -1).reshape(parallel, 1, keys)
        attn_mask = hidden if attn_mask is None else attn_mask + hidden
    dropout_p = dropout_p if training else 0.0

    weights = None
    if need_weights:
        scaled = q * math.sqrt(1.0 / float(width))
        if is_causal and attn_mask is None:
            raise AssertionError("need_weights: a causal hint needs attn_mask")
        turned = k.transpose(-2, -1)
        weights = undertow.bmm(scaled, turned) if attn_mask is None else undertow.baddbmm(attn_mask, scaled, turned)
        weights = weights.softmax(-1)
        if dropout_p > 0.0:
            weights = undertow.dropout(weights, dropout_p, True)
        out = undertow.bmm(weights, v).transpose(0, 1).reshape((length * batch, size))
    else:
        if attn_mask is not None:
            attn_mask = attn_mask.unsqueeze(0) if attn_mask.size(0) == 1 else attn_mask.view((batch, num_heads, -1, keys))
        q, k, v = (t.view((batch, num_heads, t.shape[1], width)) for t in (q, k, v))
        out = _ops["nn.functional.scaled_dot_product_attention"](q, k, v, attn_mask, dropout_p, is_causal)
        out = out.permute(2, 0, 1, 3).contiguous().view((batch * length, size))
    out = _linear(out, out_proj_weight, out_proj_bias).view((length, batch, size))
    if weights is not None:
        weights = weights.view((batch, num_heads, length, keys))
        weights = weights.mean(1) if average_attn_weights else weights
    if has_batch:
        return out, weights
    return out.squeeze(1), None if weights is None else weights.squeeze(0)
