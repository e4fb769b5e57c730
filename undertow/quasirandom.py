"""Points that fill a cube more evenly than random ones, as `torch.quasirandom`.

The direction numbers of Joe and Kuo (2008) are SciPy's, which is asked for them on first use.
"""

from __future__ import annotations

import importlib.util
import os

import undertow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

_BITS = 30


def _directions(dimension: int) -> Any:
    """The direction numbers of each dimension, the bits of the fraction from the left: (dimension, 30)."""
    import numpy as np

    found = importlib.util.find_spec("scipy")
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError("SobolEngine: the direction numbers are in SciPy, which is not installed: pip install scipy", name="scipy")
    table = np.load(os.path.join(found.submodule_search_locations[0], "stats", "_sobol_direction_numbers.npz"))
    polynomials, starts = table["poly"], table["vinit"]
    out = np.ones((dimension, _BITS), dtype=np.int64)
    for d in range(1, dimension):
        polynomial = int(polynomials[d])
        degree = polynomial.bit_length() - 1
        row = [int(v) for v in starts[d][: min(degree, _BITS)]]
        for j in range(degree, _BITS):
            value = row[j - degree]
            for k in range(degree):
                if polynomial >> (degree - 1 - k) & 1:
                    value ^= row[j - k - 1] << (k + 1)
            row.append(value)
        out[d] = row
    return out << np.arange(_BITS - 1, -1, -1)


class SobolEngine:
    """Draws Sobol points in [0, 1)^dimension; scrambled ones by a seed are torch's of that seed.

    >>> SobolEngine(2).draw(3)  # doctest: +SKIP
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500]])
    """

    MAXBIT = _BITS
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        self.sobolstate = undertow.from_numpy(_directions(dimension))
        if scramble:
            self._scramble()
        else:
            self.shift = undertow.zeros(dimension, dtype=undertow.int64)
        self.num_generated = 0

    def _scramble(self) -> None:
        """A random shift of the digits, and random lower triangular matrices over them."""
        generator = None
        if self.seed is not None:
            generator = undertow.Generator()
            generator.manual_seed(self.seed)
        shift = undertow.randint(2, (self.dimension, _BITS), generator=generator)
        self.shift = (shift << undertow.arange(_BITS)).sum(1)
        matrices = undertow.randint(2, (self.dimension, _BITS, _BITS), generator=generator).tril()
        matrices.diagonal(dim1=1, dim2=2).fill_(1)
        # Digit i of a direction number counts from the left, as row i of the matrix does.
        places = undertow.arange(_BITS - 1, -1, -1)
        digits = (self.sobolstate.unsqueeze(2) >> places) & 1
        mixed = (digits.double() @ matrices.double().mT).long() & 1
        self.sobolstate = (mixed << places).sum(2)

    def _points(self, first: int, n: int) -> Tensor:
        """Points by their number: the digits of its Gray code choose direction numbers, which are added without carry."""
        numbers = undertow.arange(first, first + n)
        gray = numbers ^ (numbers >> 1)
        points = self.shift.expand(n, self.dimension).clone()
        for j in range(max(first + n - 1, 0).bit_length()):
            points ^= ((gray >> j) & 1).unsqueeze(1) * self.sobolstate[:, j]
        return points

    @property
    def quasi(self) -> Tensor:
        """The last point drawn, as whole numbers."""
        return self._points(max(self.num_generated - 1, 0), 1)[0]

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next `n` points."""
        dtype = undertow.get_default_dtype() if dtype is None else dtype
        points = self._points(self.num_generated, n).to(dtype) * 2.0**-_BITS
        if n and self.num_generated == 0:
            points[0] = points[0].to(undertow.get_default_dtype()).to(dtype)  # torch keeps the first point in the default dtype
        self.num_generated += n
        return points if out is None else out.resize_as_(points).copy_(points)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next 2**m points, which is where the sequence is balanced."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                f"The balance properties of Sobol' points require n to be a power of 2. {self.num_generated} points have been previously generated, "
                f"then: n={self.num_generated}+2**{m}={total}. If you still want to do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n, out, dtype)

    def reset(self) -> SobolEngine:
        """Back to the first point."""
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Skips `n` points."""
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        said = [f"dimension={self.dimension}"]
        if self.scramble:
            said.append("scramble=True")
        if self.seed is not None:
            said.append(f"seed={self.seed}")
        return f"SobolEngine({', '.join(said)})"
