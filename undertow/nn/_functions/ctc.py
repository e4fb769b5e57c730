"""Connectionist temporal classification with torch's signature."""

from __future__ import annotations

import undertow
from undertow._C import Tensor, _ops
from undertow._override import overridable
from undertow.nn._reduction import number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__: list[str] = ["ctc_loss"]


def _numbers(lengths: Tensor | Sequence[int], name: str) -> list[int]:
    if not isinstance(lengths, Tensor):
        return list(lengths)
    if lengths.is_floating_point() or lengths.is_complex():
        raise RuntimeError(f"{name} must be integral, got {lengths.dtype}")
    return lengths.reshape(-1).tolist()


@overridable
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Compute the negative log probability of each target, summed over all its alignments with log_probs (steps, batch, classes).

    As in torch, the gradient is that with respect to the scores before log_softmax.

    >>> import undertow as ut
    >>> ctc_loss(ut.full((2, 1, 2), -0.6931), ut.tensor([[1]]), [2], [1])
    tensor(0.2876)
    """
    kind = number(reduction)
    has_batch = log_probs.dim() == 3
    if not has_batch:
        log_probs, targets = log_probs.unsqueeze(1), targets.unsqueeze(0)
    inputs, labels = _numbers(input_lengths, "input_lengths"), _numbers(target_lengths, "target_lengths")
    loss = _ops["_ctc_loss"](log_probs, targets, inputs, labels, blank, zero_infinity)[0]
    if zero_infinity:
        loss = undertow.where(loss == float("inf"), 0.0, loss)
    if kind == 1:
        counts = undertow.tensor(labels, dtype=loss.dtype).clamp_min(1)
        return (loss / counts).mean()
    if kind == 2:
        return loss.sum()
    return loss if has_batch else loss.squeeze(0)
