"""L-BFGS, with a strong-Wolfe line search.

Results of dot products remain tensors of the parameters' dtype, as in torch: the line search depends on rounded numbers, so different
rounding would lead to different steps.
"""

from __future__ import annotations

import undertow
from undertow._C import Tensor
from undertow.optim._elementwise import check_option
from undertow.optim.optimizer import Optimizer, _number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["LBFGS"]


def _cubic_minimum(x1: Any, f1: float, g1: Tensor, x2: Any, f2: float, g2: Tensor, bounds: tuple[Any, Any] | None = None) -> Any:
    """Return the minimiser, within bounds, of the cubic with these values and slopes at two points."""
    low, high = bounds if bounds is not None else (min(x1, x2), max(x1, x2))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1 * d1 - g1 * g2
    if square < 0:
        return (low + high) / 2.0
    d2 = square.sqrt()
    if x1 <= x2:
        at = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        at = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(at, low), high)


def _strong_wolfe(
    evaluate: Callable[..., tuple[float, Tensor]],
    x: Any,
    t: Any,
    d: Tensor,
    f: float,
    g: Tensor,
    slope: Tensor,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance: float = 1e-9,
    most: int = 25,
) -> tuple[float, Tensor, Any, int]:
    """Find a step along d that satisfies the strong Wolfe conditions; return (f, gradient, step, evaluations)."""
    d_size = d.abs().max()
    g = g.clone(memory_format=undertow.contiguous_format)
    f_new, g_new = evaluate(x, t, d)
    evaluations = 1
    slope_new = g_new.dot(d)
    before = (0.0, f, g, slope)
    done = False
    tried = 0
    bracket: list[tuple[Any, float, Tensor, Tensor]] = []
    while tried < most:  # first bracket a suitable step
        if f_new > f + c1 * t * slope or (tried > 1 and f_new >= before[1]):
            bracket = [before, (t, f_new, g_new.clone(), slope_new)]
            break
        if abs(slope_new) <= -c2 * slope:
            bracket, done = [(t, f_new, g_new, slope_new)], True
            break
        if slope_new >= 0:
            bracket = [before, (t, f_new, g_new.clone(), slope_new)]
            break
        least, largest = t + 0.01 * (t - before[0]), t * 10
        now = t
        t = _cubic_minimum(before[0], before[1], before[3], t, f_new, slope_new, bounds=(least, largest))
        before = (now, f_new, g_new.clone(), slope_new)
        f_new, g_new = evaluate(x, t, d)
        evaluations += 1
        slope_new = g_new.dot(d)
        tried += 1
    if tried == most:
        bracket = [(0.0, f, g, slope), (t, f_new, g_new, slope_new)]
    slow = False
    low, high = (0, -1) if bracket[0][1] <= bracket[-1][1] else (1, 0)
    while not done and tried < most:  # then narrow the bracket
        if abs(bracket[1][0] - bracket[0][0]) * d_size < tolerance:
            break
        t = _cubic_minimum(bracket[0][0], bracket[0][1], bracket[0][3], bracket[1][0], bracket[1][1], bracket[1][3])
        right, left = max(bracket[0][0], bracket[1][0]), min(bracket[0][0], bracket[1][0])
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            if slow or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                slow = False
            else:
                slow = True
        else:
            slow = False
        f_new, g_new = evaluate(x, t, d)
        evaluations += 1
        slope_new = g_new.dot(d)
        tried += 1
        point = (t, f_new, g_new.clone(), slope_new)
        if f_new > f + c1 * t * slope or f_new >= bracket[low][1]:
            bracket[high] = point
            low, high = (0, 1) if bracket[0][1] <= bracket[1][1] else (1, 0)
        else:
            if abs(slope_new) <= -c2 * slope:
                done = True
            elif slope_new * (bracket[high][0] - bracket[low][0]) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = point
    t, f_new, g_new, _ = bracket[low]
    return f_new, g_new, t, evaluations


