"""Operators with `out=`: their overloads by torch's names, and the calls that a `__torch_dispatch__` sees.

The schema of `add.out` is that of `add.Tensor` with one more argument. Most names follow a rule: `out` for the overload `default`, `Scalar_out`
for `Scalar`. `_NAMES` has the others, as `operator.overload:out overload`, with the names of the results where there are several.
"""

from __future__ import annotations

from functools import cache

from undertow import _C
from undertow._aten import call
from undertow._aten._schema import FunctionSchema, texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from undertow._ops import OpOverload, OpOverloadPacket

_NAMES = """
add.Tensor:out all.dim:out all.default:all_out aminmax.default:out:min,max any.dim:out any.default:all_out arange.start_step:start_out
copysign.Tensor:out cummax.default:out:values,indices cummin.default:out:values,indices div.Tensor:out
div.Tensor_mode:out_mode divide.Tensor:out divide.Tensor_mode:out_mode empty.memory_format:out frexp.Tensor:Tensor_out:mantissa,exponent
geqrf.default:a:a,tau kthvalue.default:values:values,indices ldexp.Tensor:out linalg_cholesky_ex.default:L:L,info
linalg_eig.default:out:eigenvalues,eigenvectors linalg_eigh.default:eigvals:eigvals,eigvecs linalg_inv_ex.default:inverse:inverse,info
linalg_ldl_factor.default:out:LD,pivots linalg_ldl_factor_ex.default:out:LD,pivots,info
linalg_lstsq.default:out:solution,residuals,rank,singular_values linalg_lu.default:out:P,L,U linalg_lu_factor.default:out:LU,pivots
linalg_lu_factor_ex.default:out:LU,pivots,info linalg_matrix_rank.tol_tensor:out_tol_tensor linalg_pinv.rcond_tensor:out_rcond_tensor
linalg_qr.default:out:Q,R linalg_slogdet.default:out:sign,logabsdet linalg_solve_ex.default:out:result,info linalg_svd.default:U:U,S,Vh
lu_unpack.default:out:P,L,U max.dim:dim_max:max,max_values max.default:unary_out max.other:out mean.dim:out mean.default:dtype_out
median.dim:dim_values:values,indices min.dim:dim_min:min,min_indices min.default:unary_out min.other:out mode.default:values:values,indices
mul.Tensor:out multiply.Tensor:out nanmedian.dim:dim_values:values,indices norm.ScalarOpt_dim_dtype:dtype_out norm.ScalarOpt_dim:out
prod.dim_int:int_out qr.default:Q:Q,R range.step:out range.default:out_ slogdet.default:out:sign,logabsdet
sort.stable:values_stable:values,indices sort.default:values:values,indices std.dim:out sub.Tensor:out subtract.Tensor:out
sum.dim_IntList:IntList_out svd.default:U:U,S,V topk.default:values:values,indices triangular_solve.default:X:X,M true_divide.Tensor:out
var.dim:out xlogy.Tensor:OutTensor xlogy.Scalar_Self:OutScalar_Self xlogy.Scalar_Other:OutScalar_Other
"""
_NUMBERS_AS_TENSORS = ("add", "sub", "mul", "div", "floor_divide")  # x * 2 is mul.Tensor, as in _from_core.py
_OF_NEW_TENSORS = ("ScalarType? dtype", "Layout? layout", "Device? device", "bool? pin_memory")  # with out= these come from it


@cache
def _names() -> dict[str, tuple[str, list[str]]]:
    found = {}
    for entry in _NAMES.split():
        base, out, *results = entry.split(":")
        found[base] = out, results[0].split(",") if results else ["out"]
    return found


def _form(name: str, base: str) -> tuple[str, list[str]]:
    """Return the overload with `out=` of an overload, and the names of its results."""
    return _names().get(f"{name}.{base}", ("out" if base == "default" else f"{base}_out", ["out"]))


