"""NumPy functions on tensors: `__array_ufunc__` and `__array_function__`.

If no tensor requires grad, NumPy computes the result, as with torch. Otherwise the matching operator is called, so that the
result has a history; if there is no such operator, the function raises instead of dropping the history. `array * tensor` is
handled here too.
"""

from __future__ import annotations

import operator

import undertow
from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_SAME_NAME = str.split(
    """exp exp2 expm1 log log2 log10 log1p sqrt square reciprocal sin cos tan sinh cosh tanh floor ceil trunc sign positive hypot maximum
minimum fmax fmin copysign logaddexp logaddexp2 remainder fmod float_power heaviside ldexp nextafter gcd lcm isnan isinf isfinite signbit logical_and
logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor deg2rad rad2deg"""
)
_RENAMED = {
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "arctan2": "atan2",
    "absolute": "abs",
    "fabs": "abs",
    "negative": "neg",
    "conjugate": "conj",
    "rint": "round",
    "degrees": "rad2deg",
    "radians": "deg2rad",
    "invert": "bitwise_not",
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
}
_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "power": operator.pow,
    "remainder": operator.mod,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "left_shift": operator.lshift,
    "right_shift": operator.rshift,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "divmod": lambda a, b: (operator.floordiv(a, b), a % b),
    "matmul": lambda a, b: undertow.matmul(*_promoted(a, b)),
}  # these accept a number as either argument
_ARITHMETIC = ("add", "subtract", "multiply", "divide", "floor_divide", "power", "remainder")
_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
_REDUCE = {"add": "sum", "multiply": "prod", "maximum": "amax", "minimum": "amin", "logical_and": "all", "logical_or": "any"}
_ACCUMULATE = {"add": "cumsum", "multiply": "cumprod"}


def _unsupported(name: str) -> RuntimeError:
    return RuntimeError(
        f"Can't call numpy() on Tensor that requires grad: {name} has no counterpart here that would keep its history. Use tensor.detach().numpy() "
        "if it need not be kept"
    )


def _operand(value: Any) -> Any:
    """Convert an input for our operators: NumPy scalars become numbers, arrays become tensors."""
    if isinstance(value, Tensor):
        return value
    if _is_scalar(value):
        return value.item() if hasattr(value, "item") else value
    return undertow.as_tensor(value)


def _find(name: str) -> Callable[..., Any] | None:
    if name in _OPERATORS:
        return _OPERATORS[name]
    own = _RENAMED.get(name, name if name in _SAME_NAME else None)
    if own is None:
        return None
    function = getattr(undertow, own)

    def call(*operands: Any) -> Any:
        first = next(o for o in operands if isinstance(o, Tensor))
        return function(*(o if isinstance(o, Tensor) else undertow.full((), o, dtype=_dtype_beside(first, o)) for o in operands))

    return call


def _dtype_beside(tensor: Tensor, number: Any) -> Any:
    return undertow.result_type(tensor, number)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _needs_history(values: Any) -> bool:
    return any(isinstance(v, Tensor) and v.requires_grad for v in _leaves(values))


# -- ufuncs ------------------------------------------------------------------------------------------------------------


