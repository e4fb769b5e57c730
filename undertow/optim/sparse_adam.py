"""Adam for gradients that have few rows."""

from __future__ import annotations

import math

import undertow
from undertow.optim._elementwise import check_option
from undertow.optim.optimizer import Optimizer, _number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from undertow import Tensor

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam that updates parameters and means only at the indices of a sparse gradient, such as that of `nn.Embedding(sparse=True)`.

    >>> import undertow as ut
    >>> table = ut.nn.Embedding(4, 2, sparse=True)
    >>> before = table.weight.detach().clone()
    >>> optimizer = ut.optim.SparseAdam(table.parameters(), lr=0.1)
    >>> table(ut.tensor([1, 3])).sum().backward()
    >>> optimizer.step()
    >>> (table.weight != before).any(1)
    tensor([False,  True, False,  True])
    """

    def __init__(self, params: Any, lr: Any = 1e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, maximize: bool = False) -> None:
        check_option("lr", lr)
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_option("betas", betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        for what, says, found in (
            ("Sparse", "SparseAdam requires dense parameter tensors", self._where(lambda p: p.is_sparse)),
            ("Complex", "SparseAdam does not support complex parameters", self._where(lambda p: p.is_complex())),
        ):
            if found:
                raise ValueError(f"{what} params at indices {found}: {says}")

    def _where(self, test: Callable[[Tensor], bool]) -> list[list[int]]:
        return [[i, k] for i, group in enumerate(self.param_groups) for k, p in enumerate(group["params"]) if test(p)]

    @undertow.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Perform one step; return the result of `closure`, if given."""
        loss = self._loss_of(closure)
        for group in self.param_groups:
            for p in group["params"]:
                g = p.grad
                if g is None:
                    continue
                if not g.is_sparse:
                    raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
                state = self.state[p]
                if not state:
                    state["step"] = 0
                    state["exp_avg"] = undertow.zeros_like(p, memory_format=undertow.preserve_format)
                    state["exp_avg_sq"] = undertow.zeros_like(p, memory_format=undertow.preserve_format)
                state["step"] += 1
                self._update(p, -g if group["maximize"] else g, state, group)
        return loss

    def _update(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        g = g.coalesce()  # the update is not linear, so every index must occur once
        values = g._values()
        if not values.numel():
            return
        at, size, step = g._indices(), g.shape, state["step"]
        beta1, beta2 = group["betas"]
        mean, square = state["exp_avg"], state["exp_avg_sq"]

        def rows(v: Tensor) -> Tensor:
            return undertow.sparse_coo_tensor(at, v, size, is_coalesced=True)

        old_mean, old_square = mean.sparse_mask(g)._values(), square.sparse_mask(g)._values()
        change = values.sub(old_mean).mul_(1 - beta1)
        mean.add_(rows(change))
        change_square = values.pow(2).sub_(old_square).mul_(1 - beta2)
        square.add_(rows(change_square))
        numerator = change.add_(old_mean)
        denominator = change_square.add_(old_square).sqrt_().add_(group["eps"])
        size_of_step = _number(group["lr"]) * math.sqrt(1 - beta2**step) / (1 - beta1**step)
        p.add_(rows(-size_of_step * numerator.div_(denominator)))
