"""Methods of Tensor written in Python: entry points to the Python modules, and rarely used protocols.

`install` sets them on the C type, so that subclasses and `__torch_function__` treat them like any
other method.
"""

from __future__ import annotations

from undertow import _C
from undertow._C import Tensor, _has_torch_function_unary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


def _overridable(func: Callable[..., Any]) -> Callable[..., Any]:
    """Make `func` overridable with `__torch_function__` of `self`."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _has_torch_function_unary(self):
            from undertow.overrides import handle_torch_function

            return handle_torch_function(method, (self,), self, *args, **kwargs)
        return func(self, *args, **kwargs)

    method.__name__ = func.__name__
    method.__qualname__ = f"Tensor.{func.__name__}"
    method.__doc__ = func.__doc__
    method.__wrapped__ = func  # type: ignore[attr-defined]  # as functools.wraps does
    return method


def backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Sequence[Tensor] | None = None,
) -> None:
    """Compute the gradient of this tensor, weighted by `gradient`, and add it to `.grad` of the leaves.

    See `undertow.autograd.backward`.

    >>> import undertow as ut
    >>> x = ut.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """
    if _has_torch_function_unary(self):
        from undertow.overrides import handle_torch_function

        return handle_torch_function(
            Tensor.backward,
            (self,),
            self,
            gradient=gradient,
            retain_graph=retain_graph,
            create_graph=create_graph,
            inputs=inputs,
        )
    from undertow.autograd import backward as run

    return run(self, gradient, retain_graph, create_graph, inputs=inputs)


def __reduce_ex__(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    from undertow._pickle import reduce_ex

    return reduce_ex(self, protocol)


def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:
    from undertow._pickle import deepcopy

    return deepcopy(self, memo)


def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    """Return the tensor as a NumPy array that shares memory, unless `dtype` or `copy` require a copy."""
    array = self.numpy()
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError(
                f"__array__: an array of {dtype} cannot be made from {self.dtype} without a copy"
            )
        return array.astype(dtype)
    return array.copy() if copy else array


def __array_wrap__(
    self: Tensor, array: Any, context: Any = None, return_scalar: bool = False
) -> Tensor:
    """Convert the result of a NumPy function to a tensor."""
    if array.dtype == bool:
        array = array.astype("uint8")  # as torch does
    return _C.from_numpy(array)


def __array_ufunc__(self: Tensor, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Apply a NumPy ufunc to tensors, differentiably if a tensor requires grad; see `undertow._numpy`."""
    from undertow._numpy import array_ufunc

    return array_ufunc(ufunc, method, inputs, kwargs)


def __array_function__(self: Tensor, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Apply another NumPy function to tensors; see `undertow._numpy`."""
    from undertow._numpy import array_function

    return array_function(func, args, kwargs)


def __array_namespace__(self: Tensor, *, api_version: str | None = None) -> Any:
    """Return the module with the array API standard's functions for tensors."""
    from undertow import array_api

    if api_version is not None and api_version not in array_api.VERSIONS:
        raise ValueError(f"__array_namespace__: api_version must be one of {', '.join(array_api.VERSIONS)} or None, got {api_version!r}")
    return array_api


def to_device(self: Tensor, device: Any, /, *, stream: Any = None) -> Tensor:
    """Return the tensor on a device: the array API standard's name of `to`."""
    if stream is not None:
        raise ValueError(f"to_device: streams are not supported, got {stream!r}")
    return self.to(device)


def __format__(self: Tensor, spec: str) -> str:
    if self.dim() == 0 and type(self) is Tensor and not self.is_meta:
        return format(self.item(), spec)
    return object.__format__(self, spec)


def __contains__(self: Tensor, element: Any) -> bool:
    """Return True if any element equals `element`."""
    if not isinstance(element, (Tensor, bool, int, float, complex)):
        from numbers import Number  # NumPy's scalars are Numbers too

        if isinstance(element, Number):
            element = element.item()  # type: ignore[attr-defined]
    if isinstance(element, (Tensor, bool, int, float, complex)):
        return bool((self == element).any().item())
    raise RuntimeError(
        "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
        f"{type(element)}."
    )


def __complex__(self: Tensor) -> complex:
    if self.numel() != 1:
        raise ValueError(f"only one element tensors can be converted to Python scalars, but this one has {self.numel()}")
    return complex(self.item())


def __reversed__(self: Tensor) -> Tensor:
    """Return the tensor flipped along its first dimension."""
    return self if self.dim() == 0 else self.flip(0)


def __dir__(self: Tensor) -> list[str]:
    names = {*dir(type(self)), *getattr(self, "__dict__", ())}
    return sorted(name for name in names if not name[:1].isdigit())


def is_nonzero(self: Tensor) -> bool:
    """Return True if the single element is not zero."""
    if self.numel() != 1:
        what = "no values" if self.numel() == 0 else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
    return bool(self.item())


def storage(self: Tensor) -> Any:
    """Return the storage, typed with this tensor's dtype."""
    from undertow.storage import TypedStorage

    return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype)


