"""gradcheck's batched checks: derivatives along several directions at once must equal those along each direction."""

from __future__ import annotations

import undertow as ut
from undertow.autograd import forward_ad
from undertow.autograd._backward import grad as _grad
from undertow.autograd.gradcheck import GradcheckError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    import numpy as np

    from undertow import Tensor

_ROWS = 2


def _random(rng: np.random.Generator, t: Tensor) -> Tensor:
    """Return a few random directions of the shape of `t`, along a new first dimension."""
    import numpy as np

    values = rng.standard_normal((_ROWS, *t.shape))
    if t.is_complex():
        values = values + 1j * rng.standard_normal((_ROWS, *t.shape))
    return ut.from_numpy(np.ascontiguousarray(values)).to(t.dtype)


def _failure(what: str, output: int, input_: int, got: Tensor, expected: Tensor) -> GradcheckError:
    return GradcheckError(
        f"For output {output} and input {input_}:\n\ngradcheck or gradgradcheck failed while testing batched {what} computation.\n"
        f"Got:\n{got}\n\nExpected:\n{expected}"
    )


def _reason(failed: RuntimeError) -> str:
    if "randomness error mode" in str(failed):
        return f"vmap: We do not yet support calling random operations inside of vmap, which these checks use ({failed})"
    return str(failed)


def check_gradients(outputs: Sequence[Tensor], inputs: Sequence[Tensor], rtol: float, atol: float) -> None:
    """Compare one backward pass over a batch of cotangents with one pass per cotangent."""
    import numpy as np

    rng = np.random.default_rng(3)
    for i, o in enumerate(outputs):
        rows = _random(rng, o)
        one_by_one = [_grad(o, inputs, v, retain_graph=True, allow_unused=True) for v in rows]
        try:
            together = _grad(o, inputs, rows, retain_graph=True, allow_unused=True, is_grads_batched=True)
        except RuntimeError as failed:
            raise GradcheckError(
                f"While computing batched gradients, got: {_reason(failed)}\n\ngradcheck or gradgradcheck failed while "
                "testing batched gradient computation."
            ) from failed
        for j, (got, singles) in enumerate(zip(together, zip(*one_by_one, strict=True), strict=True)):
            if got is None:
                continue
            expected = ut.stack(list(singles))
            if not ut.allclose(got, expected, rtol, atol):
                raise _failure("gradient", i, j, got, expected)


def _pushed(func: Callable[..., Any], inputs: tuple[Any, ...], which: Tensor, tangent: Tensor) -> list[Tensor]:
    with forward_ad.dual_level():
        plain = [x.detach() if isinstance(x, ut.Tensor) else x for x in inputs]
        duals = [forward_ad.make_dual(p, tangent) if x is which else p for x, p in zip(inputs, plain, strict=True)]
        results = func(*duals)
        results = results if isinstance(results, (tuple, list)) else (results,)
        halves = [forward_ad.unpack_dual(o) for o in results if isinstance(o, ut.Tensor)]
        return [ut.zeros_like(p) if t is None else t for p, t in halves]


def check_tangents(func: Callable[..., Any], inputs: tuple[Any, ...], wanted: Sequence[Tensor], rtol: float, atol: float) -> None:
    """Compare one forward pass over a batch of tangents with one pass per tangent."""
    import numpy as np

    from undertow._vmap._api import _internal_vmap

    rng = np.random.default_rng(4)
    for j, x in enumerate(wanted):
        rows = _random(rng, x)
        one_by_one = [_pushed(func, inputs, x, t) for t in rows]

        def push(t: Tensor, x: Tensor = x) -> list[Tensor]:
            return _pushed(func, inputs, x, t)

        try:
            together = _internal_vmap(push, randomness="error")(rows)
        except RuntimeError as failed:
            raise GradcheckError(
                f"While computing batched gradients, got: {_reason(failed)}\n\ngradcheck or gradgradcheck failed while "
                "testing forward-mode batched gradient computation."
            ) from failed
        for i, (got, singles) in enumerate(zip(together, zip(*one_by_one, strict=True), strict=True)):
            expected = ut.stack(list(singles))
            if not ut.allclose(got, expected, rtol, atol):
                raise _failure("forward-mode gradient", i, j, got, expected)
