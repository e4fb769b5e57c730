"""Operators on sparse tensors: find the rule that an operator's table entry names (`sparse`), and call it.

A rule is a function `(op, args)`. `args` are the operator's arguments in the order of the table; every sparse tensor among them is
in COO layout. The rule returns the result. Compressed tensors are converted before, and sparse results back to their layout. An
in-place operator on a sparse tensor replaces its parts by those of the rule's result.
"""

from __future__ import annotations

import undertow
from undertow import _C
from undertow._vmap._dispatch import OPERATORS
from undertow.sparse import _convert
from undertow.sparse._parts import COO, backend, batch_dim, block_of, dtype_title, is_sparse, record_write, replace_by, with_own_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from undertow import Tensor
    from undertow._vmap._dispatch import Operator

    Rule = Callable[[Operator, list[Any]], Any]

RULES: dict[str, Rule] = {}
NATIVE: set[str] = set()  # rules that get compressed tensors as they are


def rule(name: str, *, every_layout: bool = False) -> Callable[[Rule], Rule]:
    """Register a rule. One for every layout gets compressed tensors as they are, and returns its result so."""

    def register(function: Rule) -> Rule:
        RULES[name] = function
        if every_layout:
            NATIVE.add(name)
        return function

    return register


def dispatch(key: str, args: list[Any]) -> Any:
    """Run an operator that has a sparse argument. Called by the core."""
    if key[0] == "@":
        return _convert.coo_from(*args)  # a sparse gradient that is recorded; see core/autograd/sparse_grad.cpp
    from undertow.sparse import _elementwise, _products, _reduce, _shape  # noqa: F401  # they register their rules

    op = OPERATORS[key]
    found = RULES.get(op.sparse)
    first = next(t for t in tensors_in(args) if is_sparse(t))
    if found is None:
        raise missing(op.public, first)
    self = args[0]
    recorded = op.inplace and is_sparse(self) and undertow.is_grad_enabled() and any(t.requires_grad for t in tensors_in(args))
    if recorded:
        if self.is_leaf and self.requires_grad:
            what = f"The operation is {op.public} on a sparse tensor; clone it first, or write under no_grad."
            raise RuntimeError(f"a leaf Variable that requires grad is being used in an in-place operation. {what}")
        args = [with_own_parts(self), *args[1:]]
    result = found(op, args) if op.sparse in NATIVE else through_coo(found, op, args)
    if not op.inplace:
        return result
    if is_sparse(self) and result is not args[0]:
        check_cast(op.public.rstrip("_"), result, self)
        result = _convert.to_layout(result, self.layout, self).to(self.dtype)
        if recorded:
            record_write(self, result)
        else:
            replace_by(self, result)
    return None


def through_coo(function: Rule, op: Operator, args: list[Any]) -> Any:
    """Call a rule with COO tensors; a result that can be gets the layout of the first sparse argument."""
    first = next(t for t in tensors_in(args) if is_sparse(t))
    result = function(op, [_as_coo(a) for a in args])
    if first.layout is COO or not is_sparse(result) or result.dim() != first.dim() or not _fits_blocks(result, first):
        return result
    return _convert.to_layout(result, first.layout, first)


def _fits_blocks(t: Tensor, like: Tensor) -> bool:
    block, batch = block_of(like), batch_dim(like)
    return block is None or not any(n % b for n, b in zip(t.shape[batch : batch + 2], block, strict=True))


def missing(name: str, t: Tensor) -> NotImplementedError:
    """Return the error of an operator without a rule."""
    return NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the '{backend(t.layout)}' backend: {name} has no sparse rule, and the tensor's layout is "
        f"{t.layout}; use to_dense() first"
    )


def check_cast(name: str, result: Tensor, out: Tensor) -> None:
    """Raise if a result cannot be written in place, or with `out=`, into a tensor of this dtype."""
    if undertow.can_cast(result.dtype, out.dtype):
        return
    of_result, of_out = dtype_title(result), dtype_title(out)
    if name in ("add", "sub", "mul"):
        raise RuntimeError(f"Can't convert result type {of_result} to output {of_out} in {name.replace('sub', 'add')} operation")
    raise RuntimeError(f"result type {of_result} can't be cast to the desired output type {of_out}")


def tensors_in(args: list[Any]) -> Any:
    for a in args:
        if isinstance(a, _C.Tensor):
            yield a
        elif isinstance(a, (tuple, list)):
            yield from (t for t in a if isinstance(t, _C.Tensor))


def _as_coo(a: Any) -> Any:
    if isinstance(a, (tuple, list)) and any(is_sparse(t) for t in a):
        return [_as_coo(t) for t in a]
    return _convert.to_coo(a, strided_grad=True) if is_sparse(a) else a
