"""Operators on batched tensors: find the batching rule that an operator's table entry names, and call it.

A rule is a function `(op, level, args)`. `args` are the operator's arguments, in the order of the
table; the values of tensors batched at `level` have the samples along dimension 0. The rule computes on
values with public operators. Values may be batched at outer levels; then the core calls `dispatch` again.
A rule returns the values of the results, or NotImplemented to run the loop over samples instead.
"""

from __future__ import annotations

import undertow
from undertow import _C
from undertow._vmap._levels import alive
from undertow._vmap._wrapping import batched_like_tangent, expand_over_samples, level_of, make_batched, value_of, wrap_all
from undertow.autograd import forward_ad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from undertow import Tensor
    from undertow._vmap._levels import Level

    Rule = Callable[["Operator", Level, list[Any]], Any]

RULES: dict[str, Rule] = {}
_in_logical_terms: set[str] = set()  # rules that return batched tensors
_warned: set[str] = set()


class Operator:
    """One overload of an operator, called with all arguments given by position."""

    __slots__ = ("inplace", "key", "names", "number", "rule", "sparse")

    def __init__(self, key: str, rule: str, names: str, number: int) -> None:
        self.key = key
        self.rule, _, self.sparse = rule.partition("/")  # the rules for batched and for sparse tensors
        self.names = tuple(names.split(","))
        self.number = number
        self.inplace = key.endswith("_")

    def __call__(self, *args: Any) -> Any:
        return _C._call_operator(self.number, args)

    @property
    def public(self) -> str:
        """The public name."""
        return self.key.partition("#")[0].partition(".")[0].rstrip("_") + "_" * self.inplace


OPERATORS = {key: Operator(key, *row) for key, row in _C._operators().items()}


def rule(name: str, *, logical: bool = False) -> Callable[[Rule], Rule]:
    """Register a rule. A `logical` rule computes with the batched tensors themselves."""

    def register(function: Rule) -> Rule:
        RULES[name] = function
        if logical:
            _in_logical_terms.add(name)
        return function

    return register


def split(t: Any, level: Level) -> tuple[Any, bool]:
    """Return (value, True) for a tensor that is batched at `level`, and (t, False) for anything else."""
    if isinstance(t, _C.Tensor) and level_of(t) == level.number:
        return value_of(t), True
    return t, False


def batched(t: Tensor, level: Level) -> Tensor:
    """Return the value of `t` at `level`, expanded over the samples if it is not batched there."""
    value, is_batched = split(t, level)
    return value if is_batched else expand_over_samples(value, level)


def _greatest_level(args: list[Any]) -> int:
    found = -1
    for a in args:
        if isinstance(a, _C.Tensor):
            found = max(found, level_of(a))
        elif type(a) is tuple:
            for t in a:
                if isinstance(t, _C.Tensor):
                    found = max(found, level_of(t))
    return found


def dispatch(key: str, args: list[Any]) -> Any:
    """Run an operator that has a batched argument, or is random under vmap. Called by the core."""
    op = OPERATORS[key]
    if op.rule == "random":
        return RULES["random"](op, None, args)  # type: ignore[arg-type]  # it asks for no level
    number = _greatest_level(args)
    level = alive.get(number)
    if level is None:
        raise RuntimeError(
            "Either your tensor may have escaped from inside a function being vmapped and this is "
            f"a user error, or the vmap has ended: {op.public} got a tensor of a vmap that no "
            "longer runs; return tensors from the function instead"
        )
    if op.inplace and level_of(args[0]) != number:
        raise_inplace_error(op, level)
    if forward_ad._current_level >= 0:
        args = [_settled(a, level) for a in args]
    found = RULES.get(op.rule)
    result = NotImplemented if found is None else found(op, level, args)
    if result is NotImplemented:
        result = loop(op, level, args)
    elif op.rule in _in_logical_terms:
        return result
    if op.inplace:
        return None
    return wrap_all(result, number) if isinstance(result, (_C.Tensor, tuple, list)) else result


def _settled(a: Any, level: Level) -> Any:
    if isinstance(a, _C.Tensor):
        return batched_like_tangent(a, level)
    return tuple(_settled(t, level) for t in a) if type(a) is tuple else a


def raise_inplace_error(op: Operator, level: Level) -> None:
    what = "inplace arithmetic" if op.rule in ("pointwise", "copy", "masked_fill") else op.public
    raise RuntimeError(
        f"vmap: {what}(self, *extra_args) is not possible because there exists a Tensor `other` in "
        "extra_args that has more elements than `self`: another argument is vmapped over and "
        f"`self` is not, at level {level.depth}, so {op.public} would write all samples to "
        f"the same memory; use {op.public.rstrip('_')} instead"
    )


def _sample(a: Any, level: Level, index: int) -> Any:
    if type(a) is tuple and any(isinstance(t, _C.Tensor) for t in a):
        return tuple(_sample(t, level, index) for t in a)
    value, is_batched = split(a, level)
    return value.select(0, index) if is_batched else value


def loop(op: Operator, level: Level, args: list[Any]) -> Any:
    """Run an operator without a rule once per sample, and stack the results."""
    if op.key not in _warned:
        import warnings

        _warned.add(op.key)
        warnings.warn(
            "There is a performance drop because we have not yet implemented the batching rule for "
            f"{op.public}: it runs once for each of the {level.size} samples",
            stacklevel=3,
        )
    if not level.size:
        raise RuntimeError(f"vmap: {op.public} has no batching rule and cannot be looped over an empty batch")
    results = [op(*(_sample(a, level, i) for a in args)) for i in range(level.size)]
    if op.inplace:
        return None
    if isinstance(results[0], _C.Tensor):
        return undertow.stack(results)
    return [undertow.stack(each) for each in zip(*results, strict=True)]


def rewrap(t: Tensor, level: Level) -> Tensor:
    """Wrap a value as a batched tensor of the level."""
    return make_batched(t, level.number)
