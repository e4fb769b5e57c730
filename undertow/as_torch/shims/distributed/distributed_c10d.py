"""`torch.distributed.distributed_c10d`: the module in which torch defines its groups and collectives, and older or private names of them."""

from __future__ import annotations

from undertow import distributed
from undertow.distributed._groups import groups as _groups
from undertow.distributed._groups.groups import ProcessGroup
from undertow.distributed._transports.reduce_ops import ReduceOp
from undertow.distributed._transports.reduce_ops import _make_nccl_premul_sum as _make_nccl_premul_sum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_own = ["_get_default_group", "_get_default_store", "_make_nccl_premul_sum", "_rank_not_in_group", "reduce_op", "supports_complex"]
__all__ = [*dir(distributed), *_own]

reduce_op = ReduceOp  # torch's name from before ReduceOp
_rank_not_in_group = _groups.outside


def _get_default_group() -> ProcessGroup:
    """Return the group of all processes."""
    return _groups.default_group()


def _get_default_store() -> Any:
    """Return the store that the default group was made with."""
    return _groups.default_group().get_group_store()


def supports_complex(reduceOp: ReduceOp) -> bool:
    """Return True if a reduction is defined for complex numbers."""
    unordered = (ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PRODUCT, ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)
    return reduceOp not in unordered


def __getattr__(name: str) -> Any:
    return getattr(distributed, name)
