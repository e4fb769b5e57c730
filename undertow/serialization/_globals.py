"""The closed table of globals that a PyTorch file may use: how tensors, parameters and a few containers are built.

Does not read files: storages are passed in.
"""

from __future__ import annotations

from argparse import Namespace
from collections import Counter, OrderedDict
from pickle import UnpicklingError

import undertow
from undertow import _C
from undertow._C import Tensor, UntypedStorage
from undertow.serialization._allowed import allowed, is_allowed_class
from undertow.serialization._pickle_reader import Builder, builder_of, check_key
from undertow.storage import TypedStorage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow.serialization._pickle_reader import Machine

MOST_DIMENSIONS = 64
_LARGEST = (1 << 63) - 1
_MOST_REPEATED = 1 << 30  # torch saves an expanded tensor with strides of zero: many elements in few bytes
DTYPES = {
    "Float": _C.float32,
    "Double": _C.float64,
    "Half": _C.float16,
    "BFloat16": _C.bfloat16,
    "Long": _C.int64,
    "Int": _C.int32,
    "Short": _C.int16,
    "Char": _C.int8,
    "Byte": _C.uint8,
    "Bool": _C.bool,
    "ComplexFloat": _C.complex64,
    "ComplexDouble": _C.complex128,
}  # by the names of torch's storage classes
# Those without such a class: torch writes their tensors over untyped storages.
_UNTYPED = (_C.uint16, _C.uint32, _C.uint64, _C.complex32)
_FLOAT8 = (_C.float8_e4m3fn, _C.float8_e5m2, _C.float8_e4m3fnuz, _C.float8_e5m2fnuz, _C.float8_e8m0fnu)
_DTYPE_NAMES = {str(dtype).rpartition(".")[2]: dtype for dtype in (*DTYPES.values(), *_UNTYPED, *_FLOAT8)}


class StorageType(Builder):
    """`torch.FloatStorage` and similar classes; dtype None means bytes. Used in references to storages, never called."""

    __slots__ = ("dtype",)

    def __init__(self, name: str, dtype: Any) -> None:
        super().__init__(name)
        self.dtype = dtype


def check_layout(nbytes: int, dtype: Any, offset: Any, size: Any, stride: Any) -> None:
    """Raise for an invalid layout, or one that exceeds its storage. See Note [Sizes From Files]."""
    if type(offset) is not int or not isinstance(size, tuple) or not isinstance(stride, tuple):
        raise UnpicklingError("corrupt pickle: a tensor's offset, size and stride must be an int and two tuples")
    if len(size) != len(stride) or len(size) > MOST_DIMENSIONS:
        raise UnpicklingError(f"corrupt pickle: a tensor of {len(size)} sizes and {len(stride)} strides")
    if any(type(n) is not int or n < 0 for n in (offset, *size, *stride)):
        raise UnpicklingError(f"corrupt pickle: a tensor's sizes {size}, strides {stride} and offset {offset} must be non-negative ints")
    numel = 1
    for n in size:
        numel *= n
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if numel and (last + 1) * dtype.itemsize > nbytes:
        raise UnpicklingError(
            f"corrupt pickle: a tensor of size {size}, stride {stride} and offset {offset} of {dtype} is out of bounds for storage of {nbytes} bytes"
        )
    if numel > _MOST_REPEATED and numel * dtype.itemsize > nbytes:
        raise UnpicklingError(
            f"corrupt pickle: size {size} and stride {stride} repeats {nbytes} bytes as {numel} elements; at most {_MOST_REPEATED} are loaded"
        )
    if max(numel * dtype.itemsize, offset, *size, *stride, 0) > _LARGEST:
        raise UnpicklingError(f"corrupt pickle: a tensor of size {size} and stride {stride} is larger than any memory")


