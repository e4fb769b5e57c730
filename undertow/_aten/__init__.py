"""Between the operators of the tables and those of torch: what a `__torch_dispatch__` sees, and what it calls.

Two directions meet here.
- The core passes an operator's key and its arguments to `dispatch`, below autograd; see Note [Dispatched Tensors].
  `_from_core.py` translates them to the operators that torch calls at this point, and `call` gives those to a mode or to a class.
  `_formulas.py` has derivatives for which torch calls other operators than our formulas do.
- A program calls `ops.aten.mm.default(a, b)`: `run` finds the operator of the tables (or the function in `_computed.py`) that computes it.
"""

from __future__ import annotations

from undertow import _C
from undertow.utils._python_dispatch import _stack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from undertow._ops import OpOverload, OpOverloadPacket


def dispatch(key: str, args: list[Any]) -> Any:
    """Compute an operator of the tables by a `__torch_dispatch__`. Called by the core."""
    from undertow._aten import _from_core

    return _from_core.translation(key)(*args)


def tensors_in(values: Any) -> Iterator[Any]:
    """Yield the tensors in arguments, those of lists too."""
    for value in values:
        if isinstance(value, _C.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (v for v in value if isinstance(v, _C.Tensor))


def _classes(args: Sequence[Any], kwargs: dict[str, Any]) -> list[type]:
    """Return the classes of the arguments that have a `__torch_dispatch__`: a subclass before its base, else left to right."""
    found: list[type] = []
    for t in tensors_in((*args, *kwargs.values())):
        kind = type(t)
        if kind in found or not _C._is_dispatched(t) or kind in (_C.Tensor, _C.Parameter):
            continue
        at = next((i for i, each in enumerate(found) if issubclass(kind, each)), len(found))
        found.insert(at, kind)
    return found


def call(op: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Give a call to the innermost mode, then to the classes of its arguments."""
    args = tuple(args)
    classes = _classes(args, kwargs)
    types = tuple(classes)
    if not _stack.disabled:
        if _stack.modes:
            mode = _stack.modes.pop()
            _C._set_dispatch_mode(bool(_stack.modes))
            try:
                rule = op.dispatch_rules.get(type(mode))
                result = mode.__torch_dispatch__(op, types, args, kwargs) if rule is None else rule(mode, op, types, args, kwargs)
            finally:
                _stack.modes.append(mode)
                _C._set_dispatch_mode(True)
            if result is not NotImplemented:
                return result
        for each in classes:
            rule = op.dispatch_rules.get(each)
            if rule is not None:
                return rule(each, op, types, args, kwargs)
            result = each.__torch_dispatch__(op, types, args, kwargs)  # type: ignore[attr-defined]  # has it
            if result is not NotImplemented:
                return result
        if classes or _stack.modes:
            who = [f"  - mode object {_stack.modes[-1]!r}\n"] if _stack.modes else []
            who += [f"  - tensor subclass {each}\n" for each in classes]
            raise TypeError(
                f"Multiple dispatch failed for 'torch._ops.{op}'; all __torch_dispatch__ handlers returned NotImplemented:\n\n{''.join(who)}\n"
                "For more information, try re-running with TORCH_LOGS=not_implemented"
            )
    return op._below_dispatch([_plain(a) for a in args], {name: _plain(a) for name, a in kwargs.items()})


def _plain(value: Any) -> Any:
    """Return the same memory without the class."""
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return _C._below_dispatch(value) if _C._is_dispatched(value) else value


def _is_seen(args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Return True if a call with these arguments goes to a `__torch_dispatch__`, and need not be recorded."""
    from undertow import is_grad_enabled

    tensors = list(tensors_in((*args, *kwargs.values())))
    if is_grad_enabled() and any(t.requires_grad for t in tensors):
        return False
    return not _stack.disabled and (bool(_stack.modes) or any(_C._is_dispatched(t) for t in tensors))


def run(op: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Compute one overload of an operator: `ops.aten.mm.default(a, b)`."""
    from undertow._aten import _to_core

    return _to_core.run(op, args, kwargs)


def run_packet(packet: OpOverloadPacket, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Compute an operator without the name of an overload: the one whose arguments fit."""
    from undertow._aten import _to_core

    return _to_core.run_packet(packet, args, kwargs)
