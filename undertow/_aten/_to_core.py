"""torch's operators as those of the tables: what `ops.aten.mm.default(a, b)` computes.

Most operators are one of the tables with the same arguments. Those that the tables have under another name or with other arguments are
in _computed.py. Any other operator is the public function of its name.
"""

from __future__ import annotations

from undertow import _C
from undertow._aten import _is_seen, call
from undertow._aten._computed import COMPUTED
from undertow._aten._from_core import OVERLOADS, aten_name
from undertow._aten._out_forms import run_out
from undertow._vmap._dispatch import OPERATORS
from undertow.overrides import DisableTorchFunctionSubclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow._ops import OpOverload, OpOverloadPacket

_keys: dict[tuple[str, str], str] = {}
_NOT_OURS = ("layout", "pin_memory", "non_blocking")


def _key_of(op: OpOverload) -> str | None:
    """Return the key of the operator in the tables that computes an overload with the same arguments."""
    if not _keys:
        for key in OPERATORS:
            _keys.setdefault(aten_name(key), key)
    names = op._opname, op._overloadname
    # rand.default is rand.generator without one.
    twin = op._opname, {"default": "generator", "low": "low_generator", "low_dtype": "low_generator_dtype"}.get(op._overloadname, "")
    if twin in _keys:
        return _keys[twin]
    return _keys.get(names)


def run(op: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Compute one overload."""
    core = op.__dict__.get("_core")
    if core is not None:  # an operator that torch does not have
        return call(op, args, kwargs) if _is_seen(args, kwargs) else core(*args)
    if op._text is None:
        return _function(op.overloadpacket, args, kwargs)
    schema = op._schema
    if schema.arguments and schema.arguments[-1].is_out:
        return run_out(op, args, kwargs)
    computed = COMPUTED.get(f"{op._opname}.{op._overloadname}") or COMPUTED.get(op._opname)
    if computed is not None:
        values = schema.bind(args, kwargs)
        if _is_seen(args, kwargs):
            return call(op, *schema.unbind(values))
        with DisableTorchFunctionSubclass():
            return computed(**values)
    key = _key_of(op)
    if key is None:
        return _function(op.overloadpacket, args, kwargs)
    values = schema.bind(args, kwargs)
    operator = OPERATORS[key]
    if "other" in values and not isinstance(values["other"], _C.Tensor) and f"{key.rstrip('_')}#1" in OPERATORS:
        operator = OPERATORS[f"{key.rstrip('_')}#1" + "_" * operator.inplace]
    takes_number = "#2" in key or OVERLOADS.get(key, "").startswith("Scalar")
    is_number = "self" in values and not isinstance(values["self"], _C.Tensor)
    if (is_number and not takes_number) or not set(operator.names) <= {*values, "generator"}:
        return _function(op.overloadpacket, args, kwargs)
    given = [values.get(name) for name in operator.names]
    return operator(*given)


def _function(packet: OpOverloadPacket, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call the public function of the operator's name, which may be a composition of others."""
    function = packet._function
    if function is None:
        raise NotImplementedError(f"{packet}: this operator of torch is not in Undertow")
    kwargs = {name: value for name, value in kwargs.items() if name not in _NOT_OURS or value not in (None, False)}
    with DisableTorchFunctionSubclass():
        return function(*args, **kwargs)


def run_packet(packet: OpOverloadPacket, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Compute an operator: the public function of its name, or the overload whose arguments fit."""
    if packet._function is not None or not packet._texts:
        return _function(packet, args, kwargs)
    error: Exception | None = None
    for name in packet.overloads():
        op = getattr(packet, name)
        try:
            op._schema.bind(args, kwargs)
        except RuntimeError as e:
            error = error or e
        else:
            return run(op, args, kwargs)
    raise error or TypeError(f"{packet}: no overload takes these arguments")
