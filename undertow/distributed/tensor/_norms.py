"""The norm of gradients of which each process has a part."""

from __future__ import annotations

import math

import undertow
from undertow import distributed
from undertow.distributed.tensor._sharded import sharding_of
from undertow.nn.utils.clip_grad import get_total_norm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor


def total_norm(parameters: list[Tensor], norm_type: float, error_if_nonfinite: bool) -> Tensor:
    """Return the norm of all gradients: parts count on every process of their group, other gradients once."""
    by_groups: dict[tuple[int, ...], tuple[list[Any], list[Tensor]]] = {}  # gradients that are divided among the same groups
    whole: list[Tensor] = []
    for parameter in parameters:
        sharding = sharding_of(parameter)
        if sharding is None:
            whole += [parameter.grad] if parameter.grad is not None else []
        else:
            groups = sharding.groups()
            grads = by_groups.setdefault(tuple(map(id, groups)), (groups, []))[1]
            grads += [parameter.grad] if parameter.grad is not None else []
    norms = [get_total_norm(whole, norm_type)] if whole else []
    for groups, grads in by_groups.values():
        norm = get_total_norm(grads, norm_type).double()
        for group in groups:
            norm = _over_group(norm, float(norm_type), group)
        norms.append(norm)
    total = get_total_norm([norm.double() for norm in norms], norm_type, error_if_nonfinite)
    return total.to(next((p.grad.dtype for p in parameters if p.grad is not None), undertow.float32))


def _over_group(norm: Tensor, norm_type: float, group: Any) -> Tensor:
    if math.isinf(norm_type):
        distributed.all_reduce(norm, distributed.ReduceOp.MAX, group)
        return norm
    with undertow.no_grad():
        power = norm**norm_type
        distributed.all_reduce(power, group=group)
        return power ** (1.0 / norm_type)
