"""Selective checkpoints: a policy decides for each operator whether its results are kept or computed again.

Two dispatch modes share a record of the operators that ran. The mode of the forward pass asks the policy and fills the record; the mode
of the recomputation takes kept results from it instead of running the operator. Both are below autograd, so nodes are recorded, and
tensors saved, in the same way in both runs. Views and writes always run again: a kept view would show, and a skipped write would leave
alone, the memory of another run.
"""

from __future__ import annotations

import enum

from undertow import _C
from undertow._ops import OpOverload, OpOverloadPacket
from undertow.utils._python_dispatch import TorchDispatchMode
from undertow.utils._pytree import tree_map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class CheckpointPolicy(enum.Enum):
    """Whether an operator's results are kept or computed again. MUST and PREFER mean the same: only a compiler would override a policy.

    The offloading policies compute again, as PyTorch's do outside of its compiler.
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


class SelectiveCheckpointContext:
    """Additional information for a policy: whether this is the recomputation, and in the forward pass the result."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


class _Kept:
    """One part of a kept result. A tensor is kept without its history, together with its version."""

    __slots__ = ("value", "version")

    def __init__(self, value: Any) -> None:
        is_tensor = isinstance(value, _C.Tensor)
        self.value = value.detach() if is_tensor else value
        self.version = self.value._version if is_tensor else None


_RECOMPUTED, _USED = object(), object()  # in the record: an operator that runs again; one whose result was taken


class _CallsByOperator(TorchDispatchMode):
    """Counts the calls of each operator. `record` has, by operator, what is known about each call."""

    def __init__(self, record: dict[Any, list[Any]]) -> None:
        super().__init__()
        self.record = record
        self.counts: dict[Any, int] = {}

    def __enter__(self) -> Any:
        self.counts.clear()  # a recomputation begins at the first call again
        return super().__enter__()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.name() == "aten::detach":  # how often a checkpoint itself detaches differs between both runs
            return func(*args, **kwargs)
        number = self.counts.get(func, 0)
        self.counts[func] = number + 1
        return self.call(number, func, args, kwargs)

    def call(self, number: int, func: Any, args: Any, kwargs: Any) -> Any:
        """Handle call `number` of an operator, and return its result."""
        raise NotImplementedError


class _Keeping(_CallsByOperator):
    """The mode of the forward pass."""

    def __init__(self, policy: Callable[..., Any], record: dict[Any, list[Any]]) -> None:
        super().__init__(record)
        self.policy = policy

    def call(self, number: int, func: Any, args: Any, kwargs: Any) -> Any:
        output = func(*args, **kwargs)
        answer = self.policy(SelectiveCheckpointContext(is_recompute=False, op_output=output), func, *args, **kwargs)
        keep = answer if isinstance(answer, bool) else answer in (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
        shares_memory = any(argument.alias_info is not None for argument in func._schema.arguments)
        self.record.setdefault(func, []).append(tree_map(_Kept, output) if keep and not shares_memory else _RECOMPUTED)
        return output


class _Replaying(_CallsByOperator):
    """The mode of the recomputation."""

    def __init__(self, record: dict[Any, list[Any]], allow_mutation: bool) -> None:
        super().__init__(record)
        self.allow_mutation = allow_mutation

    def call(self, number: int, func: Any, args: Any, kwargs: Any) -> Any:
        calls = self.record.get(func, [])
        if number >= len(calls):
            which = f"{func} invocation index {number}" if calls else str(func)
            raise RuntimeError(f"{which} encountered during backward but not found in storage: the forward pass did not call it as often. "
                               "The function depends on something that has changed since then.")
        entry = calls[number]
        if entry is _RECOMPUTED:
            return func(*args, **kwargs)
        if entry is _USED:
            raise RuntimeError("Trying to backward an extra time. You are only allowed to backward once on any region computed under selective "
                               f"activation checkpoint. The result of {func} was kept for one pass")
        calls[number] = _USED
        return tree_map(self._taken, entry)

    def _taken(self, kept: _Kept) -> Any:
        if kept.version is not None and not self.allow_mutation and kept.value._version != kept.version:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated; pass allow_cache_entry_mutation=True "
                               f"if that is intended: its shape is {list(kept.value.shape)}")
        return kept.value


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Callable[..., Any] | list[OpOverload], allow_cache_entry_mutation: bool = False
) -> tuple[Any, Any]:
    """Create the two context managers for `checkpoint(context_fn=...)` from a policy.

    `policy_fn_or_list(ctx, op, *args, **kwargs)` returns a CheckpointPolicy for each operator of the forward pass, such as
    `ops.aten.mm.default`; a list has the operators whose results are kept.

    >>> import functools
    >>> import undertow as ut
    >>> from undertow.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> contexts = functools.partial(create_selective_checkpoint_contexts, [ut.ops.aten.mm.default])
    >>> w = ut.ones(2, 2, requires_grad=True)
    >>> checkpoint(lambda w: ut.mm(w, w).exp().sum(), w, use_reentrant=False, context_fn=contexts).backward()
    >>> w.grad.shape
    undertow.Size([2, 2])
    """
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not isinstance(op, OpOverload):
                names = [f"{op}.{name}" for name in op.overloads()] if isinstance(op, OpOverloadPacket) else []
                hint = f"Name one of its overloads: {', '.join(names)}." if names else ""
                raise ValueError(f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. {hint}")

        def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> bool:
            return op in policy_fn_or_list
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    record: dict[Any, list[Any]] = {}
    return _Keeping(policy, record), _Replaying(record, allow_cache_entry_mutation)
