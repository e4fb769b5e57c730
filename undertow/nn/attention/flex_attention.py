"""`torch.nn.attention.flex_attention`: attention with user-defined functions of positions that modify the scores and define the mask.

The full matrix of scores is computed, and the functions are mapped over it with vmap, as in torch without compilation. Unlike there, the result
is differentiable.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import undertow
from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "FlexKernelOptions", "and_masks",
    "create_block_mask", "create_mask", "flex_attention", "noop_mask", "or_masks",
]  # fmt: skip
_DEFAULT_SPARSE_BLOCK_SIZE = 128
FlexKernelOptions = dict


class AuxRequest(NamedTuple):
    """The additional results requested from `flex_attention`."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The additional results of `flex_attention`."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch: Any, head: Any, token_q: Any, token_kv: Any) -> Tensor:
    """Return True for all positions."""
    return batch.new_ones(size=(), dtype=undertow.bool)


def _joined(start: bool, join: Callable[[Any, Any], Any], mask_mods: tuple[Callable[..., Any], ...]) -> Callable[..., Any]:
    if not all(callable(m) for m in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def mask(b: Any, h: Any, q: Any, kv: Any) -> Any:
        result = b.new_full((), start, dtype=undertow.bool)
        for m in mask_mods:
            result = join(result, m(b, h, q, kv))
        return result

    return mask


def and_masks(*mask_mods: Callable[..., Any]) -> Callable[..., Any]:
    """Return a mask that is True where all masks are."""
    return _joined(True, lambda a, b: a & b, mask_mods)


def or_masks(*mask_mods: Callable[..., Any]) -> Callable[..., Any]:
    """Return a mask that is True where any mask is."""
    return _joined(False, lambda a, b: a | b, mask_mods)


def _over_positions(fn: Callable[..., Any], shape: Any, scores: Tensor | None = None) -> Tensor:
    """Evaluate the function at every (b, h, q, kv), with the score as first argument if scores are given."""
    first = () if scores is None else (0,)
    for dims in ((None, None, None, 0), (None, None, 0, None), (None, 0, None, None), (0, None, None, None)):
        fn = undertow.vmap(fn, in_dims=(*first, *dims))
    positions = [undertow.arange(n) for n in shape]
    return fn(*positions) if scores is None else fn(scores, *positions)


def create_mask(mod_fn: Callable[..., Any], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None) -> Tensor:
    """Return the mask as a boolean tensor (B, H, Q_LEN, KV_LEN).

    >>> from undertow.nn.attention.flex_attention import create_mask
    >>> create_mask(lambda b, h, q, kv: q >= kv, None, None, 2, 2)
    tensor([[[[ True, False],
              [ True,  True]]]])
    """
    return _over_positions(mod_fn, (B or 1, H or 1, Q_LEN, KV_LEN))


def _table(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """Return the number of nonempty blocks in each row of blocks, and the block indices with the nonempty ones first."""
    return blocks.sum(-1, dtype=undertow.int32), blocks.int().argsort(dim=-1, descending=True, stable=True).int()


def _blocks(count: Tensor, indices: Tensor) -> Tensor:
    """The inverse of `_table`."""
    there = undertow.arange(indices.shape[-1]) < count.unsqueeze(-1)
    return undertow.zeros(indices.shape, dtype=undertow.bool).scatter(-1, indices.long(), there)


class BlockMask:
    """A mask function with its nonempty blocks; for full blocks the function need not be evaluated."""

    seq_lengths: tuple[int, ...]
    kv_num_blocks: Tensor
    kv_indices: Tensor
    full_kv_num_blocks: Tensor | None
    full_kv_indices: Tensor | None
    mask_mod: Callable[..., Any]

    def __init__(
        self, seq_lengths: tuple[int, int], kv_num_blocks: Tensor, kv_indices: Tensor, full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None, BLOCK_SIZE: Any = _DEFAULT_SPARSE_BLOCK_SIZE, mask_mod: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        self.seq_lengths, self.kv_num_blocks, self.kv_indices = tuple(seq_lengths), kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.BLOCK_SIZE = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
        self.mask_mod = mask_mod or noop_mask

    @classmethod
    def from_kv_blocks(
        cls, kv_num_blocks: Tensor, kv_indices: Tensor, full_kv_num_blocks: Tensor | None = None, full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: Any = _DEFAULT_SPARSE_BLOCK_SIZE, mask_mod: Callable[..., Any] | None = None, seq_lengths: tuple[int, int] | None = None,
    ) -> BlockMask:  # fmt: skip
        """Create a mask from the nonempty blocks of each row of blocks."""
        q, kv = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        lengths = seq_lengths or (kv_indices.shape[-2] * q, kv_indices.shape[-1] * kv)
        return cls(lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, (q, kv), mask_mod)

    @property
    def shape(self) -> tuple[int, ...]:
        """(B, H, Q_LEN, KV_LEN)."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """Return the number of positions."""
        return math.prod(self.shape)

    def _full(self) -> Tensor:
        if self.full_kv_num_blocks is None or self.full_kv_indices is None:
            return undertow.zeros(self.kv_indices.shape, dtype=undertow.bool)
        return _blocks(self.full_kv_num_blocks, self.full_kv_indices)

    def to_dense(self) -> Tensor:
        """Return a tensor with 1 for each nonempty block."""
        return (_blocks(self.kv_num_blocks, self.kv_indices) | self._full()).int()

    def sparsity(self) -> float:
        """Return the percentage of positions in empty blocks; negative if blocks extend beyond the mask."""
        return 100 * (1 - int(self.to_dense().sum()) * math.prod(self.BLOCK_SIZE) / self.numel())

    def to(self, device: Any) -> BlockMask:
        """Return the same mask: everything is on the CPU."""
        self.kv_indices.to(device)
        return self

    def _elements(self) -> Tensor:
        """Return the mask as a tensor."""
        q, kv = self.BLOCK_SIZE

        def spread(blocks: Tensor) -> Tensor:
            return blocks.repeat_interleave(q, -2).repeat_interleave(kv, -1)[..., : self.seq_lengths[0], : self.seq_lengths[1]]

        return (_over_positions(self.mask_mod, self.shape) & spread(_blocks(self.kv_num_blocks, self.kv_indices))) | spread(self._full())

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"


def create_block_mask(
    mask_mod: Callable[..., Any], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None,
    BLOCK_SIZE: Any = _DEFAULT_SPARSE_BLOCK_SIZE, _compile: bool = False, separate_full_blocks: bool = True,
) -> BlockMask:  # fmt: skip
    """Create the block mask of a function of positions."""
    q, kv = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    mask = undertow.nn.functional.pad(mask, (0, -KV_LEN % kv, 0, -Q_LEN % q))
    count = mask.unflatten(-1, (-1, kv)).unflatten(-3, (-1, q)).sum((-3, -1))
    full = (count == q * kv) & separate_full_blocks
    full_table: tuple[Tensor | None, Tensor | None] = _table(full) if separate_full_blocks else (None, None)
    return BlockMask((Q_LEN, KV_LEN), *_table((count > 0) & ~full), *full_table, (q, kv), mask_mod)


def _check(query: Tensor, key: Tensor, value: Tensor, block_mask: BlockMask | None, enable_gqa: bool) -> None:
    if not query.dim() == key.dim() == value.dim() == 4:
        raise NotImplementedError(f"flex_attention: query, key and value must have 4 dimensions; got {query.dim()}, {key.dim()} and {value.dim()}")
    if not query.dtype == key.dtype == value.dtype:
        raise ValueError(f"Expected query, key, and value to have the same dtype, but got {query.dtype}, {key.dtype} and {value.dtype}")
    if query.shape[1] != key.shape[1] and (not enable_gqa or query.shape[1] % key.shape[1]):
        raise ValueError(f"flex_attention: query has {query.shape[1]} heads, key {key.shape[1]}; with enable_gqa one may be a multiple of the other")
    if block_mask is not None and block_mask.seq_lengths != (query.shape[2], key.shape[2]):
        raise ValueError(f"flex_attention: the mask was created for lengths {block_mask.seq_lengths}, but got {(query.shape[2], key.shape[2])}")


def flex_attention(
    query: Tensor, key: Tensor, value: Tensor, score_mod: Callable[..., Any] | None = None, block_mask: BlockMask | None = None,
    scale: float | None = None, enable_gqa: bool = False, return_lse: bool = False, kernel_options: Any = None, *,
    return_aux: AuxRequest | None = None,
) -> Any:  # fmt: skip
    """Compute softmax(score_mod(query keyᵀ scale, b, h, q, kv)) value at unmasked positions; a fully masked row gives 0.

    >>> import undertow as ut
    >>> from undertow.nn.attention.flex_attention import create_block_mask, flex_attention
    >>> q = k = v = ut.ones(1, 1, 3, 2)
    >>> flex_attention(q, k, v, block_mask=create_block_mask(lambda b, h, i, j: i > j, None, None, 3, 3))[0, 0, :, 0]
    tensor([0., 1., 1.])
    """
    _check(query, key, value, block_mask, enable_gqa)
    repeats = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(repeats, 1), value.repeat_interleave(repeats, 1)
    working = undertow.float64 if query.dtype == undertow.float64 else undertow.float32
    scores = (query @ key.transpose(-2, -1)).to(working) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if score_mod is not None:
        scores = _over_positions(score_mod, scores.shape, scores).to(working)
    if block_mask is not None:
        scores = scores.masked_fill(~block_mask._elements(), -math.inf)
    nowhere = (scores == -math.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(nowhere, 0.0).softmax(-1).masked_fill(nowhere, 0.0)
    out = weights.to(query.dtype) @ value
    if return_aux is not None:
        return out, AuxOutput(scores.logsumexp(-1) if return_aux.lse else None, scores.amax(-1) if return_aux.max_scores else None)
    return (out, scores.logsumexp(-1)) if return_lse else out