def array_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute `ufunc.method(*inputs, **kwargs)` where at least one input or output is a tensor."""
    name = f"np.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
    if any(isinstance(o, Tensor) for o in kwargs.get("out", ())):
        raise TypeError(f"return arrays must be of ArrayType: {name} cannot write into a tensor; assign its result")
    scalars = all(isinstance(x, Tensor) or _is_scalar(x) for x in inputs) and not all(isinstance(x, Tensor) for x in inputs)
    if scalars and ufunc.__name__ in _ARITHMETIC and type(inputs[0]).__name__ in ("bool", "bool_"):
        inputs = (float(inputs[0]), *inputs[1:])  # as torch reads a NumPy bool on the left
    if _needs_history(inputs) or (scalars and method == "__call__" and not kwargs and ufunc.__name__ in _OPERATORS):
        return _recorded(ufunc.__name__, name, method, inputs, kwargs)
    arrays = [x.numpy() if isinstance(x, Tensor) else x for x in inputs]
    result = getattr(ufunc, method)(*arrays, **kwargs)
    if "out" in kwargs or method in ("outer", "at"):
        return result
    keep_bool = ufunc.__name__ in _COMPARISONS
    return tuple(_tensor(r, keep_bool) for r in result) if isinstance(result, tuple) else _tensor(result, keep_bool)


def _is_scalar(value: Any) -> bool:
    """Return True for a Python or NumPy number. A 0-d array is mutable, so it is not a scalar here."""
    return isinstance(value, (bool, int, float, complex)) or (getattr(value, "shape", None) == () and not hasattr(value, "__setitem__"))


def _tensor(result: Any, keep_bool: bool) -> Tensor:
    import numpy

    array = numpy.asarray(result)
    return undertow.from_numpy(array.astype("uint8") if array.dtype == bool and not keep_bool else array)  # uint8, as in torch


def _recorded(ufunc: str, name: str, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if method == "reduce" and ufunc in _REDUCE:
        return _reduced(_REDUCE[ufunc], name, inputs[0], **kwargs)
    function = _find(ufunc)
    if function is None or (kwargs and method == "__call__"):
        raise _unsupported(f"{name}({', '.join(kwargs)}=...)" if kwargs else name)
    if method == "__call__":
        return function(*(_operand(x) for x in inputs))
    if method == "accumulate" and ufunc in _ACCUMULATE and set(kwargs) <= {"axis"}:
        return getattr(undertow, _ACCUMULATE[ufunc])(inputs[0], kwargs.get("axis", 0))
    if method == "outer" and not kwargs:
        a, b = (undertow.as_tensor(x) for x in inputs)
        return function(a.reshape(*a.shape, *[1] * b.dim()), b)
    raise _unsupported(name)


def _reduced(own: str, name: str, x: Tensor, axis: Any = 0, keepdims: bool = False, **rest: Any) -> Tensor:
    if any(value is not None for value in rest.values()):
        raise _unsupported(f"{name}({', '.join(rest)}=...)")
    axes = tuple(range(x.dim())) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    function = getattr(undertow, own)
    if own != "prod":
        return function(x, axes, keepdim=keepdims) if x.dim() else function(x)
    for a in sorted((a % x.dim() for a in axes), reverse=True):
        x = function(x, a, keepdim=keepdims)
    return x


# -- other functions ---------------------------------------------------------------------------------------------------


def _joined(own: str) -> Callable[..., Any]:
    def join(tensors: Any, axis: int = 0) -> Tensor:
        return getattr(undertow, own)([undertow.as_tensor(t) for t in tensors], axis)

    return join


def _promoted(*values: Any) -> list[Tensor]:
    """Convert the values to tensors of the dtype that NumPy would compute in."""
    tensors = [undertow.as_tensor(v) for v in values]
    dtype = tensors[0].dtype
    for t in tensors:
        dtype = undertow.promote_types(dtype, t.dtype)
    return [t.to(dtype) for t in tensors]


def _all_tensors(own: str) -> Callable[..., Any]:
    return lambda *values: getattr(undertow, own)(*_promoted(*values))


def _list_of_tensors(own: str) -> Callable[..., Any]:
    return lambda tensors: getattr(undertow, own)([undertow.as_tensor(t) for t in tensors])


def _where(condition: Any, x: Any, y: Any) -> Tensor:
    return undertow.where(undertow.as_tensor(condition).to(undertow.bool), _operand(x), _operand(y))


def _clip(a: Any, a_min: Any = None, a_max: Any = None, **bounds: Any) -> Tensor:
    low, high = bounds.pop("min", a_min), bounds.pop("max", a_max)
    if bounds:
        raise _unsupported("np.clip with " + ", ".join(bounds))
    return undertow.clamp(a, None if low is None else _operand(low), None if high is None else _operand(high))


def _tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    first, second = _promoted(a, b)
    return undertow.tensordot(first, second, dims=axes)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "concatenate": _joined("cat"),
    "stack": _joined("stack"),
    **{name: _list_of_tensors(name) for name in ("vstack", "hstack", "dstack", "column_stack")},
    "where": _where,
    "clip": _clip,
    "dot": lambda a, b: _dot(*_promoted(a, b)),
    "inner": _all_tensors("inner"),
    "outer": lambda a, b: undertow.outer(*(t.reshape(-1) for t in _promoted(a, b))),
    "kron": _all_tensors("kron"),
    "tensordot": _tensordot,
    "einsum": lambda equation, *operands: undertow.einsum(equation, *_promoted(*operands)),
    "transpose": lambda a, axes=None: a.permute(tuple(range(a.dim()))[::-1] if axes is None else tuple(axes)),
    "swapaxes": lambda a, axis1, axis2: a.transpose(axis1, axis2),
    "moveaxis": lambda a, source, destination: a.movedim(source, destination),
    "expand_dims": lambda a, axis: a.unsqueeze(axis),
    "broadcast_to": lambda array, shape: array.broadcast_to(shape),
    "reshape": lambda a, shape: a.reshape(shape),
    "ravel": lambda a: a.reshape(-1),
    "flip": lambda m, axis=None: m.flip(tuple(range(m.dim())) if axis is None else axis),
    "roll": lambda a, shift, axis=None: a.roll(shift) if axis is None else a.roll(shift, axis),
    "tile": lambda A, reps: A.tile(reps if isinstance(reps, tuple) else (reps,)),
    "trace": lambda a: a.trace(),
    "tril": lambda m, k=0: m.tril(k),
    "triu": lambda m, k=0: m.triu(k),
    "diag": lambda v, k=0: undertow.diag(v, k),
    "sort": lambda a, axis=-1: a.reshape(-1).sort(0)[0] if axis is None else a.sort(axis)[0],
}
_FFT = (*("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2"), "fftshift", "ifftshift")
_FFT_ARGUMENTS = {"axis": "dim", "axes": "dim"}
_LINALG = ("inv", "det", "solve", "cholesky", "pinv")
_BY_METHOD = ("sum", "prod", "mean", "std", "var", "amax", "amin", "max", "min", "cumsum", "cumprod")  # np.f calls a.f
_WITHOUT_VALUES = ("shape", "ndim", "size", "result_type", "can_cast", "iscomplexobj", "isrealobj", "array_repr", "array_str")


def _dot(a: Tensor, b: Tensor) -> Tensor:
    if a.dim() == 0 or b.dim() == 0:
        return a * b
    return undertow.matmul(a, b) if b.dim() == 1 else undertow.tensordot(a, b, dims=([-1], [-2]))


def array_function(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute NumPy's `func(*args, **kwargs)` where at least one argument is a tensor."""
    if not _needs_history((args, tuple(kwargs.values()))) or func.__name__ in _WITHOUT_VALUES:
        if func.__module__ == "numpy" and func.__name__ in _BY_METHOD and isinstance(args[0], Tensor):
            return _tensor(func(args[0].numpy(), *args[1:], **kwargs), keep_bool=False)  # not our method, which has no `axis`
        return func._implementation(*args, **kwargs)
    name = func.__name__
    if func.__module__ == "numpy.linalg" and name in _LINALG:
        return getattr(undertow.linalg, name)(*_promoted(*args), **kwargs)
    if func.__module__ == "numpy.linalg" and name == "norm":
        return _norm(*args, **kwargs)
    if func.__module__ == "numpy.fft" and name in _FFT and kwargs.get("out") is None:
        kwargs = {k: v for k, v in kwargs.items() if k != "out"}
        return getattr(undertow.fft, name)(*args, **{_FFT_ARGUMENTS.get(k, k): v for k, v in kwargs.items()})
    if func.__module__ != "numpy":
        raise _unsupported(f"{func.__module__.replace('numpy', 'np')}.{name}")
    if name in _BY_METHOD:
        return _by_method(name, *args, **kwargs)
    own = _FUNCTIONS.get(name)
    if own is None:
        raise _unsupported(f"np.{name}")
    try:
        return own(*args, **kwargs)
    except TypeError as error:
        if "argument" not in str(error):
            raise
        raise _unsupported(f"np.{name} with these arguments ({error})") from error


def _norm(x: Tensor, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    return undertow.linalg.norm(x, ord, axis, keepdims)


def _by_method(name: str, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: int = 0, keepdims: Any = False, **rest: Any) -> Any:
    if out is not None or dtype is not None or rest or not isinstance(a, Tensor):
        raise _unsupported(f"np.{name} with out, dtype, where or initial")
    keepdims = keepdims is True
    if name in ("cumsum", "cumprod"):
        return getattr(undertow, name)(a.reshape(-1) if axis is None else a, 0 if axis is None else axis)
    if name in ("std", "var"):
        return getattr(undertow, name)(a, axis, correction=ddof, keepdim=keepdims)
    own = {"max": "amax", "min": "amin"}.get(name, name)
    if own == "mean":
        return undertow.mean(a, tuple(range(a.dim())) if axis is None else axis, keepdim=keepdims)
    return _reduced(own, f"np.{name}", a, axis, keepdims)
