"""Quasirandom points: `SobolEngine`, with the same points and the same scrambling as torch."""

from __future__ import annotations

import undertow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["SobolEngine"]


def _directions(dimension: int, bits: int) -> list[list[int]]:
    """Return the direction numbers of each dimension, as fractions of 2^bits."""
    from base64 import b85decode

    from undertow._sobol_numbers import DEGREES, PACKED

    data = b85decode(PACKED)
    stream, left = int.from_bytes(data, "big"), 8 * len(data)

    def take(count: int) -> int:
        nonlocal left
        left -= count
        return stream >> left & ((1 << count) - 1)

    rows = [[1] * bits]
    for degree in (s for s, count in DEGREES.items() for _ in range(count)):
        if len(rows) == dimension:
            break
        inner = take(degree - 1)
        row = [2 * take(i) + 1 for i in range(degree)]
        for m in range(degree, bits):
            value = row[m - degree] ^ row[m - degree] << degree
            for k in range(1, degree):
                if inner >> (degree - 1 - k) & 1:
                    value ^= row[m - k] << k
            row.append(value)
        rows.append(row)
    return [[m << (bits - 1 - j) for j, m in enumerate(row)] for row in rows]


class SobolEngine:
    """Low-discrepancy points in the unit cube of `dimension` dimensions; the first is the origin, unless they are scrambled.

    >>> SobolEngine(2).draw(4)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500],
            [0.2500, 0.7500]])
    """

    dimension: int
    scramble: bool
    seed: int | None
    sobolstate: Tensor
    shift: Tensor
    quasi: Tensor
    num_generated: int
    MAXBIT = 30
    MAXDIM = 512

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}] (torch's goes up to 21201)")
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self.sobolstate = undertow.tensor(_directions(dimension, self.MAXBIT), dtype=undertow.int64)
        self.shift = undertow.zeros(dimension, dtype=undertow.int64)
        if scramble:
            self._scramble()
        self.quasi = self.shift.clone()
        self.num_generated = 0

    def _scramble(self) -> None:
        bits = self.MAXBIT
        generator = None
        if self.seed is not None:
            generator = undertow.Generator()
            generator.manual_seed(self.seed)
        shift = undertow.randint(2, (self.dimension, bits), generator=generator)
        self.shift = shift @ (2 ** undertow.arange(bits))
        lower = undertow.randint(2, (self.dimension, bits, bits), generator=generator).tril()
        lower.diagonal(dim1=-2, dim2=-1).fill_(1)
        high_first = undertow.arange(bits - 1, -1, -1)
        columns = (self.sobolstate.unsqueeze(-1) >> high_first) & 1  # the bits of each number, highest first
        mixed = undertow.matmul(columns.float(), lower.mT.float()).long() % 2
        self.sobolstate = (mixed << high_first).sum(-1)

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """Return the next `n` points."""
        dtype = undertow.get_default_dtype() if dtype is None else dtype
        index = undertow.arange(self.num_generated, self.num_generated + n)
        gray = index ^ index >> 1
        points = self.shift.expand(n, self.dimension).clone()
        for bit in range(self.MAXBIT):
            points ^= (gray >> bit & 1).unsqueeze(-1) * self.sobolstate[:, bit]
        first, self.num_generated = self.num_generated == 0, self.num_generated + n
        if n:
            self.quasi = points[-1].clone()
        result = points.to(dtype) / 2**self.MAXBIT
        if n and first:
            result[0] = result[0].to(undertow.get_default_dtype())  # torch keeps the first point in that dtype
        return result if out is None else out.resize_(result.shape).copy_(result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """Return the next 2^m points; raise if the total number of points would not be a power of two."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                f"The balance properties of Sobol' points require n to be a power of 2. {self.num_generated} points have been previously generated, "
                f"then: n={self.num_generated}+2**{m}={total}. If you still want to do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Start again with the first point."""
        self.quasi = self.shift.clone()
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Skip `n` points."""
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        parts = [f"dimension={self.dimension}"]
        if self.scramble:
            parts.append("scramble=True")
        if self.seed is not None:
            parts.append(f"seed={self.seed}")
        return f"SobolEngine({', '.join(parts)})"
