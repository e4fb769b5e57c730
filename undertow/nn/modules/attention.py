"""Multi-head attention as a module."""

from __future__ import annotations

import undertow
from undertow._C import Parameter, Tensor
from undertow.nn import functional as F
from undertow.nn import init
from undertow.nn.modules.linear import Linear
from undertow.nn.modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["MultiheadAttention"]


class NonDynamicallyQuantizableLinear(Linear):
    """Linear, under the name that torch gives the output projection of attention."""


class MultiheadAttention(Module):
    """Multi-head attention: softmax(q k^T / sqrt(d)) v of projected queries, keys and values, followed by an output projection.

    >>> import undertow as ut
    >>> out, weights = ut.nn.MultiheadAttention(8, 2)(ut.ones(5, 3, 8), ut.ones(6, 3, 8), ut.ones(6, 3, 8))
    >>> out.shape, weights.shape
    (undertow.Size([5, 3, 8]), undertow.Size([3, 5, 6]))
    """

    kdim: int
    vdim: int
    num_heads: int
    dropout: float
    batch_first: bool
    head_dim: int
    in_proj_weight: Parameter
    out_proj: NonDynamicallyQuantizableLinear
    bias_k: Parameter | None
    bias_v: Parameter | None
    __constants__: list[str] = ["batch_first"]

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} instead")
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads, self.dropout, self.batch_first = num_heads, dropout, batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def fresh(*size: int) -> Parameter:
            return Parameter(undertow.empty(size, device=device, dtype=dtype))

        same = self._qkv_same_embed_dim
        if same:
            self.in_proj_weight = fresh(3 * embed_dim, embed_dim)
        for name, columns in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
            self.register_parameter(f"{name}_proj_weight", None if same else fresh(embed_dim, columns))
        if not same:
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", fresh(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        self.bias_k = fresh(1, 1, embed_dim) if add_bias_kv else None
        self.bias_v = fresh(1, 1, embed_dim) if add_bias_kv else None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        own = [self.in_proj_weight] if self._qkv_same_embed_dim else [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]
        for weight in own:
            init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def __setstate__(self, state: dict[str, Any]) -> None:
        state.setdefault("_qkv_same_embed_dim", True)  # state from before keys could have a different size
        super().__setstate__(state)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return (output, weights), where weights are the mean over heads, the weights of each head, or None."""
        turned = self.batch_first and query.dim() == 3
        if turned:  # an input passed several times stays one tensor, so that it is projected in one product
            same = key is query, value is key
            query = query.transpose(1, 0)
            key = query if same[0] else key.transpose(1, 0)
            value = key if same[1] else value.transpose(1, 0)
        out, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (out.transpose(1, 0) if turned else out), weights

    def merge_masks(self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor) -> tuple[Tensor | None, int | None]:
        """Return the merged mask (batch, heads, queries, keys) and its type: 0 for attn_mask only, 1 for padding only, 2 for both."""
        kind: int | None = None
        merged = None
        if key_padding_mask is not None:
            kind, merged = 1, key_padding_mask
        if attn_mask is not None:
            batch, length, _ = query.shape
            kind = 2
            expanded = attn_mask.view(batch, -1, length, length) if attn_mask.dim() == 3 else attn_mask.view(1, 1, length, length)
            merged = expanded.expand(batch, self.num_heads, -1, -1)
            if key_padding_mask is not None:
                merged = merged + key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1)
        return merged, kind