def check_bools(storage: UntypedStorage) -> None:
    """Raise for bytes other than 0 and 1, because kernels assume these values for bool."""
    if storage.device.type != "meta" and storage.nbytes() and _C._tensor_over(storage, _C.uint8, 0, (storage.nbytes(),), (1,)).amax().item() > 1:
        raise UnpicklingError("corrupt file: a bool storage contains bytes other than 0 and 1")


def _tensor(storage: Any, dtype: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any, metadata: Any) -> Tensor:
    if type(requires_grad) is not bool:
        raise UnpicklingError("corrupt pickle: requires_grad must be a bool")
    if not isinstance(hooks, (dict, type(None))) or not isinstance(metadata, (dict, type(None))):
        raise UnpicklingError("corrupt pickle: a tensor's hooks and metadata must be dicts")
    if hooks:
        raise UnpicklingError("Weights only load failed: a tensor with backward hooks, which are code")
    check_layout(storage.nbytes(), dtype, offset, size, stride)
    t = _C._tensor_over(storage, dtype, offset, size, stride)
    for name, value in (metadata or {}).items():
        if name not in ("conj", "neg") or value is not True:
            raise UnpicklingError(f"Weights only load failed: a tensor with metadata {name!r}")
        t = t.conj() if name == "conj" else t._neg_view()
    return (t.detach() if metadata else t).requires_grad_(requires_grad)


