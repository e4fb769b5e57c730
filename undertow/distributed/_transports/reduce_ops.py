"""ReduceOp, and reductions in rank order on this process, for what a transport cannot reduce itself."""

from __future__ import annotations

import os

import undertow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from undertow import Tensor


class ReduceOp:
    """The reduction of a collective: `ReduceOp.SUM`, `AVG`, `PRODUCT`, `MIN`, `MAX`, `BAND`, `BOR`, `BXOR`, or a sum of scaled tensors.

    >>> ReduceOp.SUM == ReduceOp(ReduceOp.SUM), str(ReduceOp.MAX)
    (True, 'RedOpType.MAX')
    """

    RedOpType: type[ReduceOp]
    SUM: ReduceOp
    AVG: ReduceOp
    PRODUCT: ReduceOp
    MIN: ReduceOp
    MAX: ReduceOp
    BAND: ReduceOp
    BOR: ReduceOp
    BXOR: ReduceOp
    PREMUL_SUM: ReduceOp
    name: str
    value: int
    factor: Any

    def __init__(self, op: ReduceOp, factor: Any = None) -> None:
        if not isinstance(op, ReduceOp):
            raise TypeError(f"ReduceOp: expected a ReduceOp, such as ReduceOp.SUM, but got {op!r}")
        self.name, self.value, self.factor = op.name, op.value, op.factor if factor is None else factor

    @property
    def op(self) -> ReduceOp:
        """The kind of reduction, without its factor."""
        return getattr(ReduceOp, self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReduceOp) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __int__(self) -> int:
        return self.value

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"

    def __repr__(self) -> str:
        return f"<RedOpType.{self.name}: {self.value}>"

    def __reduce__(self) -> Any:
        return _named, (self.name, self.factor)


def _named(name: str, factor: Any) -> ReduceOp:
    return ReduceOp(getattr(ReduceOp, name), factor) if factor is not None else getattr(ReduceOp, name)


for _value, _name in enumerate(("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "PREMUL_SUM")):
    _op = object.__new__(ReduceOp)
    _op.name, _op.value, _op.factor = _name, _value, None
    setattr(ReduceOp, _name, _op)
ReduceOp.RedOpType = ReduceOp  # torch's name for the type of its members


def _make_nccl_premul_sum(factor: float | Tensor) -> ReduceOp:
    """Return the reduction that multiplies each rank's tensor by `factor` before the sum."""
    return ReduceOp(ReduceOp.PREMUL_SUM, factor)


def deterministic() -> bool:
    """Return True if reductions must be in rank order, so that results do not depend on the transport's algorithm."""
    return os.environ.get("UNDERTOW_DETERMINISTIC", "0") not in ("", "0")


def check_reduction(op: Any, tensor: Tensor, call: str) -> ReduceOp:
    """Return `op` as a ReduceOp; raise torch's error if it is not defined for the tensor's dtype."""
    if not isinstance(op, ReduceOp):
        raise TypeError(f"{call}(): incompatible function arguments: op must be a ReduceOp, but got {type(op).__name__}")
    if op is ReduceOp.SUM:  # every dtype has sums
        return op
    if op in _BITWISE and (tensor.is_floating_point() or tensor.is_complex()):
        raise RuntimeError(f"Cannot use ReduceOp.{op.name} with non-integral dtype: {call} got {tensor.dtype}")
    if op in (ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT) and tensor.is_complex():
        raise ValueError(f"{call} does not support {op} on complex tensors")
    if op == ReduceOp.AVG and tensor.dtype == undertow.bool:
        raise RuntimeError(f"Cannot use ReduceOp.AVG with {tensor.dtype}: {call} needs numbers")
    if op == ReduceOp.PREMUL_SUM and op.factor is None:
        raise ValueError(f"{call}: ReduceOp.PREMUL_SUM needs a factor; make it with _make_nccl_premul_sum(factor)")
    return op


_BITWISE = (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)
_SCALED = (ReduceOp.AVG.value, ReduceOp.PREMUL_SUM.value)  # sums between `before` and `after`
_INTO: dict[ReduceOp, Callable[[Tensor, Tensor], Any]] = {
    ReduceOp.SUM: lambda total, part: total.add_(part),
    ReduceOp.PRODUCT: lambda total, part: total.mul_(part),
    ReduceOp.MIN: lambda total, part: undertow.minimum(total, part, out=total),
    ReduceOp.MAX: lambda total, part: undertow.maximum(total, part, out=total),
    ReduceOp.BAND: lambda total, part: total.bitwise_and_(part),
    ReduceOp.BOR: lambda total, part: total.bitwise_or_(part),
    ReduceOp.BXOR: lambda total, part: total.bitwise_xor_(part),
}


def summed_as(op: ReduceOp) -> ReduceOp:
    """Return the reduction between `before` and `after`: averages and scaled sums are sums."""
    return ReduceOp.SUM if op.value in _SCALED else op


def before(op: ReduceOp, tensor: Tensor) -> Tensor:
    """Return what a rank contributes to the reduction."""
    return (tensor * op.factor).to(tensor.dtype) if op.value == ReduceOp.PREMUL_SUM.value else tensor


def after(op: ReduceOp, tensor: Tensor, size: int) -> None:
    """Finish the reduction of `size` ranks in place."""
    if op.value == ReduceOp.AVG.value:
        tensor.div_(size, rounding_mode=None if tensor.is_floating_point() or tensor.is_complex() else "trunc")


def reduce_rows(rows: Tensor, op: ReduceOp) -> Tensor:
    """Reduce the rows in order, into the first one, with one rounding per row in the tensor's dtype; return it."""
    total, into = rows[0], _INTO[op]
    for part in rows[1:]:
        into(total, part)
    return total
