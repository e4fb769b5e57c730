"""Softmax over many classes of which few are frequent: a head for the frequent ones, and small tails for clusters of the others."""

from __future__ import annotations

from collections import namedtuple

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

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of targets, and their mean as a loss; classes must be sorted by how often they occur.

    The head has the classes below cutoffs[0] and one more output for each cluster; cluster i's tail works in
    in_features / div_value^(i+1) dimensions.

    >>> import undertow as ut
    >>> layer = ut.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[4, 10], div_value=2.0)
    >>> layer(ut.ones(3, 8), ut.tensor([0, 5, 19])).output.shape
    undertow.Size([3])
    """

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
        if len(cutoffs) == 0:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        is_sorted = all(a < b for a, b in zip(cutoffs, cutoffs[1:]))
        if not is_sorted or min(cutoffs) <= 0 or max(cutoffs) > n_classes - 1 or any(int(c) != c for c in cutoffs):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is between 1 and "
                f"n_classes-1; got {cutoffs} for {n_classes} classes"
            )
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        kind = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **kind)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            width = int(in_features // div_value ** (i + 1))
            classes = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(Sequential(Linear(in_features, width, bias=False, **kind), Linear(width, classes, bias=False, **kind)))

    def reset_parameters(self) -> None:
        """Draws all weights anew."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> Any:
        """(output, loss): the log-probability of every target, and minus their mean."""
        is_batched = target_.dim() > 0
        if target_.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if input_.dim() != (2 if is_batched else 1):
            raise RuntimeError(
                f"{target_.dim()}D target tensor expects {target_.dim() + 1}D input tensors, but found inputs with size {input_.size()}"
            )
        input, target = (input_, target_) if is_batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        if input.size(0) != target.size(0):
            raise RuntimeError(f"Input and target should have the same size in the batch dimension, got {input.size(0)} and {target.size(0)}.")
        if bool(((target < 0) | (target >= self.n_classes)).any()):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{int(target.min())}, {int(target.max())}] were found. "
            )
        # A target of the tail is in the head the output of its cluster.
        in_head = target
        output = input.new_zeros(target.size(0))
        for i in range(self.n_clusters):
            low, high = self.cutoffs[i], self.cutoffs[i + 1]
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            within = F.log_softmax(self.tail[i](input.index_select(0, rows)), dim=1)
            chosen = within.gather(1, (target[rows] - low).unsqueeze(1)).squeeze(1)
            output = output.index_add(0, rows, chosen)
            in_head = in_head.index_fill(0, rows, self.shortlist_size + i)
        output = output + F.log_softmax(self.head(input), dim=1).gather(1, in_head.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if is_batched else output.squeeze(0), loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes."""
        head = F.log_softmax(self.head(input), dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, tail in enumerate(self.tail):
            parts.append(F.log_softmax(tail(input), dim=1) + head[:, self.shortlist_size + i].unsqueeze(1))
        return undertow.cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The likeliest class of each row; a tail is looked at only where the head points to it."""
        head = self.head(input)
        best = head.argmax(dim=1)
        if bool((best >= self.shortlist_size).any()):
            rows = (best >= self.shortlist_size).nonzero().squeeze(1)
            best = best.index_copy(0, rows, self.log_prob(input[rows]).argmax(dim=1))
        return best