def _rebuild_meta_tensor(m: Machine, dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Tensor:
    if not isinstance(dtype, _C.dtype) or type(requires_grad) is not bool:
        raise UnpicklingError("corrupt pickle: a meta tensor needs a dtype, sizes, strides and a bool")
    check_layout(_LARGEST, dtype, 0, size, stride)
    return undertow.empty_strided(size, stride, dtype=dtype, device="meta").requires_grad_(requires_grad)


def _layout(m: Machine, name: Any) -> Any:
    found = getattr(_C, name.removeprefix("torch."), None) if type(name) is str else None
    if not isinstance(found, _C.layout):
        raise UnpicklingError(f"corrupt pickle: the layout {name!r}")
    return found


def _rebuild_sparse(m: Machine, layout: Any, parts: Any) -> Tensor:
    from undertow.sparse import _create

    if type(parts) is not tuple or not all(type(t) is Tensor and t.layout is _C.strided for t in parts[:2]):
        raise UnpicklingError("corrupt pickle: a sparse tensor needs indices, values and a size")
    try:  # the constructors check that indices are within the size
        if layout is _C.sparse_coo and len(parts) in (3, 4) and parts[0].dtype is _C.int64:
            coalesced = bool(parts[3]) if len(parts) > 3 else None
            return _create.sparse_coo_tensor(parts[0], parts[1], _size(m, parts[2]), is_coalesced=coalesced, check_invariants=True)
        if layout in _create.COMPRESSED and len(parts) == 4 and type(parts[2]) is Tensor:
            return _create.sparse_compressed_tensor(*parts[:3], _size(m, parts[3]), layout=layout)
    except (RuntimeError, IndexError, TypeError) as error:
        raise UnpicklingError(f"corrupt pickle: a sparse tensor: {error}") from error
    raise UnpicklingError(f"corrupt pickle: a sparse tensor of layout {layout} with {len(parts)} parts")


def _rebuild_tensor(m: Machine, storage: Any, offset: Any, size: Any, stride: Any) -> Tensor:
    return _rebuild_tensor_v2(m, storage, offset, size, stride, False, None)


def _rebuild_tensor_v2(m: Machine, storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any, metadata: Any = None) -> Tensor:
    if type(storage) is not TypedStorage:
        raise UnpicklingError(f"corrupt pickle: a tensor over a {type(storage).__name__}")
    return _tensor(storage.untyped(), storage.dtype, offset, size, stride, requires_grad, hooks, metadata)


def _rebuild_tensor_v3(
    m: Machine, storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any, dtype: Any, metadata: Any = None
) -> Tensor:
    if type(storage) not in (TypedStorage, UntypedStorage) or not isinstance(dtype, _C.dtype):
        raise UnpicklingError(f"corrupt pickle: a tensor of {dtype} over a {type(storage).__name__}")
    untyped = storage.untyped()
    if dtype is _C.bool:
        m.spend(untyped.nbytes())
        check_bools(untyped)
    return _tensor(untyped, dtype, offset, size, stride, requires_grad, hooks, metadata)


def _rebuild_parameter(m: Machine, data: Any, requires_grad: Any, hooks: Any) -> Tensor:
    if not isinstance(data, Tensor) or type(requires_grad) is not bool or not isinstance(hooks, (dict, type(None))) or hooks:
        raise UnpicklingError("corrupt pickle: a Parameter needs a tensor, a bool and no hooks")
    return _C.Parameter(data.detach(), requires_grad)


def _rebuild_train_variable(m: Machine, value: Any, trainable: Any, name: Any, constraint: Any, requires_grad: Any) -> Tensor:
    from undertow.train import Variable

    if constraint is not None:
        raise UnpicklingError("Weights only load failed: a train.Variable with a constraint, which is code")
    if type(value) is not Tensor or type(name) is not str or type(trainable) is not bool or type(requires_grad) is not bool:
        raise UnpicklingError("corrupt pickle: a train.Variable needs a tensor, a name and two bools")
    m.spend(value.nbytes)
    return Variable(value, trainable, name).requires_grad_(requires_grad)


def _with_attributes(m: Machine, t: Tensor, state: Any) -> Tensor:
    if getattr(type(t), "__setstate__", None) is not None:  # of a class that the user has allowed
        t.__setstate__(m.loadable(state))  # type: ignore[attr-defined]
        return t
    parts = state if isinstance(state, tuple) and len(state) == 2 else (state, None)  # attributes, and those in slots
    if any(type(part) not in (dict, type(None)) for part in parts):
        raise UnpicklingError("Weights only load failed: a tensor whose state is not a dict of attributes")
    attributes = [item for part in parts for item in (part or {}).items()]
    m.spend(len(attributes))
    is_users = is_allowed_class(type(t))  # whose attributes may have the names of methods, such as `values`
    for name, value in attributes:
        if type(name) is not str or name.startswith("__") or (hasattr(Tensor, name) and not is_users):
            raise UnpicklingError(f"Weights only load failed: the attribute {name!r} of a tensor")
        setattr(t, name, m.loadable(value))
    return t


def _rebuild_parameter_with_state(m: Machine, data: Any, requires_grad: Any, hooks: Any, state: Any) -> Tensor:
    return _with_attributes(m, _rebuild_parameter(m, data, requires_grad, hooks), state)


def _tensor_class(cls: Any) -> Any:
    """Return the class of tensors that the user has allowed and a file names, or None."""
    return cls.users if isinstance(cls, Builder) and isinstance(cls.users, type) and issubclass(cls.users, Tensor) else None


def _rebuild_wrapper(m: Machine, cls: Any, dtype: Any, size: Any, stride: Any, offset: Any, layout: Any, device: Any, requires_grad: Any) -> Tensor:
    users = _tensor_class(cls)
    kinds = (_C.dtype, _C.layout, _C.device, bool)
    if users is None or not all(map(isinstance, (dtype, layout, device, requires_grad), kinds)):
        raise UnpicklingError("corrupt pickle: a wrapper of tensors needs an allowed class, a dtype, a layout, a device and a bool")
    check_layout(_LARGEST, dtype, offset, size, stride)
    return wrapper_of(users, dtype, size, stride, offset, layout, device, requires_grad)


def wrapper_of(cls: type, dtype: Any, size: Any, stride: Any, storage_offset: int, layout: Any, device: Any, requires_grad: bool) -> Tensor:
    """Return a tensor without memory of a class that wraps tensors."""
    return Tensor._make_wrapper_subclass(cls, size, stride, storage_offset, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def _rebuild_from_type_v2(m: Machine, make: Any, cls: Any, arguments: Any, state: Any) -> Tensor:
    users = _tensor_class(cls)
    if make not in _MAKE_TENSORS or (cls not in (_TENSOR, _PARAMETER) and users is None) or not isinstance(arguments, tuple):
        name = cls.name if isinstance(cls, Builder) else cls
        raise UnpicklingError(f"Weights only load failed: a tensor of the class {name}")
    t = make.call(m, *arguments)
    if cls is _PARAMETER and not isinstance(t, _C.Parameter):
        t = _C.Parameter(t.detach(), t.requires_grad)
    return _with_attributes(m, t if users in (None, type(t)) else of_class(t, users), state)


def of_class(t: Tensor, cls: Any) -> Any:
    """Return a loaded tensor as an instance of `cls`: a parameter is a leaf and no view, other subclasses are views, as in torch."""
    return Tensor._make_subclass(cls, t.detach(), t.requires_grad) if issubclass(cls, _C.Parameter) else t.as_subclass(cls)


def _size(m: Machine, sizes: Any = ()) -> Any:
    if not isinstance(sizes, (tuple, list)) or len(sizes) > MOST_DIMENSIONS or any(type(n) is not int or abs(n) > _LARGEST for n in sizes):
        raise UnpicklingError("corrupt pickle: torch.Size with elements that are not ints")
    return _C.Size(sizes)


def _device(m: Machine, name: Any, index: Any = None) -> Any:
    if type(name) is not str or len(name) > 64 or (index is not None and type(index) is not int):
        raise UnpicklingError("corrupt pickle: torch.device needs a name and a number")
    return _C.device(name if index is None else f"{name}:{index}")


def _ordered(m: Machine, pairs: Any = ()) -> OrderedDict:
    if not isinstance(pairs, (list, tuple)) or any(not isinstance(p, (list, tuple)) or len(p) != 2 for p in pairs):
        raise UnpicklingError("corrupt pickle: an OrderedDict whose items are not pairs")
    m.spend(len(pairs))
    result: OrderedDict = OrderedDict()
    m.filled(result, [part for pair in pairs for part in pair])
    return result


def _counter(m: Machine, counts: Any = None) -> Counter:
    if counts is not None and type(counts) is not dict:
        raise UnpicklingError("corrupt pickle: a Counter whose argument is not a dict")
    m.spend(len(counts or ()))
    return Counter(counts)


def _elements(m: Machine, items: Any) -> list[Any]:
    if type(items) not in (list, tuple, set):
        raise UnpicklingError(f"corrupt pickle: a set of a {type(items).__name__}")
    m.spend(len(items))
    return [check_key(item) for item in items]


def _encode(m: Machine, text: Any, encoding: Any) -> bytes:
    if type(text) is not str or encoding not in ("latin1", "latin-1"):
        raise UnpicklingError("Weights only load failed: _codecs.encode with arguments other than text and latin1")
    m.spend(len(text))
    return text.encode("latin-1")


def _bytearray(m: Machine, data: Any = b"", *encoding: Any) -> bytearray:
    if type(data) is str and len(encoding) == 1:
        data = _encode(m, data, encoding[0])
    elif type(data) is not bytes or encoding:
        raise UnpicklingError(f"Weights only load failed: a bytearray of a {type(data).__name__}")
    m.spend(len(data))
    return bytearray(data)


def _complex(m: Machine, real: Any, imag: Any) -> complex:
    if type(real) not in (int, float) or type(imag) not in (int, float):
        raise UnpicklingError("corrupt pickle: a complex number whose arguments are not two numbers")
    return complex(real, imag)


_TENSOR = Builder("torch.Tensor")
_PARAMETER = Builder("torch.nn.Parameter")
_MAKE_TENSORS = [
    Builder("torch._utils._rebuild_tensor", _rebuild_tensor),
    Builder("torch._utils._rebuild_meta_tensor_no_storage", _rebuild_meta_tensor),
    Builder("torch._utils._rebuild_tensor_v2", _rebuild_tensor_v2),
    Builder("torch._utils._rebuild_tensor_v3", _rebuild_tensor_v3),
    Builder("torch._utils._rebuild_parameter", _rebuild_parameter),
    Builder("torch._utils._rebuild_wrapper_subclass", _rebuild_wrapper),
]
_GLOBALS: dict[str, Any] = {
    **{b.name: b for b in _MAKE_TENSORS},
    "torch._utils._rebuild_parameter_with_state": Builder("torch._utils._rebuild_parameter_with_state", _rebuild_parameter_with_state),
    "torch._tensor._rebuild_from_type_v2": Builder("torch._tensor._rebuild_from_type_v2", _rebuild_from_type_v2),
    "torch._utils._rebuild_sparse_tensor": Builder("torch._utils._rebuild_sparse_tensor", _rebuild_sparse),
    "undertow.train._variable._rebuilt": Builder("undertow.train._variable._rebuilt", _rebuild_train_variable),
    "torch.serialization._get_layout": Builder("torch.serialization._get_layout", _layout),
    "torch.Tensor": _TENSOR,
    "torch.nn.parameter.Parameter": _PARAMETER,
    "torch.Size": Builder("torch.Size", _size),
    "torch.device": Builder("torch.device", _device),
    "torch.storage.UntypedStorage": StorageType("torch.storage.UntypedStorage", None),
    "argparse.Namespace": Builder("argparse.Namespace", new=Namespace),
    "collections.OrderedDict": Builder("collections.OrderedDict", _ordered),
    "collections.Counter": Builder("collections.Counter", _counter),
    "builtins.set": Builder("builtins.set", lambda m, items=(): set(_elements(m, items))),
    "builtins.frozenset": Builder("builtins.frozenset", lambda m, items=(): frozenset(_elements(m, items))),
    "builtins.complex": Builder("builtins.complex", _complex),
    "builtins.bytearray": Builder("builtins.bytearray", _bytearray),
    "_codecs.encode": Builder("_codecs.encode", _encode),
}
for _name, _dtype in DTYPES.items():
    for _place in ("torch", "torch.cuda"):
        _GLOBALS[f"{_place}.{_name}Storage"] = StorageType(f"{_place}.{_name}Storage", _dtype)
_GLOBALS.update({f"torch.{name}": dtype for name, dtype in _DTYPE_NAMES.items()})


def find(module: str, name: str) -> Any:
    """Return the object of the table for a global name in a pickle; raise with the name if there is none."""
    path = f"{'builtins' if module == '__builtin__' else module}.{name}"
    found = _GLOBALS.get(path)
    if found is not None:
        return found
    if module in ("sys", "os", "posix", "nt"):  # they start programs and delete files, so they cannot be allowed
        raise UnpicklingError(
            f"Weights only load failed. Unsupported global: GLOBAL {module}.{name} cannot be allowed: unsupported GLOBAL {module}.{name} whose "
            f"module {module} is blocked"
        )
    users = allowed(path)
    if users is not None:
        return builder_of(path, users)
    if module == "torch" and (name.endswith("Storage") or name.startswith(("uint", "int", "float", "complex", "q", "bits"))):
        raise UnpicklingError(f"Weights only load failed: {module}.{name}: this dtype is not supported")
    raise UnpicklingError(
        f"Weights only load failed. Unsupported global: GLOBAL {module}.{name} was not an allowed global: a file may refer to any function of any "
        "library, and load does not call them; it builds tensors, parameters, numbers, strings and plain containers. If you trust the file and have "
        f"{name}, allow it with undertow.serialization.add_safe_globals([{name}]); or open the file with the library that wrote it, and "
        "save the state_dict()"
    )


def is_known(module: str, name: str) -> bool:
    """Return True if a file may use this global."""
    try:
        find(module, name)
    except UnpicklingError:
        return False
    return True
