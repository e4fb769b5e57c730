"""Finite differences for gradcheck: slopes along a direction, and whole Jacobians.

Does not use analytical derivatives.
"""

from __future__ import annotations

import undertow as ut
from undertow import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    import numpy as np

    from undertow import Tensor


def as_tuple(x: Any) -> tuple:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def differentiable(outputs: Any) -> tuple[Tensor, ...]:
    return tuple(o for o in as_tuple(outputs) if isinstance(o, ut.Tensor) and o.requires_grad)


def array(t: Tensor) -> np.ndarray:
    """Return the elements of a tensor, those of a sparse one that it does not specify as zeros."""
    t = t.detach() if t.layout is ut.strided else t.detach().to_dense()
    t = t.resolve_conj().resolve_neg()
    if _C._is_dispatched(t):  # only its class can read the elements
        import numpy as np

        like = array(ut.empty(0, dtype=t.dtype))
        return np.array([each.item() for each in t.reshape(-1).unbind()], dtype=like.dtype).reshape(tuple(t.shape))
    return (t.to(ut.float32) if t.dtype == ut.bfloat16 else t).numpy()


def elements_of(x: Tensor) -> Tensor:
    """Return the strided tensor that holds the elements of x: its data, or the values of a sparse tensor."""
    if x.layout is ut.strided:
        return x.data
    return (x.detach()._values() if x.layout is ut.sparse_coo else x.detach().values()).data


def tensor(a: np.ndarray, like: Tensor) -> Tensor:
    import numpy as np

    a = np.asarray(a, order="C")  # unlike ascontiguousarray, keeps a scalar 0-d
    made = (ut.from_numpy(a) if a.ndim else ut.tensor(a.item(), dtype=like.dtype)).to(like.dtype)
    return like.detach().new_zeros(made.shape).copy_(made) if _C._is_dispatched(like) else made  # of the class of `like`


def _values(outputs: list[Tensor]) -> list[np.ndarray]:
    """Return copies of the outputs as arrays, so that an output that aliases an input does not change with it."""
    return [array(o).copy().reshape(-1) for o in outputs]


def _tensors(fn: Callable[..., Any], inputs: tuple) -> list[Tensor]:
    return [o for o in as_tuple(fn(*inputs)) if isinstance(o, ut.Tensor)]


def _check_alike(a: Tensor, b: Tensor, eps: float, index: str) -> None:
    """Raise if an output has another shape or dtype at another point: it then has no slope."""
    for what in ("shape", "dtype"):
        first, second = getattr(a, what), getattr(b, what)
        if first != second:
            raise AssertionError(
                f"Expected `func` to return outputs with the same {what} when inputs are perturbed {index}by {eps}, but got: "
                f"{what}s {first} and {second}."
            )


def slopes(fn: Callable[..., Any], inputs: tuple, x: Tensor, direction: np.ndarray, eps: float, index: str = "") -> list[np.ndarray]:
    """Return the central difference of every output as x moves along `direction`. Modifies x in place, and restores it.

    `index` says in an error which element of x moves.
    """
    content = elements_of(x)
    start = array(content).copy()
    if x.layout is not ut.strided:
        from undertow.sparse._gradcheck import moved_values

        direction = array(moved_values(x, tensor(direction, x)))
    seen: list[list[Tensor]] = []

    def moved(step: float) -> list[np.ndarray]:
        with ut.no_grad():
            content.copy_(tensor(start + step * direction.astype(start.dtype), x))
        seen.append(_tensors(fn, inputs))
        return _values(seen[-1])

    try:
        above, below = moved(eps), moved(-eps)
    finally:
        with ut.no_grad():
            content.copy_(tensor(start, x))
    for a, b in zip(*seen, strict=True):
        _check_alike(a, b, eps, index)
    return [(a - b) / (2 * eps) for a, b in zip(above, below, strict=True)]


def units(x: Tensor) -> Iterator[np.ndarray]:
    import numpy as np

    for i in range(x.numel()):
        unit = np.zeros(x.numel())
        unit[i] = 1
        yield unit.reshape(tuple(x.shape))


def numerical_jacobians(fn: Callable[..., Any], inputs: tuple, x: Tensor, eps: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return, for every output, the slopes along the real and the imaginary unit vectors of x, each of shape (numel of x, numel of output)."""
    import numpy as np

    at = [f"on index {tuple(map(int, i))} " for i in np.ndindex(tuple(x.shape))]
    real = [slopes(fn, inputs, x, unit, eps, i) for unit, i in zip(units(x), at, strict=True)]
    imaginary = [slopes(fn, inputs, x, unit * 1j, eps, i) for unit, i in zip(units(x), at, strict=True)] if x.is_complex() else []
    sizes = [o.numel() for o in _tensors(fn, inputs)]
    count = len(sizes)

    def rows(found: list[list[np.ndarray]], k: int) -> np.ndarray:
        return np.stack([f[k] for f in found]) if found else np.zeros((0, sizes[k]))

    return [(rows(real, k), rows(imaginary, k) if imaginary else np.zeros((x.numel(), sizes[k]))) for k in range(count)]


def random_units(rng: np.random.Generator, t: Tensor) -> list[np.ndarray]:
    """Return random non-negative unit vectors: one, or for a complex tensor one each for its real and imaginary parts."""
    import numpy as np

    found = [np.asarray(rng.random(tuple(t.shape))) for _ in range(2 if t.is_complex() else 1)]
    return [a / max(float(np.sqrt(np.sum(a * a))), 1e-30) for a in found]


def all_specified(x: Any) -> Any:
    """Return a sparse input with values at all of its indices, any other input as it is."""
    if not isinstance(x, ut.Tensor) or x.layout is ut.strided:
        return x
    from undertow.sparse import _convert

    return _convert.all_specified(x).requires_grad_(x.requires_grad)


def within(x: Tensor, directions: list[np.ndarray]) -> list[np.ndarray]:
    """Return directions that are zero at the elements that a sparse input does not specify."""
    if x.layout is ut.strided:
        return directions
    from undertow.sparse._gradcheck import specified

    mask = specified(x)
    return [d * mask for d in directions]
