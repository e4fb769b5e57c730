"""Transformer layers: encoder and decoder layers, stacks of them, and the complete model."""

from __future__ import annotations

import copy
import warnings

import undertow
from undertow._C import Tensor
from undertow.nn import functional as F
from undertow.nn import init
from undertow.nn.modules.activation import GELU, ReLU
from undertow.nn.modules.attention import MultiheadAttention
from undertow.nn.modules.container import ModuleList
from undertow.nn.modules.dropout import Dropout
from undertow.nn.modules.linear import Linear
from undertow.nn.modules.module import Module
from undertow.nn.modules.normalization import LayerNorm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Activation = str | Callable[[Tensor], Tensor]

__all__ = ["Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer"]


def _generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
    return undertow.full((sz, sz), float("-inf"), device=device, dtype=dtype or undertow.get_default_dtype()).triu(1)


def _is_causal_mask(mask: Tensor | None, is_causal: bool | None, size: int | None) -> bool:
    """Return True if a mask is causal; checked only if the caller does not specify it."""
    if is_causal is not None or mask is None:
        return bool(is_causal)
    causal = _generate_square_subsequent_mask(mask.size(-2) if size is None else size, device=mask.device, dtype=mask.dtype)
    return mask.size() == causal.size() and bool((mask == causal).all())


def _sequence_length(t: Tensor, batch_first: bool) -> int:
    return t.size(1 if t.dim() == 3 and batch_first else 0)


def _float_mask(mask: Tensor | None, name: str, dtype: Any, other: Tensor | None = None, other_name: str = "") -> Tensor | None:
    """Convert a mask to numbers to add: -inf where a boolean mask is True."""
    if mask is None:
        return None
    is_bool = mask.dtype == undertow.bool
    if not is_bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {name} are supported, got {mask.dtype}")
    if other is not None and other.dtype != mask.dtype:
        warnings.warn(f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.", stacklevel=4)
    return undertow.zeros_like(mask, dtype=dtype).masked_fill_(mask, float("-inf")) if is_bool else mask


def _activation_named(activation: Activation) -> Callable[[Tensor], Tensor]:
    if not isinstance(activation, str):
        return activation
    return _get_activation_fn(activation)


def _get_activation_fn(activation: str) -> Callable[[Tensor], Tensor]:
    """Return the activation function "relu" or "gelu"."""
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return getattr(F, activation)


class _Layer(Module):
    """Base class of encoder and decoder layers: attention blocks, two linear layers, norms and dropouts."""

    linear1: Linear
    dropout: Dropout
    linear2: Linear
    activation: Callable[[Tensor], Tensor]
    __constants__: list[str] = ["norm_first"]
    _attentions: tuple[str, ...]

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        kind = {"device": device, "dtype": dtype}
        for name in self._attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, bias=bias, **kind))
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **kind)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **kind)
        self.norm_first = norm_first
        blocks = len(self._attentions) + 1
        for k in range(blocks):
            setattr(self, f"norm{k + 1}", LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **kind))
        for k in range(blocks):
            setattr(self, f"dropout{k + 1}", Dropout(dropout))
        self.activation = _activation_named(activation)
        if len(self._attentions) == 1:  # an attribute that torch's encoder layers have
            relu, gelu = (self.activation is f or isinstance(self.activation, kind) for f, kind in ((F.relu, ReLU), (F.gelu, GELU)))
            self.activation_relu_or_gelu = 1 if relu else 2 if gelu else 0

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if not hasattr(self, "activation"):
            self.activation = F.relu

    # The blocks below have torch's names, because subclasses override them.

    def _sa_block(self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False) -> Tensor:
        found = self.self_attn(x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal, need_weights=False)
        return self.dropout1(found[0])

    def _add(self, x: Tensor, block: Callable[[Tensor], Tensor], k: int) -> Tensor:
        """Return x + block(x), normalised before the block or after the sum."""
        norm = getattr(self, f"norm{k}")
        return x + block(norm(x)) if self.norm_first else norm(x + block(x))


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network, each added to its input and normalised.

    >>> import undertow as ut
    >>> ut.nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16)(ut.ones(10, 3, 8)).shape
    undertow.Size([10, 3, 8])
    """

    _attentions = ("self_attn",)

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))

    def forward(self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, is_causal: bool = False) -> Tensor:
        """Return the layer's output. Masks are added to the scores, or are True where attention is not allowed."""
        padding = _float_mask(src_key_padding_mask, "src_key_padding_mask", src.dtype, src_mask, "src_mask")
        mask = _float_mask(src_mask, "src_mask", src.dtype)

        def attend(x: Tensor) -> Tensor:
            return self._sa_block(x, mask, padding, is_causal=is_causal)

        return self._add(self._add(src, attend, 1), self._ff_block, 2)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to an encoder's output, and a feed-forward network.

    >>> import undertow as ut
    >>> layer = ut.nn.TransformerDecoderLayer(d_model=8, nhead=2, dim_feedforward=16)
    >>> layer(ut.ones(20, 3, 8), ut.ones(10, 3, 8)).shape
    undertow.Size([20, 3, 8])
    """

    _attentions = ("self_attn", "multihead_attn")

    def _mha_block(
        self, x: Tensor, mem: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        found = self.multihead_attn(x, mem, mem, attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal, need_weights=False)
        return self.dropout2(found[0])

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return the layer's output. Masks are added to the scores, or are True where attention is not allowed."""

        def attend(x: Tensor) -> Tensor:
            return self._sa_block(x, tgt_mask, tgt_key_padding_mask, tgt_is_causal)

        def remember(x: Tensor) -> Tensor:
            return self._mha_block(x, memory, memory_mask, memory_key_padding_mask, memory_is_causal)

        return self._add(self._add(self._add(tgt, attend, 1), remember, 2), self._ff_block, 3)


