"""Adaptive softmax over a large number of classes, with the rare ones in clusters."""

from __future__ import annotations

from typing import NamedTuple

import undertow
from undertow._C import Tensor
from undertow.nn import functional as F
from undertow.nn.modules.container import ModuleList, Sequential
from undertow.nn.modules.linear import Linear
from undertow.nn.modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """log_softmax over `n_classes` classes sorted by frequency: a head for the frequent classes, and clusters of the others.

    Each cluster's projection is `div_value` times smaller than the previous one (Grave et al. 2017).
    """

    in_features: int
    n_classes: int
    cutoffs: list[int]
    div_value: float
    head_bias: bool
    shortlist_size: int
    n_clusters: int
    head_size: int
    head: Linear
    tail: ModuleList

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(cutoffs)
            or min(cutoffs) <= 0
            or max(cutoffs) > n_classes - 1
            or len(set(cutoffs)) != len(cutoffs)
            or any(int(c) != c for c in cutoffs)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, "
                "where each value is between 1 and n_classes-1"
            )
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, device=device, dtype=dtype)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            hidden = int(in_features // (div_value ** (i + 1)))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, hidden, bias=False, device=device, dtype=dtype),
                    Linear(hidden, size, bias=False, device=device, dtype=dtype),
                )
            )

    def reset_parameters(self) -> None:
        """Initialize all weights."""
        self.head.reset_parameters()
        for first, second in self.tail:  # type: ignore[attr-defined]  # each is a Sequential of two
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """Return (the log probability of each target, the loss: minus their mean)."""
        dims = target_.dim()
        if dims == 1:
            if input_.size(0) != target_.size(0):
                raise RuntimeError("Input and target should have the same size in the batch dimension.")
            if input_.dim() != 2:
                raise RuntimeError(f"1D target tensor expects 2D input tensors, but found inputs with size {input_.size()}")
        elif dims == 0:
            if input_.dim() != 1:
                raise RuntimeError(f"0D target tensor expects 1D input tensors, but found inputs with size {input_.size()}")
        else:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        input, target = (input_, target_) if dims else (input_.unsqueeze(0), target_.unsqueeze(0))
        output, place, used = input.new_zeros(target.size(0)), undertow.zeros_like(target), 0
        for i, (low, high) in enumerate(zip([0, *self.cutoffs], self.cutoffs, strict=False)):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(-1)
            if rows.numel() == 0:
                continue
            used += rows.numel()
            if i == 0:
                place = place.index_copy(0, rows, target[rows])
                continue
            logs = F.log_softmax(self.tail[i - 1](input.index_select(0, rows)), dim=1)
            relative = target[rows] - low
            place = place.index_fill(0, rows, self.shortlist_size + i - 1)
            output = output.index_copy(0, rows, logs.gather(1, relative.unsqueeze(1)).squeeze(1))
        if used != target.numel():
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], "
                f"but values in range [{target.min().item()}, {target.max().item()}] were found. "
            )
        head = F.log_softmax(self.head(input), dim=1)
        output = output + head.gather(1, place.unsqueeze(1)).squeeze()
        loss = (-output).mean()
        return _ASMoutput(output if dims else output.squeeze(0), loss)

    def _all_log_probs(self, input: Tensor, head: Tensor) -> Tensor:
        logs = F.log_softmax(head, dim=1)
        parts = [logs[:, : self.shortlist_size]]
        for i in range(self.n_clusters):
            cluster = F.log_softmax(self.tail[i](input), dim=1)
            parts.append(cluster + logs[:, self.shortlist_size + i].unsqueeze(1))
        return undertow.cat(parts, 1)

    def log_prob(self, input: Tensor) -> Tensor:
        """Return the log probability of every class."""
        return self._all_log_probs(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """Return the most probable class of each row; a cluster is evaluated only if the head selects it."""
        head = self.head(input)
        best = head.argmax(dim=1)
        rare = best >= self.shortlist_size
        if rare.any():
            rows = rare.nonzero().squeeze(-1)
            logs = self._all_log_probs(input.index_select(0, rows), head.index_select(0, rows))
            best = best.index_copy(0, rows, logs.argmax(dim=1))
        return best
