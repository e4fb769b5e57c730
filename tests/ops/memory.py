"""The layouts in which real programs hand tensors on: the same values in many layouts.

Each layout makes from a row-major tensor one that is read as the same values, or, where memory is shared between
elements (`SHARED`), as values of the same shape and dtype; None where the tensor has no such layout.
"""

from __future__ import annotations

import undertow as ut


def transposed(t: ut.Tensor) -> ut.Tensor | None:
    return None if t.dim() < 2 else t.transpose(0, -1).contiguous().transpose(0, -1)


def strided(t: ut.Tensor) -> ut.Tensor:
    """Gaps between the elements, and an offset."""
    room = ut.zeros(2 * t.numel() + 3, dtype=t.dtype)
    return room.as_strided(t.shape, [2 * s for s in t.contiguous().stride()], 3).copy_(t)


def conjugated(t: ut.Tensor) -> ut.Tensor | None:
    return t.conj().resolve_conj().conj() if t.is_complex() else None


def negated(t: ut.Tensor) -> ut.Tensor | None:
    """The imaginary part of a conjugate, whose memory holds the opposite."""
    return None if t.is_complex() or not t.dtype.is_floating_point else ut.complex(ut.zeros_like(t), -t).conj().imag


def expanded(t: ut.Tensor) -> ut.Tensor | None:
    """What sum() hands down: one element for all."""
    return t.flatten()[:1].reshape([1] * t.dim()).expand(t.shape) if t.dim() and t.numel() else None


def expanded_rows(t: ut.Tensor) -> ut.Tensor | None:
    """What a sum over the first dimension hands down."""
    return t[:1].expand(t.shape) if t.dim() > 1 and t.numel() else None


def overlapping(t: ut.Tensor) -> ut.Tensor | None:
    """What the windows of unfold look like: neighbours share elements."""
    return t.contiguous().flatten().as_strided(t.shape, [1] * t.dim(), 0) if t.dim() > 1 and t.numel() else None


LAYOUTS = {f.__name__: f for f in (transposed, strided, conjugated, negated, expanded, expanded_rows, overlapping)}
SHARED = ("expanded", "expanded_rows", "overlapping")


class View:
    """A way to be a view: `base` makes a tensor of which `view` shows the given values; None where their shape has no such view."""

    def __init__(self, base, view):
        self.base, self.view = base, view


def _around(t: ut.Tensor, shape, place) -> ut.Tensor:
    """A tensor of that shape, filled with the mean size of t, in which `place` shows the values of t."""
    base = ut.full(tuple(shape), 0.5, dtype=t.dtype)
    place(base, t.shape).copy_(t)
    return base


def _diagonal_shape(s):
    return (*s, s[-1] + 1) if s and s[-1] else None


def _within(shape_of, view) -> View:
    """A view whose base is larger, with other values around."""
    return View(lambda t: None if shape_of(t.shape) is None else _around(t, shape_of(t.shape), view), view)


def _doubled(s):
    strides, step = [], 2
    for n in reversed(s):
        strides.insert(0, step)
        step *= max(n, 1)
    return strides


def _count(s) -> int:
    n = 1
    for k in s:
        n *= k
    return n


VIEWS = {
    "transpose": View(lambda t: t.transpose(0, -1).contiguous() if t.dim() > 1 else None, lambda b, s: b.transpose(0, -1)),
    "select": _within(lambda s: (*s, 3), lambda b, s: b.select(-1, 1)),
    "slice": _within(lambda s: (*s[:-1], 2 * s[-1] + 1) if s else None, lambda b, s: b[..., 1::2]),
    "squeeze": _within(lambda s: (1, *s), lambda b, s: b.squeeze(0)),
    "unsqueeze": View(lambda t: t.squeeze(-1).contiguous() if t.dim() and t.shape[-1] == 1 else None, lambda b, s: b.unsqueeze(-1)),
    "view": View(lambda t: t.flatten() if t.dim() else None, lambda b, s: b.view(s)),
    "diagonal": _within(_diagonal_shape, lambda b, s: b.diagonal(0, -2, -1)),
    "as_strided": _within(lambda s: (2 * _count(s) + 1,), lambda b, s: b.as_strided(s, _doubled(s), 1)),
    "alias": View(lambda t: t.clone(), lambda b, s: b.view_as(b)),
    "chained": _within(lambda s: (2, *s[::-1], 4) if len(s) > 1 else None, lambda b, s: b[1].narrow(-1, 2, 1).squeeze(-1).permute(*range(len(s))[::-1])),
    "unsqueezed_and_viewed": _within(lambda s: (_count(s) + 2,), lambda b, s: b[1:-1].unsqueeze(0).view(s)),
    "real": View(lambda t: None if t.is_complex() else ut.complex(t, ut.full_like(t, 0.5)), lambda b, s: b.real),
    "imag": View(lambda t: None if t.is_complex() else ut.complex(ut.full_like(t, 0.5), t), lambda b, s: b.imag),
    "transposed_imag": View(
        lambda t: None if t.is_complex() or t.dim() < 2 else ut.complex(ut.full_like(t, 0.5), t).transpose(0, -1).contiguous(),
        lambda b, s: b.transpose(0, -1).imag,
    ),
    "view_as_complex": View(lambda t: ut.view_as_real(t).clone() if t.is_complex() else None, lambda b, s: ut.view_as_complex(b)),
    "conj": View(lambda t: t.conj().resolve_conj() if t.is_complex() else None, lambda b, s: b.conj()),
}
