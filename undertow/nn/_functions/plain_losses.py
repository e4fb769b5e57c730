"""Losses as operators of the package itself (`torch.kl_div`, `torch.ctc_loss`): reductions are integers without a default.

Programs usually use those of `nn.functional`; older layers and converted graphs call these.
"""

from __future__ import annotations

from undertow.nn import functional as F

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from undertow import Tensor

_REDUCTIONS = ("none", "mean", "sum")
_PARAMETERS: dict[str, tuple[str, dict[str, Any]]] = {
    "cosine_embedding_loss": ("input1 input2 target margin reduction", {"margin": 0.0}),
    "ctc_loss": ("log_probs targets input_lengths target_lengths blank reduction zero_infinity", {"blank": 0, "zero_infinity": False}),
    "hinge_embedding_loss": ("input target margin reduction", {"margin": 1.0}),
    "kl_div": ("input target reduction log_target", {"log_target": False}),
    "margin_ranking_loss": ("input1 input2 target margin reduction", {"margin": 0.0}),
    "poisson_nll_loss": ("input target log_input full eps reduction", {}),
    "triplet_margin_loss": ("anchor positive negative margin p eps swap reduction", {"margin": 1.0, "p": 2.0, "eps": 1e-6, "swap": False}),
}


def _operator(name: str) -> Callable[..., Any]:
    names, defaults = _PARAMETERS[name]

    def loss(*args: Any, **kwargs: Any) -> Any:
        given = {"reduction": 0, **defaults, **dict(zip(names.split(), args, strict=False)), **kwargs}
        if len(args) > len(names.split()) or not isinstance(given["reduction"], int) or not 0 <= given["reduction"] < 3:
            raise TypeError(f"{name}({names.replace(' ', ', ')}): reduction must be 0 (none), 1 (mean) or 2 (sum); got {given['reduction']!r}")
        return getattr(F, name)(**{**given, "reduction": _REDUCTIONS[given["reduction"]]})

    loss.__name__ = loss.__qualname__ = name
    loss.__doc__ = f"See `nn.functional.{name}`."
    return loss


if TYPE_CHECKING:
    from undertow.nn.functional import bilinear as bilinear

    def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0) -> Tensor: ...
    def ctc_loss(
        log_probs: Tensor,
        targets: Tensor,
        input_lengths: Tensor | Sequence[int],
        target_lengths: Tensor | Sequence[int],
        blank: int = 0,
        reduction: int = 0,
        zero_infinity: bool = False,
    ) -> Tensor: ...
    def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor: ...
    def kl_div(input: Tensor, target: Tensor, reduction: int = 0, log_target: bool = False) -> Tensor: ...
    def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0) -> Tensor: ...
    def poisson_nll_loss(
        input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: int = 0
    ) -> Tensor: ...
    def triplet_margin_loss(
        anchor: Tensor,
        positive: Tensor,
        negative: Tensor,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        reduction: int = 0,
    ) -> Tensor: ...
else:
    cosine_embedding_loss = _operator("cosine_embedding_loss")
    ctc_loss = _operator("ctc_loss")
    hinge_embedding_loss = _operator("hinge_embedding_loss")
    kl_div = _operator("kl_div")
    margin_ranking_loss = _operator("margin_ranking_loss")
    poisson_nll_loss = _operator("poisson_nll_loss")
    triplet_margin_loss = _operator("triplet_margin_loss")
    bilinear = F.bilinear

__all__: list[str] = [*_PARAMETERS, "bilinear"]
