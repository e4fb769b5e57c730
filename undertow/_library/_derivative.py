"""Derivatives of library operators: an autograd Function made of the registered functions, and the warning of operators that have none."""

from __future__ import annotations

import warnings

import undertow
from undertow import _C
from undertow._library._parts import BelowAutograd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from undertow._library._overload import LibraryOverload


def _flat(values: Iterable[Any]) -> tuple[list[Any], list[int | None]]:
    """Return the values with the items of lists that contain tensors in line, and the length of each such list."""
    flat: list[Any] = []
    lengths: list[int | None] = []
    for value in values:
        is_list = isinstance(value, (list, tuple)) and any(isinstance(v, _C.Tensor) for v in value)
        lengths.append(len(value) if is_list else None)
        flat += value if is_list else [value]
    return flat, lengths


def _grouped(flat: Sequence[Any], lengths: list[int | None]) -> list[Any]:
    found, at = [], 0
    for length in lengths:
        found.append(flat[at] if length is None else list(flat[at : at + length]))
        at += 1 if length is None else length
    return found


class _Call:
    """The structure of the arguments and results of one call; a Function only sees them in line."""

    def __init__(self, names: list[str], lengths: list[int | None], given: int) -> None:
        self.names, self.lengths = names, lengths
        self.given = given  # how many arguments come before those at the end that have their defaults
        self.kind: type | None = None  # of the result, if it is a sequence
        self.result_lengths: list[int | None] = []

    def in_line(self, result: Any) -> Any:
        if not isinstance(result, (list, tuple)):
            return result
        self.kind = type(result)
        flat, self.result_lengths = _flat(result)
        return tuple(flat)

    def restored(self, flat: Any) -> Any:
        return flat if self.kind is None else self.kind(_grouped(flat, self.result_lengths))


def _made(op: LibraryOverload) -> Any:
    parts = op.parts
    only = {a.name for a in op._schema.arguments if a.kwarg_only}

    def forward(call: _Call, *flat: Any) -> Any:
        values = dict(zip(call.names, _grouped(flat, call.lengths), strict=True))
        with BelowAutograd():
            return call.in_line(op._run_marked(values))

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        call, *flat = inputs
        ctx._call = call
        if parts.setup_context is None:
            return
        values = dict(zip(call.names, _grouped(flat, call.lengths), strict=True))
        positional = tuple(v for n, v in values.items() if n not in only)
        extra = {"keyword_only_inputs": {n: values[n] for n in only}} if only else {}
        parts.setup_context(ctx=ctx, inputs=positional, output=call.restored(output), **extra)

    def backward(ctx: Any, *grads: Any) -> Any:
        if parts.backward is None:
            raise RuntimeError(
                f"Trying to backward through {op} but no autograd formula was registered. Please use register_autograd to add one. ({op.name()})"
            )
        call: _Call = ctx._call
        given = [list(grads)] if call.kind is list else _grouped(grads, call.result_lengths) if call.kind is not None else grads
        # As the operator's inputs are, and not as they are in line. Only for this pass: the next may need others.
        needed = _grouped(ctx.needs_input_grad[1:], call.lengths)
        ctx.needs_input_grad = tuple(n for name, n in zip(call.names, needed, strict=True) if name not in only)
        try:
            found = parts.backward(ctx, *given)
        finally:
            del ctx.needs_input_grad
        found = list(found) if isinstance(found, tuple) else [found]
        lengths = [n for name, n in zip(call.names, call.lengths, strict=True) if name not in only]
        if call.given <= len(found) < len(lengths):
            found += [None] * (len(lengths) - len(found))
        _check_structure(op, found, lengths)
        flat: list[Any] = [None]
        for grad, length in zip(found, lengths, strict=True):
            flat += [grad] if length is None else [None] * length if grad is None else grad
        return (*flat, *(None for name in call.names if name in only))

    methods = {f.__name__: staticmethod(f) for f in (forward, setup_context, backward)}
    name = f"GeneratedBackwardFor_{op.namespace}_{op._opname}_{op._overloadname}"
    make: Any = type(undertow.autograd.Function)  # the class of Functions
    return make(name, (undertow.autograd.Function,), methods)


def _check_structure(op: LibraryOverload, found: list[Any], lengths: list[int | None]) -> None:
    fits = len(found) == len(lengths) and all(
        length is None or grad is None or (isinstance(grad, (list, tuple)) and len(grad) == length)
        for grad, length in zip(found, lengths, strict=False)
    )
    if not fits:
        got = [len(g) if isinstance(g, (list, tuple)) else None for g in found]
        raise RuntimeError(
            "Expected the return from backward to be of the same structure as the inputs. "
            f"{op.name()}: got {len(found)} values, with lists of lengths {got}; the inputs are {len(lengths)}, with lists of lengths {lengths}"
        )


def record(op: LibraryOverload, values: dict[str, Any]) -> Any:
    """Compute a call whose result has the registered derivative."""
    if op.parts.derivative is None:
        op.parts.derivative = _made(op)
    flat, lengths = _flat(values.values())
    call = _Call(list(values), lengths, len(op._schema.unbind(values)[0]))
    return call.restored(op.parts.derivative.apply(call, *flat))


class _Fallback:
    """What a backward pass does at an operator without a derivative: "nothing", "warn" or "error"."""

    mode = "warn"


fallback = _Fallback()


class WarnNotImplemented(undertow.autograd.Function):
    """The history of results of an operator without a derivative: gradients stop here, with a warning."""

    @staticmethod
    def forward(ctx: Any, name: str, results: list[Any], *inputs: Any) -> Any:
        ctx.operator, ctx.count = name, len(inputs)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        _warn(ctx.operator)
        return (None,) * (2 + ctx.count)


def _warn(name: str) -> None:
    if fallback.mode == "error":
        raise RuntimeError(f"{name}: an autograd kernel was not registered to the Autograd key(s); register one with library.register_autograd")
    warnings.warn(
        f"{name}: an autograd kernel was not registered to the Autograd key(s) but we are trying to backprop through it. "
        "This may lead to silently incorrect behavior. Register a derivative with library.register_autograd.",
        UserWarning,
        stacklevel=2,
    )


def warn_in_backward(op: LibraryOverload, inputs: list[Any], result: Any) -> Any:
    """Let a backward pass through the result of an operator without a derivative warn."""
    if fallback.mode == "nothing":
        return result
    several = isinstance(result, (list, tuple))
    results = list(result) if several else [result]
    name = op.name()
    without: list[int] = []
    for i, t in enumerate(results):
        if not isinstance(t, _C.Tensor) or not (t.is_floating_point() or t.is_complex()):
            continue
        if t.requires_grad:
            t.register_hook(lambda grad: _warn(name))
        elif not any(t is each for each in inputs):
            without.append(i)
    if without:
        for i, t in zip(without, WarnNotImplemented.apply(name, [results[i] for i in without], *inputs), strict=True):
            results[i] = t
    return type(result)(results) if several else results[0]