def _text(name: str, base: str) -> str:
    """Return the schema of the overload with `out=`.

    >>> _text("add", "Tensor")
    'add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)'
    """
    overload, results = _form(name, base)
    arguments = texts()[name][base].partition("(")[2].rpartition(") -> ")[0]
    is_new = "Layout? layout" in arguments
    kept = [a for a in arguments.split(", ") if not (is_new and a.startswith(_OF_NEW_TENSORS))]
    if "*" not in kept:
        kept.append("*")
    kept += [f"Tensor({chr(97 + i)}!) {result}" for i, result in enumerate(results)]
    aliased = [f"Tensor({chr(97 + i)}!)" for i in range(len(results))]
    return f"{name}.{overload}({', '.join(kept)}) -> {aliased[0] if len(results) == 1 else '(' + ', '.join(aliased) + ')'}"


@cache
def _bases(name: str) -> dict[str, str]:
    """Return, for an operator, the overload whose form each overload with `out=` is."""
    found: dict[str, str] = {}
    overloads = {} if name.startswith("_") else texts().get(name, {})
    for base in sorted(overloads, key=lambda base: f"{name}.{base}" not in _names()):  # those with names of their own first
        returned = overloads[base].rpartition(") -> ")[2]
        if "!" not in overloads[base] and "[]" not in returned and returned.count("Tensor") == len(_form(name, base)[1]):
            found.setdefault(_form(name, base)[0], base)
    return found


def schema_text(name: str, overload: str) -> str | None:
    """Return the schema of an overload with `out=`, or None if the operator has no such overload."""
    base = _bases(name).get(overload)
    return None if base is None else _text(name, base)


@cache
def _operators() -> dict[Any, str]:
    """Return torch's name of every function of the core."""
    found: dict[Any, str] = {}
    for dotted, function in _C._ops.items():
        module, _, name = dotted.rpartition(".")
        found.setdefault(function, f"{module}_{name}" if module in ("linalg", "special", "fft") else name)
    return found


def call_out(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Let a `__torch_dispatch__` compute a call with `out=`. Called by the core's bindings."""
    from undertow._library._arguments import bind
    from undertow.ops import aten

    out = kwargs.pop("out")
    outs = list(out) if isinstance(out, (list, tuple)) else [out]
    name = _operators().get(function, "")
    is_number = name in _NUMBERS_AS_TENSORS and len(args) > 1 and not isinstance(args[1], _C.Tensor)
    packet: OpOverloadPacket | None = getattr(aten, name, None) if name else None
    for overload in () if packet is None else _bases(name):
        op: OpOverload = getattr(packet, overload)
        written = [a.name for a in op._schema.arguments if a.is_out]
        if len(written) != len(outs):
            continue
        try:
            named = _renamed(op._schema, kwargs) | dict(zip(written, outs, strict=True))
            values = op._schema.bind(args, named) if is_number and not overload.startswith("Scalar") else bind(op._schema, args, named)
        except RuntimeError:
            continue
        call(op, *op._schema.unbind(values))
        return out
    # Compositions, and forms that torch has not: their operators are seen, and then the copy.
    result = function(*args, **kwargs)
    for target, value in zip(outs, [result] if isinstance(result, _C.Tensor) else result, strict=True):
        target.resize_(value.shape).copy_(value)
    return out


def _renamed(schema: FunctionSchema, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords by the names in the schema, which says `self` for `input`."""
    names = {a.name for a in schema.arguments}
    return {"self" if key == "input" and "input" not in names else key: value for key, value in kwargs.items()}


def run_out(op: OpOverload, args: Any, kwargs: dict[str, Any]) -> Any:
    """Compute an overload with `out=`: the public function, with the results as one argument."""
    from undertow.overrides import DisableTorchFunctionSubclass

    values = op._schema.bind(args, kwargs)
    outs = tuple(values.pop(a.name) for a in op._schema.arguments if a.is_out)
    given = [a for a in op._schema.arguments if not a.is_out]
    positional = [values[a.name] for a in given if not a.kwarg_only]
    named = {a.name: values[a.name] for a in given if a.kwarg_only}
    packet = op.overloadpacket
    if packet._function is None:
        raise NotImplementedError(f"{packet}: this operator of torch is not in Undertow")
    while given and not given[-1].kwarg_only and positional and positional[-1] is None:
        positional.pop()
        given.pop()
    with DisableTorchFunctionSubclass():
        packet._function(*positional, **{n: v for n, v in named.items() if v is not None}, out=outs[0] if len(outs) == 1 else outs)
    return outs[0] if len(outs) == 1 else outs
