"""Pruning: set elements of parameters to zero with a mask that is stored next to the original."""

from __future__ import annotations

from collections.abc import Iterable

import undertow
from undertow._C import Tensor
from undertow.nn.utils._prune_methods import (
    BasePruningMethod,
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    PruningContainer,
    RandomStructured,
    RandomUnstructured,
    _compute_nparams_toprune,  # noqa: F401 (torch has these three here, and programs use them)
    _validate_pruning_amount,  # noqa: F401
    _validate_pruning_amount_init,  # noqa: F401
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from undertow.nn.modules.module import Module

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


def identity(module: Module, name: str) -> Module:
    """Add a mask that prunes nothing."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: int | float) -> Module:
    """Prune random elements: a number or a fraction of them."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: int | float, importance_scores: Tensor | None = None) -> Module:
    """Prune the elements with the smallest absolute values, or the lowest importance scores.

    >>> import undertow as ut
    >>> layer = ut.nn.utils.prune.l1_unstructured(ut.nn.Linear(4, 1), "weight", amount=3)
    >>> int((layer.weight == 0).sum()), sorted(layer.state_dict())
    (3, ['bias', 'weight_mask', 'weight_orig'])
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: int | float, dim: int) -> Module:
    """Prune random channels along one dimension."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module,
    name: str,
    amount: int | float,
    n: int | float | Literal["fro", "nuc"],
    dim: int,
    importance_scores: Tensor | None = None,
) -> Module:
    """Prune the channels along one dimension with the smallest n-norms."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(parameters: Any, pruning_method: Any, importance_scores: dict[tuple[Any, str], Tensor] | None = None, **kwargs: Any) -> None:
    """Prune elements of several parameters, given as (module, name), as if they were one tensor."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    parameters = list(parameters)
    scores = importance_scores if importance_scores is not None else {}
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    both = undertow.cat([scores.get((m, n), getattr(m, n)).detach().reshape(-1) for m, n in parameters])
    held = undertow.cat([getattr(m, n + "_mask", undertow.ones_like(getattr(m, n))).detach().reshape(-1) for m, n in parameters])
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of type {method.PRUNING_TYPE}'
        )
    mask = container.compute_mask(both, held)
    at = 0
    for module, name in parameters:
        t = getattr(module, name)
        custom_from_mask(module, name, mask[at : at + t.numel()].view_as(t))
        at += t.numel()


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune with a given mask."""
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: Module, name: str) -> Module:
    """Make a pruned parameter an ordinary one again; pruned elements stay zero."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Return True if any parameter of the module is pruned."""
    return any(isinstance(hook, BasePruningMethod) for m in module.modules() for hook in m._forward_pre_hooks.values())