def share_memory_(self: Tensor) -> Tensor:
    """Move the storage to memory that is shared with forked processes."""
    self.untyped_storage().share_memory_()
    return self


def einsum(equation: Any, *operands: Any) -> Tensor:
    """Compute an Einstein summation over the operands; see `undertow._functions.einsum`."""
    if isinstance(equation, str) and len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    if _C._has_torch_function(operands):
        from undertow.overrides import handle_torch_function

        return handle_torch_function(einsum, operands, equation, *operands)
    from undertow._functions.einsum import einsum as run

    return run(equation, *operands)


def is_distributed(self: Tensor) -> bool:
    """Return False: there are no distributed tensors."""
    return False


def _of_module(module: str, name: str) -> Callable[..., Any]:
    """Return a method that calls a function of a module, which is loaded on first use."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        from importlib import import_module

        return getattr(import_module(f"undertow.{module}"), name)(self, *args, **kwargs)

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = f"See `undertow.{name}`."
    return method


_ELSEWHERE = (
    *(_of_module("_functions.unique", name) for name in ("unique", "unique_consecutive")),
    *(_of_module("_functions.statistics", name) for name in ("corrcoef", "cov")),
    *(_of_module("_functions.spectrogram", name) for name in ("istft", "stft")),
    _of_module("_functions.histogram", "histogram"),
    _of_module("_functions.linear_algebra", "lu"),
    *(_of_module("_lazy_methods", name) for name in ("chalf", "cuda", "dim_order", "module_load", "new")),
    *(_of_module("_lazy_methods", name) for name in ("record_stream", "storage_type", "xpu")),
    *(_of_module("sparse._methods", name) for name in ("coalesce", "is_coalesced", "indices", "values", "sparse_dim", "dense_dim", "sparse_mask")),
    *(_of_module("sparse._methods", name) for name in ("to_dense", "to_sparse", "to_sparse_coo", "to_sparse_csr", "to_sparse_csc")),
    *(_of_module("sparse._methods", name) for name in ("to_sparse_bsr", "to_sparse_bsc", "_nnz", "_indices", "_values", "_coalesced_")),
    *(_of_module("sparse._methods", name) for name in ("crow_indices", "col_indices", "ccol_indices", "row_indices", "smm", "sspaddmm")),
    *(_of_module("sparse._methods", name) for name in ("sparse_resize_", "sparse_resize_and_clear_", "resize_as_sparse_")),
)
_NEVER = ("is_ipu", "is_maia", "is_mkldnn", "is_mtia", "is_vulkan", "is_xla", "is_xpu")  # unsupported devices and layouts
_PLAIN = (__reduce_ex__, __deepcopy__, __array__, __array_wrap__, __format__, __contains__, __complex__, __reversed__)
_OVERRIDABLE: tuple[Callable[..., Any], ...] = (*_PLAIN, is_nonzero, storage, share_memory_, *_ELSEWHERE)


def __torch_function__(
    cls: type[Tensor],
    func: Callable[..., Any],
    types: Sequence[type],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
) -> Any:
    """Run the operation and convert its results to the subclass (the default implementation)."""
    from undertow.overrides import _default_torch_function

    return _default_torch_function(cls, func, types, args, kwargs)


def __init_subclass__(cls: type[Tensor], **kwargs: Any) -> None:
    """Let a class that has a `__torch_dispatch__`, but no `__torch_function__` of its own, decide the class of its results alone."""
    super(Tensor, cls).__init_subclass__(**kwargs)
    own: Any = cls.__torch_function__
    if getattr(own, "__func__", None) is __torch_function__ and cls.__torch_dispatch__ is not Tensor.__torch_dispatch__:
        cls.__torch_function__ = _C._disabled_torch_function_impl  # type: ignore[method-assign, assignment]  # as torch's metaclass does


def __repr__(self: Tensor, *, tensor_contents: str | None = None) -> str:
    """Return the printed tensor; a class without elements of its own gives the text between the brackets."""
    from undertow._tensor_str import tensor_repr

    return tensor_repr(self, tensor_contents=tensor_contents)


def _disabled_torch_dispatch_impl(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Run the operator on the same memory, below every `__torch_dispatch__`. A class that has this function as its own is not dispatched."""
    from undertow.utils._python_dispatch import _DisableTorchDispatch

    with _DisableTorchDispatch():
        return func(*args, **(kwargs or {}))


