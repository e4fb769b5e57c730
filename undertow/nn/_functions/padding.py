"""Padding with a value, or with the input's own elements."""

from __future__ import annotations

from undertow._C import Tensor, _ops
from undertow._override import overridable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__: list[str] = ["pad"]

_REFLECT, _REPLICATE, _CIRCULAR = range(3)
_NAMES = {"reflect": _REFLECT, "replicate": _REPLICATE, "circular": _CIRCULAR}
_indexed = _ops["_nn._pad_indexed"]
_by_rank = {
    _REFLECT: tuple(_ops[f"_nn.reflection_pad{n}d"] for n in (1, 2, 3)),
    _REPLICATE: tuple(_ops[f"_nn.replication_pad{n}d"] for n in (1, 2, 3)),
}


def _check_numbers(pad: Sequence[int]) -> None:
    for at, number in enumerate(pad):
        if not hasattr(number, "__index__"):
            kind = type(number).__name__
            raise TypeError(f"pad(): argument 'pad' (position 2) must be tuple of ints, but found element of type {kind} at pos {at}")


def _check(input: Tensor, pad: Sequence[int]) -> None:
    if isinstance(pad, (int, str)) or not hasattr(pad, "__len__"):
        raise TypeError(f"pad(): argument 'pad' (position 2) must be tuple of ints, not {type(pad).__name__}")
    if len(pad) % 2:
        _check_numbers(pad)
        raise RuntimeError(f"Padding length must be divisible by 2: got {len(pad)} numbers, but each dimension needs two")
    if len(pad) > 2 * input.dim():
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {input.dim()}"
        )


@overridable
def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Pad `input` with `value`, or with its own elements: reflected, replicated or circular.

    `pad` starts with the last dimension: (left, right, top, bottom, ...). Negative numbers remove elements.

    >>> import undertow as ut
    >>> x = ut.tensor([[1.0, 2.0, 3.0]])
    >>> pad(x, (1, 2), value=9.0)
    tensor([[9., 1., 2., 3., 9., 9.]])
    >>> pad(x, (1, 2), mode="reflect")
    tensor([[2., 1., 2., 3., 2., 1.]])
    """
    _check(input, pad)
    if mode == "constant":
        return _ops["constant_pad_nd"](input, pad, 0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    kind = _NAMES.get(mode)
    if kind is None:
        raise NotImplementedError(f"Unrecognised padding mode {mode}; expected constant, {', '.join(_NAMES)}")
    rank = len(pad) // 2
    if not 1 <= rank <= 3 or input.dim() not in (rank + 1, rank + 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {input.dim()}D input tensor: mode {mode} pads the last one, two or "
            "three dimensions (2, 4 or 6 numbers) of an input with one or two dimensions before them"
        )
    return _indexed(input, pad, kind) if kind == _CIRCULAR else _by_rank[kind][rank - 1](input, pad)