def _get_clones(module: Module, n: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(n)])


class TransformerEncoder(Module):
    """A stack of encoder layers, initialized as copies of one layer.

    `enable_nested_tensor` and `mask_check` are accepted for compatibility with torch: padded sequences are computed in full.
    """

    layers: ModuleList
    enable_nested_tensor: bool
    use_nested_tensor: bool
    mask_check: bool
    __constants__: list[str] = ["norm"]

    def __init__(
        self,
        encoder_layer: TransformerEncoderLayer,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor, self.use_nested_tensor, self.mask_check = enable_nested_tensor, False, mask_check

    def forward(self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, is_causal: bool | None = None) -> Tensor:
        """Return the last layer's output, normalised if there is a norm."""
        src_key_padding_mask = _float_mask(src_key_padding_mask, "src_key_padding_mask", src.dtype, mask, "mask")
        mask = _float_mask(mask, "mask", src.dtype)
        first = self.layers[0].self_attn if len(self.layers) else None
        is_causal = _is_causal_mask(mask, is_causal, _sequence_length(src, getattr(first, "batch_first", False)))
        out = src
        for layer in self.layers:
            out = layer(out, src_mask=mask, is_causal=is_causal, src_key_padding_mask=src_key_padding_mask)
        return out if self.norm is None else self.norm(out)


class TransformerDecoder(Module):
    """A stack of decoder layers, initialized as copies of one layer."""

    layers: ModuleList
    __constants__: list[str] = ["norm"]

    def __init__(self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return the last layer's output, normalised if there is a norm."""
        first = self.layers[0].self_attn if len(self.layers) else None
        tgt_is_causal = _is_causal_mask(tgt_mask, tgt_is_causal, _sequence_length(tgt, getattr(first, "batch_first", False)))
        out = tgt
        for layer in self.layers:
            out = layer(
                out,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=tgt_is_causal,
                memory_is_causal=memory_is_causal,
            )
        return out if self.norm is None else self.norm(out)


class Transformer(Module):
    """An encoder of a source and a decoder of a target that attends to it.

    >>> import undertow as ut
    >>> model = ut.nn.Transformer(d_model=8, nhead=2, num_encoder_layers=1, num_decoder_layers=1, dim_feedforward=16)
    >>> model(ut.ones(10, 3, 8), ut.ones(20, 3, 8)).shape
    undertow.Size([20, 3, 8])
    """

    d_model: int
    nhead: int
    batch_first: bool

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        kind = {"device": device, "dtype": dtype}
        options = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        if custom_encoder is None:
            layer = TransformerEncoderLayer(*options, **kind)
            custom_encoder = TransformerEncoder(layer, num_encoder_layers, LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **kind))
        self.encoder = custom_encoder
        if custom_decoder is None:
            decoder_layer = TransformerDecoderLayer(*options, **kind)
            custom_decoder = TransformerDecoder(decoder_layer, num_decoder_layers, LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **kind))
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self) -> None:
        for p in self.parameters():
            if p.dim() > 1:
                init.xavier_uniform_(p)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return the decoder's output."""
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch) != tgt.size(batch):
            raise RuntimeError(f"the batch number of src and tgt must be equal, got shapes {list(src.shape)} and {list(tgt.shape)}")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError(
                f"the feature number of src and tgt must be equal to d_model; got shapes {list(src.shape)} and {list(tgt.shape)} for {self.d_model}"
            )
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """Create a causal mask: -inf above the diagonal, so that no position attends to a later one.

        >>> import undertow as ut
        >>> ut.nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        return _generate_square_subsequent_mask(sz, device, dtype)