class LBFGS(Optimizer):
    """Limited-memory BFGS over all parameters at once; `step` takes a closure that computes the loss and its gradients.

    `line_search_fn` is None or 'strong_wolfe'.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_option("lr", lr)
        super().__init__(
            params,
            {
                "lr": lr,
                "max_iter": max_iter,
                "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
                "tolerance_grad": tolerance_grad,
                "tolerance_change": tolerance_change,
                "history_size": history_size,
                "line_search_fn": line_search_fn,
            },
        )
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def _real(self, t: Tensor) -> Tensor:
        return undertow.view_as_real(t) if t.is_complex() else t

    def _gather_flat_grad(self) -> Tensor:
        grads = [undertow.zeros_like(p) if p.grad is None else p.grad.to_dense() for p in self._params]
        return undertow.cat([self._real(g).reshape(-1) for g in grads])

    def _add(self, t: Any, direction: Tensor) -> None:
        offset = 0
        for p in self._params:
            flat = self._real(p)
            n = flat.numel()
            flat.add_(direction[offset : offset + n].view_as(flat), alpha=t)
            offset += n

    def _evaluate(self, closure: Callable[[], Any], x: list[Tensor], t: Any, d: Tensor) -> tuple[float, Tensor]:
        self._add(t, d)
        loss = float(closure())
        grad = self._gather_flat_grad()
        for p, before in zip(self._params, x, strict=True):
            p.copy_(before)
        return loss, grad

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]  # as in torch: it needs a closure
        """Perform up to max_iter iterations; `closure` is called in each."""
        with undertow.no_grad():
            return self._step(undertow.enable_grad()(closure))

    def _step(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        lr, tolerance_change = group["lr"], group["tolerance_change"]
        if isinstance(lr, Tensor):
            lr = lr.squeeze()  # one element, of any number of dimensions
        state: Any = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        original = closure()
        loss = float(original)
        evaluations = 1
        state["func_evals"] += 1
        grad = self._gather_flat_grad()
        if _number(grad.abs().max()) <= group["tolerance_grad"]:
            return original
        d, t = state.get("d"), state.get("t")
        old_dirs, old_steps, ro = state.get("old_dirs"), state.get("old_stps"), state.get("ro")
        diagonal, previous, previous_loss = state.get("H_diag"), state.get("prev_flat_grad"), state.get("prev_loss")
        iterations = 0
        while iterations < group["max_iter"]:
            iterations += 1
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                d, old_dirs, old_steps, ro, diagonal = grad.neg(), [], [], [], 1
            else:
                y, s = grad.sub(previous), d.mul(t)
                ys = y.dot(s)
                if ys > 1e-10:
                    if len(old_dirs) == group["history_size"]:
                        old_dirs.pop(0), old_steps.pop(0), ro.pop(0)
                    old_dirs.append(y), old_steps.append(s), ro.append(1.0 / ys)
                    diagonal = ys / y.dot(y)
                d = self._direction(grad, old_dirs, old_steps, ro, diagonal, state.setdefault("al", [None] * group["history_size"]))
            previous = grad.clone(memory_format=undertow.contiguous_format)
            previous_loss = loss
            t = min(1.0, 1.0 / grad.abs().sum()) * lr if state["n_iter"] == 1 else lr
            slope = grad.dot(d)
            if slope > -tolerance_change:
                break
            used = 0
            if group["line_search_fn"] is not None:
                if group["line_search_fn"] != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                x = [p.clone(memory_format=undertow.contiguous_format) for p in self._params]
                most = min(25, group["max_eval"] - evaluations)  # the search may use the remaining evaluations, and at least one
                loss, grad, t, used = _strong_wolfe(lambda x, t, d: self._evaluate(closure, x, t, d), x, t, d, loss, grad, slope, most=most)
                self._add(t, d)
                converged = _number(grad.abs().max()) <= group["tolerance_grad"]
            else:
                self._add(t, d)
                converged = False
                if iterations != group["max_iter"]:
                    loss = float(closure())
                    grad = self._gather_flat_grad()
                    converged = _number(grad.abs().max()) <= group["tolerance_grad"]
                    used = 1
            evaluations += used
            state["func_evals"] += used
            if iterations == group["max_iter"] or evaluations >= group["max_eval"] or converged:
                break
            if _number(d.mul(t).abs().max()) <= tolerance_change or abs(loss - previous_loss) < tolerance_change:
                break
        state.update(
            d=d,
            t=t,
            old_dirs=old_dirs,
            old_stps=old_steps,
            ro=ro,
            H_diag=diagonal,
            prev_flat_grad=previous,
            prev_loss=previous_loss,
        )
        return original

    @staticmethod
    def _direction(grad: Tensor, dirs: list[Tensor], steps: list[Tensor], ro: list[Tensor], diagonal: Any, alphas: list[Any]) -> Tensor:
        """Two-loop recursion: return the approximate inverse Hessian times the negative gradient. Stores its factors in `alphas`."""
        q = grad.neg()
        for i in range(len(dirs) - 1, -1, -1):
            alphas[i] = steps[i].dot(q) * ro[i]
            q.add_(dirs[i], alpha=-alphas[i])
        r = q.mul(diagonal)
        for i in range(len(dirs)):
            r.add_(steps[i], alpha=alphas[i] - dirs[i].dot(r) * ro[i])
        return r
