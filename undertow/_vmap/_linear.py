"""Batching rules of matrix products. If only one factor is batched, the result is a single larger product."""

from __future__ import annotations

import undertow
from undertow import _C
from undertow._vmap._dispatch import batched, rule, split
from undertow._vmap._reduce import of_every_sample

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor
    from undertow._vmap._dispatch import Operator
    from undertow._vmap._levels import Level


def _check(op: Operator, left: Tensor, right: Tensor, ranks: tuple[int, int]) -> None:
    """Check the shapes of one sample: a value has more dimensions, which other operators would accept."""
    if (left.dim(), right.dim()) != ranks:
        raise RuntimeError(
            f"{op.public}: expected tensors of {ranks[0]} and {ranks[1]} dimensions, but got "
            f"{left.dim()}D and {right.dim()}D"
        )
    inner = right.shape[-2] if ranks[1] > 1 else right.shape[0]
    if left.shape[-1] != inner:
        raise RuntimeError(
            f"{op.public}: mat1 and mat2 shapes cannot be multiplied: the shapes of one sample are "
            f"{list(left.shape)} and {list(right.shape)}"
        )


def _product(left: Tensor, right: Tensor, level: Level) -> Tensor:
    """Return the values of left @ right for matrices, at least one of them batched."""
    a, a_is_batched = split(left, level)
    b, b_is_batched = split(right, level)
    if a_is_batched and b_is_batched:
        return undertow.bmm(a, b)
    if a_is_batched:  # the rows of all samples, concatenated
        rows = level.size * a.shape[1]
        return undertow.mm(a.reshape(rows, a.shape[2]), b).reshape(level.size, a.shape[1], b.shape[1])
    # The columns of all samples, concatenated.
    wide = b.transpose(0, 1).reshape(b.shape[1], level.size * b.shape[2])
    return undertow.mm(a, wide).reshape(a.shape[0], level.size, b.shape[-1]).transpose(0, 1)


@rule("mm")
def mm(op: Operator, level: Level, args: list[Any]) -> Any:
    left, right = args
    _check(op, left, right, (2, 2))
    return _product(left, right, level)


@rule("bmm")
def bmm(op: Operator, level: Level, args: list[Any]) -> Any:
    left, right = args
    _check(op, left, right, (3, 3))
    if left.shape[0] != right.shape[0]:
        raise RuntimeError(
            f"bmm: expected size for first two dimensions of batch2 tensor to be: [{left.shape[0]}, "
            f"{left.shape[2]}] but got: [{right.shape[0]}, {right.shape[1]}]."
        )
    a, b = (batched(t, level).reshape(level.size * t.shape[0], *t.shape[1:]) for t in (left, right))
    return undertow.bmm(a, b).reshape(level.size, *left.shape[:2], right.shape[2])


@rule("mv")
def mv(op: Operator, level: Level, args: list[Any]) -> Any:
    matrix, vector = args
    _check(op, matrix, vector, (2, 1))
    m, m_is_batched = split(matrix, level)
    v, v_is_batched = split(vector, level)
    if not v_is_batched:
        return undertow.mv(m.reshape(level.size * m.shape[1], m.shape[2]), v).reshape(level.size, m.shape[1])
    if not m_is_batched:
        return undertow.mm(v, m.t())
    return undertow.bmm(m, v.unsqueeze(2)).squeeze(2)


@rule("dot")
@rule("vdot")
def dot(op: Operator, level: Level, args: list[Any]) -> Any:
    left, right = args
    _check(op, left, right, (1, 1))
    a, a_is_batched = split(left, level)
    b, b_is_batched = split(right, level)
    if op.key == "vdot":
        a = a.conj()
    if a_is_batched and b_is_batched:
        return undertow.bmm(a.unsqueeze(1), b.unsqueeze(2)).reshape(level.size)
    return undertow.mv(a, b) if a_is_batched else undertow.mv(b, a)


@rule("matrices")
def matrices(op: Operator, level: Level, args: list[Any]) -> Any:
    """Rule for operators on matrices (and vectors) with leading batch dimensions; the first operand of a sample must have none."""
    tensors = [a for a in args if isinstance(a, _C.Tensor)]
    most = max(t.dim() for t in tensors)
    if tensors[0].dim() != 2 or (most > 2 and min(t.dim() for t in tensors) < 2):
        return NotImplemented

    def aligned(t: Tensor) -> Tensor:
        """With its batch before the leading dimensions that other operands of a sample have."""
        whole = batched(t, level)
        return whole if t.dim() == most or most <= 2 else whole.reshape(level.size, *[1] * (most - t.dim()), *t.shape)

    results = op(*(aligned(a) if isinstance(a, _C.Tensor) else a for a in args))
    return of_every_sample(results, level)


def _added(op: Operator, args: list[Any], product: Tensor) -> Any:
    """Return beta * self + alpha * product, computed with batched tensors."""
    own, beta, alpha = args[0], args[3], args[4]
    total = product if alpha == 1 else product * alpha
    if beta != 0:
        total = total + (own if beta == 1 else own * beta)
    if op.inplace:
        own.copy_(total)
        return None
    return total


@rule("addmm", logical=True)
def addmm(op: Operator, level: Level, args: list[Any]) -> Any:
    return _added(op, args, undertow.mm(args[1], args[2]))


@rule("addmv", logical=True)
def addmv(op: Operator, level: Level, args: list[Any]) -> Any:
    return _added(op, args, undertow.mv(args[1], args[2]))


@rule("addr", logical=True)
def addr(op: Operator, level: Level, args: list[Any]) -> Any:
    return _added(op, args, undertow.outer(args[1], args[2]))


@rule("addbmm", logical=True)
def addbmm(op: Operator, level: Level, args: list[Any]) -> Any:
    return _added(op, args, undertow.bmm(args[1], args[2]).sum(0))


@rule("baddbmm", logical=True)
def baddbmm(op: Operator, level: Level, args: list[Any]) -> Any:
    return _added(op, args, undertow.bmm(args[1], args[2]))