backward.__qualname__ = "Tensor.backward"


def _generator_reduce(self: Any) -> tuple[Any, ...]:
    """Pickle a generator as its state and seed."""
    from undertow._pickle import generator_of

    return generator_of, (self.get_state(), self.initial_seed(), str(self.device))


def _storage_cast(name: str) -> Callable[[Any], Any]:
    def cast(self: Any) -> Any:
        from undertow.storage import _untyped_cast

        return _untyped_cast(self, name)

    cast.__name__, cast.__doc__ = name, "Return a typed storage with the bytes converted, one element for each byte."
    return cast


def _storage_from_buffer(*args: Any, **kwargs: Any) -> Any:
    from undertow.storage import _from_buffer

    return _from_buffer(*args, **kwargs)


def _install_storage_methods() -> None:
    """Set the rarely used methods of UntypedStorage, which are in storage.py."""
    storage: Any = _C.UntypedStorage
    for name in ("__deepcopy__", "__reduce_ex__", "__iter__", "byteswap", "get_device", "new"):
        setattr(storage, name, _of_module("storage", f"_untyped_{name.strip('_')}"))
    storage.from_buffer = staticmethod(_storage_from_buffer)
    storage.__copy__ = storage.clone
    storage.is_sparse = storage.is_sparse_csr = storage.is_hpu = False
    for name in ("bfloat16", "bool", "byte", "char", "double", "float", "half", "int", "long", "short", "complex_float", "complex_double"):
        setattr(storage, name, _storage_cast(name))


def install() -> None:
    """Set the methods on the C types."""
    _install_storage_methods()
    _C.Generator.__reduce__ = _generator_reduce  # type: ignore[method-assign]  # on the C type
    tensor: Any = Tensor  # whose stub declares them
    for func in _OVERRIDABLE:
        setattr(Tensor, func.__name__, _overridable(func))
    tensor.backward = backward
    tensor.__torch_function__ = classmethod(__torch_function__)
    tensor.__torch_dispatch__ = _disabled_torch_dispatch_impl
    tensor.__init_subclass__ = classmethod(__init_subclass__)
    _C.Parameter.__torch_function__ = _C._disabled_torch_function_impl  # type: ignore[method-assign, assignment]  # as torch.nn.Parameter has it
    tensor.__dir__, tensor.__repr__ = __dir__, __repr__
    for func in (__array_ufunc__, __array_function__, __array_namespace__, to_device):
        setattr(Tensor, func.__name__, func)
    for name in _NEVER:
        setattr(Tensor, name, property(lambda self: False, doc="False: this device or layout is not supported."))
    tensor.is_distributed = is_distributed
    tensor.__cuda_array_interface__ = property(_of_module("_lazy_methods", "cuda_array_interface"))
    tensor.__array_priority__ = 1000  # NumPy's operators defer to ours
