"""Sequences of different lengths, packed for recurrent layers or padded to one tensor.

In a packed sequence the rows of one step are contiguous, longest sequence first: step t has the first batch_sizes[t] sequences.
"""

from __future__ import annotations

from collections import namedtuple

import undertow
from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, NamedTuple, Self

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]

if TYPE_CHECKING:

    class _Fields(NamedTuple):
        data: Tensor
        batch_sizes: Tensor
        sorted_indices: Tensor | None
        unsorted_indices: Tensor | None
else:
    _Fields = namedtuple("PackedSequence", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the inverse of a permutation; None for None.

    >>> import undertow as ut
    >>> invert_permutation(ut.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    places = undertow.arange(permutation.numel(), device=permutation.device)
    return undertow.empty_like(permutation).scatter_(0, permutation, places)


class PackedSequence(_Fields):
    """Packed sequences; `sorted_indices` is the permutation that sorted the batch, `unsorted_indices` its inverse."""

    def __new__(
        cls, data: Any, batch_sizes: Tensor | None = None, sorted_indices: Tensor | None = None, unsorted_indices: Tensor | None = None
    ) -> Any:
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(f"batch_sizes should always be on CPU. Got {batch_sizes.device}")
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move or cast the data; return self if nothing changes."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        moved = [None if i is None else i.to(data.device) for i in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(data, self.batch_sizes, *moved)

    def cpu(self, *args: Any, **kwargs: Any) -> Self:
        """Move the data to the CPU."""
        return self.to("cpu", *args, **kwargs)

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        """Move the data to a GPU."""
        return self.to(*(args or ("cuda",)), **kwargs)

    def pin_memory(self) -> Self:
        """Move the data to pinned memory."""
        return type(self)(self.data.pin_memory(), *self[1:])

    def is_pinned(self) -> bool:
        """Return True if the data is in pinned memory."""
        return self.data.is_pinned()

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a GPU."""
        return self.data.is_cuda

    def double(self) -> Self:
        """Cast to float64."""
        return self.to(undertow.float64)

    def float(self) -> Self:
        """Cast to float32."""
        return self.to(undertow.float32)

    def half(self) -> Self:
        """Cast to float16."""
        return self.to(undertow.float16)

    def long(self) -> Self:
        """Cast to int64."""
        return self.to(undertow.int64)

    def int(self) -> Self:
        """Cast to int32."""
        return self.to(undertow.int32)

    def short(self) -> Self:
        """Cast to int16."""
        return self.to(undertow.int16)

    def char(self) -> Self:
        """Cast to int8."""
        return self.to(undertow.int8)

    def byte(self) -> Self:
        """Cast to uint8."""
        return self.to(undertow.uint8)


def _as_lengths(lengths: Any) -> Tensor:
    if not isinstance(lengths, Tensor):
        lengths = undertow.as_tensor(lengths, dtype=undertow.int64, device="cpu")
    if lengths.dim() != 1 or lengths.device.type != "cpu":
        raise RuntimeError(f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D {lengths.device.type} tensor")
    return lengths.to(undertow.int64)


def pack_padded_sequence(input: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False, enforce_sorted: bool = True) -> PackedSequence:
    """Pack padded sequences, (time, batch, ...) or (batch, time, ...), of the given lengths.

    With enforce_sorted=False they may be in any order, and are sorted by length.

    >>> import undertow as ut
    >>> pack_padded_sequence(ut.tensor([[1, 2], [3, 0]]), [2, 1]).data
    tensor([1, 2, 3])
    """
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    lengths = _as_lengths(lengths)
    order = None
    if not enforce_sorted:
        lengths, order = lengths.sort(descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    by_time = input.transpose(0, 1) if batch_first else input
    batch, longest = by_time.size(1), by_time.size(0)
    if lengths.numel() != batch:
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {lengths.numel()} (batch_size={batch})")
    sizes = lengths.tolist()
    if sizes[-1] <= 0:
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if any(a < b for a, b in zip(sizes, sizes[1:])):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass `enforce_sorted=False` to "
            f"pack_padded_sequence and/or pack_sequence to sort them there; got {sizes}"
        )
    if sizes[0] > longest:
        raise RuntimeError(f"Length of a sample is greater than the padded length: got {sizes[0]} of {longest}")
    return PackedSequence(*_packed(by_time, sizes), order, None)


def _packed(by_time: Tensor, sizes: list[int]) -> tuple[Tensor, Tensor]:
    """Return the rows of every step without padding, and their numbers. Consecutive steps of the same size are handled together."""
    pieces: list[Tensor] = []
    batch_sizes: list[int] = []
    at = 0
    for k in range(len(sizes), 0, -1):
        until = sizes[k - 1]
        if until > at:
            pieces.append(by_time[at:until, :k].reshape(-1, *by_time.shape[2:]))
            batch_sizes += [k] * (until - at)
            at = until
    return undertow.cat(pieces), undertow.tensor(batch_sizes, dtype=undertow.int64)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Undo `pack_padded_sequence`: return the padded sequences and their lengths."""
    sizes = sequence.batch_sizes.tolist()
    longest = len(sizes)
    if total_length is not None:
        if total_length < longest:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {longest}"
            )
        longest = total_length
    lengths = undertow.tensor([sum(size > k for size in sizes) for k in range(sizes[0])], dtype=undertow.int64)
    padded = _padded(sequence.data, sizes, longest, padding_value)
    if batch_first:
        padded = padded.transpose(0, 1)
    order = sequence.unsorted_indices
    if order is not None:
        return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]
    return padded, lengths


