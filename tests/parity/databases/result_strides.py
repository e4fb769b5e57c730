"""Runs samples of torch's operator database with inputs of many layouts, here and in torch, and compares strides and offsets of results.

Strides of gradients are compared too: of the first gradients, for row-major cotangents. Imported only where torch is installed.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import carry
import numpy as np
import torch
from carry import tensors_in
from test_opcheck import WRAPPED, database, ours, samples_of

import undertow as ut


def stored(t: torch.Tensor, order: list[int]) -> torch.Tensor:
    """The same elements; in memory the dimensions have this order, outermost first."""
    back = [order.index(d) for d in range(t.dim())]
    return t.permute(order).contiguous().permute(back)


def transposed(t):
    return stored(t, list(range(t.dim()))[::-1]) if t.dim() > 1 else None


def rotated(t):
    return stored(t, [*range(1, t.dim()), 0]) if t.dim() > 2 else None


def channels_last(t):
    return stored(t, [0, *range(2, t.dim()), 1]) if t.dim() > 2 else None


def stepped(t):
    """Every second element in each dimension of a larger tensor, from the second on."""
    if not t.dim():
        return None
    memory = t.new_zeros([2 * n + 1 for n in t.shape])
    view = memory[tuple(slice(1, 2 * n, 2) for n in t.shape)]
    view.copy_(t)
    return view


def shifted(t):
    """Row-major, but not from the beginning of the memory."""
    memory = t.new_zeros(t.numel() + 3)
    memory[3:] = t.reshape(-1)
    return memory[3:].view(t.shape)


def padded(t):
    """A part of a larger tensor, stored transposed."""
    if t.dim() < 2:
        return None
    memory = t.new_zeros([n + 2 for n in reversed(t.shape)]).permute(list(range(t.dim()))[::-1])
    view = memory[tuple(slice(1, n + 1) for n in t.shape)]
    view.copy_(t)
    return view


def expanded(t):
    return t[:1].expand(t.shape) if t.dim() and t.shape[0] > 1 else None


def expanded_last(t):
    return t[..., :1].expand(t.shape) if t.dim() and t.shape[-1] > 1 else None


LAYOUTS = {
    "contiguous": lambda t: t.contiguous(), "transposed": transposed, "channels last": channels_last, "rotated": rotated,
    "stepped": stepped, "shifted": shifted, "padded": padded, "expanded": expanded, "expanded last": expanded_last,
}  # fmt: skip
PARTS = ("all", "first", "rest")  # which tensors of a sample get the layout


def same_memory(t: torch.Tensor) -> ut.Tensor:
    """Our tensor with the same memory, strides and offset."""
    t = t.detach()
    if t.numel() == 0 or t.is_conj() or t.is_neg():
        return carry.tensor_to_ut(t)
    length = t.untyped_storage().nbytes() // t.element_size()
    memory = torch.as_strided(t, (length,), (1,), 0)
    return ut.as_strided(carry.tensor_to_ut(memory.clone()), tuple(t.shape), tuple(t.stride()), t.storage_offset())


class Arranged:
    """A sample whose tensors have a layout: those for torch, and ours."""

    def __init__(self, sample, layout, part: str) -> None:
        self.layout, self.part, self.changed, self.seen = layout, part, False, 0
        self.theirs, self.here = self.both((sample.input, list(sample.args), dict(sample.kwargs)))

    def both(self, x):
        if isinstance(x, torch.Tensor):
            return self.tensor(x)
        if isinstance(x, (list, tuple)) and not isinstance(x, torch.Size) and not hasattr(x, "_fields"):
            pairs = [self.both(v) for v in x]
            return type(x)(p[0] for p in pairs), type(x)(p[1] for p in pairs)
        if isinstance(x, dict):
            pairs = {k: self.both(v) for k, v in x.items()}
            return {k: p[0] for k, p in pairs.items()}, {k: p[1] for k, p in pairs.items()}
        return x, carry.to_ut(x)

    def tensor(self, t: torch.Tensor):
        if t.device.type != "cpu" or t.layout != torch.strided:
            raise carry.Untranslatable(f"{t.device} {t.layout}")
        self.seen += 1
        plain = t.detach()
        if self.part == "all" or (self.part == "first") == (self.seen == 1):
            arranged = self.layout(plain)
            if arranged is not None:
                self.changed = True
                plain = arranged
        here = same_memory(plain)
        if t.requires_grad:
            plain, here = plain.detach().requires_grad_(), here.detach().requires_grad_()
        return plain, here


def geometry(t) -> tuple:
    """The offset and the strides. Strides of dimensions of size 1, and those of empty tensors, mean nothing."""
    if t.numel() == 0:
        return ()
    return (t.storage_offset(), *(s for n, s in zip(t.shape, t.stride(), strict=True) if n != 1))


class Difference(NamedTuple):
    where: str  # "sample 3, transposed all"
    place: str  # "result 0", "gradient 1", "view" (of result 0), or "error"
    text: str


def _compare(place: str, want, got):
    if want is None or got is None or want.layout != torch.strided:
        return
    if tuple(want.shape) != tuple(got.shape):
        yield place, f"shape {tuple(want.shape)} in torch, {tuple(got.shape)} here"
    elif geometry(want) != geometry(got):
        there, here = (f"{tuple(t.stride())} from {t.storage_offset()}" for t in (want, got))
        yield place, f"shape {tuple(want.shape)}: strides {there} in torch, {here} here"


def _gradients(op, arranged: Arranged, wants, gots):
    leaves = [t for t in tensors_in(arranged.theirs, torch.Tensor) if t.requires_grad]
    mine = [t for t in tensors_in(arranged.here, ut.Tensor) if t.requires_grad]
    pairs = [(a, b) for a, b in zip(wants, gots, strict=True) if a.requires_grad and b.requires_grad]
    if not pairs or not leaves or not op.supports_autograd:
        return
    rng, cotangents = np.random.default_rng(0), []
    for a, _ in pairs:
        v = rng.standard_normal(tuple(a.shape))
        cotangents.append(torch.tensor(v + 1j * v if a.dtype.is_complex else v, dtype=a.dtype))
    try:
        g = torch.autograd.grad([a for a, _ in pairs], leaves, cotangents, allow_unused=True)
    except (NotImplementedError, RuntimeError):
        return
    h = ut.autograd.grad([b for _, b in pairs], mine, [carry.tensor_to_ut(v) for v in cotangents], allow_unused=True)
    for k, (a, b) in enumerate(zip(g, h, strict=True)):
        yield from _compare(f"gradient {k}", a, b)


def compared(op, function, arranged: Arranged) -> list[tuple[str, str]] | None:
    """What differs, as pairs of a place and a description; None if torch raises."""
    x, args, kwargs = arranged.theirs
    try:
        want = op.op(x, *args, **kwargs)
    except Exception:  # noqa: BLE001 - torch cannot compute it, for example because expanding made a matrix singular
        return None
    y, args, kwargs = arranged.here
    try:
        got = function(y, *args, **kwargs)
        wants, gots = tensors_in(want, torch.Tensor), tensors_in(got, ut.Tensor)
        if len(wants) != len(gots):
            return [("error", f"{len(wants)} results in torch, {len(gots)} here")]
        found = []
        for k, (a, b) in enumerate(zip(wants, gots, strict=True)):
            found += _compare(f"result {k}", a, b)
            if a._is_view() != b._is_view():
                found.append(("view", f"result {k} is {'a' if a._is_view() else 'no'} view in torch"))
        return found + list(_gradients(op, arranged, wants, gots))
    except Exception as e:  # noqa: BLE001 - torch has a result
        return [("error", f"{type(e).__name__}: {str(e)[:200]}")]


def sweep(name: str, limit: int | None, layouts=tuple(LAYOUTS), parts=PARTS) -> tuple[int, list[Difference]]:
    """How many calls were compared, and what differs."""
    function, ran, found = ours(name), 0, []
    for op in database().get(name, []):
        wrap = WRAPPED.get(f"{name}.{op.variant_test_name}")
        dtype = next((d for d in (torch.float64, torch.complex128, torch.int64, torch.bool, torch.float32) if d in op.dtypes), None)
        if dtype is None or function is None:
            continue
        samples = samples_of(op, dtype, op.supports_autograd and (dtype.is_floating_point or dtype.is_complex), limit)
        for (k, sample), layout, part in itertools.product(enumerate(samples), layouts, parts):
            try:
                arranged = Arranged(sample, LAYOUTS[layout], part)
            except carry.Untranslatable:
                continue
            if not arranged.changed or (part != "all" and arranged.seen < 2):
                continue
            differences = compared(op, wrap(function) if wrap else function, arranged)
            if differences is None:
                continue
            ran += 1
            variant = f" {op.variant_test_name}" if op.variant_test_name else ""
            found += [Difference(f"{name}{variant}, sample {k}, {layout} {part}", place, text) for place, text in differences]
    return ran, found
