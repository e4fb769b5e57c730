"""`stack_module_state`: stack the parameters of several modules, for vmap over an ensemble."""

from __future__ import annotations

import undertow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow import Tensor


def _stacked(name: str, tensors: list[Tensor]) -> Tensor:
    wants = {t.requires_grad for t in tensors}
    if len(wants) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    return undertow.stack([t.detach() for t in tensors]).requires_grad_(wants.pop())


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Stack the parameters and the buffers of modules of one class, by name, along a new first dimension.

    The stacked parameters are leaves, so they can be trained.

    >>> import undertow as ut
    >>> models = [ut.nn.Linear(3, 2) for _ in range(4)]
    >>> params, buffers = ut.func.stack_module_state(models)
    >>> params["weight"].shape
    undertow.Size([4, 2, 3])
    >>> call = lambda p, x: ut.func.functional_call(models[0], p, (x,))
    >>> ut.vmap(call, in_dims=(0, None))(params, ut.ones(5, 3)).shape
    undertow.Size([4, 5, 2])
    """
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    first = models[0]
    if not isinstance(first, undertow.nn.Module):
        raise TypeError(f"stack_module_state: Expected modules, got {type(first).__name__}.")
    if any(getattr(m, "training", None) != getattr(first, "training", None) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(first) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parts = []
    for listing in ("named_parameters", "named_buffers"):
        each = [dict(getattr(m, listing)()) for m in models]
        parts.append({name: _stacked(name, [d[name] for d in each]) for name in each[0]})
    return parts[0], parts[1]