def _padded(data: Tensor, sizes: list[int], longest: int, value: float) -> Tensor:
    """Return the rows of a packed sequence as a padded tensor (time, batch, ...)."""
    batch = sizes[0]
    places = undertow.tensor([t * batch + k for t, size in enumerate(sizes) for k in range(size)], dtype=undertow.int64, device=data.device)
    out = data.new_full((longest * batch, *data.shape[1:]), value).index_copy(0, places, data)
    return out.reshape(longest, batch, *data.shape[1:])


def pad_sequence(sequences: Tensor | Iterable[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right") -> Tensor:
    """Stack tensors of different lengths to one tensor (time, batch, ...) or (batch, time, ...), padded with `padding_value`.

    >>> import undertow as ut
    >>> pad_sequence([ut.ones(3), ut.ones(1)], batch_first=True)
    tensor([[1., 1., 1.],
            [1., 0., 0.]])
    """
    if isinstance(sequences, Tensor):
        sequences = sequences.unbind(0)
    try:
        tensors = list(sequences)
    except TypeError:
        raise RuntimeError(f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}") from None
    if not tensors:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    longest = max(t.size(0) for t in tensors)
    first = tensors[0]
    rows = []
    for t in tensors:
        if t.shape[1:] != first.shape[1:]:
            raise RuntimeError(f"pad_sequence: sequences must differ only in the first dimension; got shapes {list(first.shape)} and {list(t.shape)}")
        t = t.to(first.dtype)
        if t.size(0) < longest:
            fill = first.new_full((longest - t.size(0), *first.shape[1:]), padding_value)
            t = undertow.cat((fill, t) if padding_side == "left" else (t, fill))
        rows.append(t)
    return undertow.stack(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """Return the sequences without their padding.

    >>> import undertow as ut
    >>> unpad_sequence(ut.ones(3, 2), ut.tensor([3, 1]))
    [tensor([1., 1., 1.]), tensor([1.])]
    """
    by_batch = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:length] for row, length in zip(by_batch.unbind(0), lengths.tolist())]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack tensors of different lengths."""
    lengths = undertow.as_tensor([t.size(0) for t in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Undo `pack_sequence`."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
