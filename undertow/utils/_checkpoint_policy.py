"""Selective checkpoints: a policy decides for each operation whether its results are kept or recomputed.

In the forward pass the results of selected operations are kept. In the recomputation such an operation is not run: its kept results
are used, and the tensors that its node saved are found among its arguments and results.
"""

from __future__ import annotations

import enum

from undertow import _C
from undertow._type_info import package_name
from undertow.overrides import TorchFunctionMode
from undertow.utils._checkpoint_frames import Frame, frames, recomputing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from undertow import Tensor


class CheckpointPolicy(enum.Enum):
    """Whether an operation's results are kept or recomputed. MUST and PREFER mean the same, because nothing else overrides the policy.

    The offloading policies keep results too: on the CPU there is nowhere to offload to.
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_KEEPS = {CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE, CheckpointPolicy.MUST_CPU_OFFLOAD, CheckpointPolicy.PREFER_CPU_OFFLOAD}


class SelectiveCheckpointContext:
    """Additional information for a policy: whether this is the recomputation, and in the forward pass the result."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


class _Kept:
    """One kept operation: its results, and where to find each tensor that its node saved."""

    __slots__ = ("func", "output", "versions", "savings")

    def __init__(self, func: Any, output: Any, savings: list[Any]) -> None:
        self.func, self.output, self.savings = func, output, savings
        self.versions = [t._version for t in _tensors(output)]


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, _C.Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in _tensors(v)]
    return []


def _detached(value: Any) -> Any:
    if isinstance(value, _C.Tensor):
        return value.detach()
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)(_detached(v) for v in value)
    return value


def _canonical(func: Any) -> Any:
    """Return the operation that a policy sees: a method and the function of the same name are the same operation."""
    import undertow

    return getattr(undertow, getattr(func, "__name__", ""), func)


class _Mode(TorchFunctionMode):
    def __init__(self, policy: Callable[..., Any], kept: dict[Any, list[_Kept | None]], allow_mutation: bool) -> None:
        super().__init__()
        self.policy, self.kept, self.allow_mutation = policy, kept, allow_mutation

    def __enter__(self) -> Any:
        self.frame: Frame = frames()[-1].owner
        return super().__enter__()

    def elsewhere(self) -> bool:
        """Return True inside a nested checkpoint: its operations fill its own slots and run normally."""
        return frames()[-1].owner is not self.frame

    def decide(self, context: SelectiveCheckpointContext, func: Any, args: Any, kwargs: Any) -> bool:
        answer = self.policy(context, _canonical(func), *args, **kwargs)
        if isinstance(answer, bool):
            answer = CheckpointPolicy.MUST_SAVE if answer else CheckpointPolicy.PREFER_RECOMPUTE
        return answer in _KEEPS


class _Keeping(_Mode):
    """The mode of the forward pass."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.elsewhere():
            return func(*args, **kwargs)
        first = len(self.frame.saved)
        output = func(*args, **kwargs)
        if not _tensors(output) or not self.decide(SelectiveCheckpointContext(is_recompute=False, op_output=output), func, args, kwargs):
            return output
        inputs, outputs = _tensors(list(args) + list(kwargs.values())), _tensors(output)
        for saving in self.frame.saved[first:]:
            saving.find_source(inputs, outputs)
        savings = self.frame.saved[first:]
        # A saved tensor that is neither argument nor result needs the operation to run again.
        kept = _Kept(func, _detached(output), savings) if all(s.source for s in savings) else None
        self.kept.setdefault(_canonical(func), []).append(kept)
        return output


class _Replaying(_Mode):
    """The mode of the recomputation."""

    def __enter__(self) -> Any:
        self.next: dict[Any, int] = {}
        return super().__enter__()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        key = _canonical(func)
        if self.elsewhere() or key not in self.kept or not self.decide(SelectiveCheckpointContext(is_recompute=True), func, args, kwargs):
            return func(*args, **kwargs)
        index = self.next.get(key, 0)
        self.next[key] = index + 1
        if index >= len(self.kept[key]):
            raise RuntimeError(f"{package_name()}.utils.checkpoint: {key.__name__} ran more often in the recomputation than in the forward pass, "
                               "while its results are kept: the function or its policy differs between the two")
        kept = self.kept[key][index]
        if kept is None:
            return func(*args, **kwargs)
        if not self.allow_mutation and [t._version for t in _tensors(kept.output)] != kept.versions:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated; pass allow_cache_entry_mutation=True "
                               f"if that is intended. It is a result of {key.__name__}")
        frame, values = recomputing()[-1]
        inputs, outputs = _tensors(list(args) + list(kwargs.values())), _tensors(kept.output)
        for saving in kept.savings:
            kind, number = saving.source
            frame.fill(values, saving, (inputs if kind == "input" else outputs)[number].detach())
        fresh = _detached(kept.output)
        for t in _tensors(fresh):  # later operations must record, as in the forward pass
            if (t.is_floating_point() or t.is_complex()) and any(i.requires_grad for i in inputs):
                t.requires_grad_()
        return fresh


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Callable[..., Any] | Sequence[Any], allow_cache_entry_mutation: bool = False
) -> tuple[Any, Any]:
    """Create the two context managers for `checkpoint(context_fn=...)` from a policy.

    `policy_fn_or_list(ctx, op, *args, **kwargs)` returns a CheckpointPolicy for each operation; a list has the operations
    whose results are kept.

    >>> import functools
    >>> import undertow as ut
    >>> from undertow.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> contexts = functools.partial(create_selective_checkpoint_contexts, [ut.mm])
    >>> w = ut.ones(2, 2, requires_grad=True)
    >>> checkpoint(lambda w: ut.mm(w, w).exp().sum(), w, use_reentrant=False, context_fn=contexts).backward()
    >>> w.grad.shape
    undertow.Size([2, 2])
    """
    if isinstance(policy_fn_or_list, (list, tuple, set, frozenset)):
        chosen = {_canonical(op) for op in policy_fn_or_list}
        for op in policy_fn_or_list:
            if not callable(op):
                raise ValueError(f"Expected op in `op_list` to be an operator of undertow, but got: {op} of type {type(op)}.")

        def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
            return CheckpointPolicy.MUST_SAVE if op in chosen else CheckpointPolicy.PREFER_RECOMPUTE
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    kept: dict[Any, list[Any]] = {}
    return _Keeping(policy, kept, allow_cache_entry_mutation), _Replaying(policy, kept, allow_cache_entry_mutation)
