"""`from_torch` and `to_torch`: convert between PyTorch's tensors and ours, sharing memory through DLPack.

torch is imported only when `to_torch` is called.
"""

from __future__ import annotations

import undertow
from undertow import _C
from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# The methods that return the parts of a tensor of each sparse layout.
_PARTS = {
    "sparse_coo": ("_indices", "_values"),
    "sparse_csr": ("crow_indices", "col_indices", "values"),
    "sparse_csc": ("ccol_indices", "row_indices", "values"),
    "sparse_bsr": ("crow_indices", "col_indices", "values"),
    "sparse_bsc": ("ccol_indices", "row_indices", "values"),
}
_DTYPES = str.split("bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex32 complex64 complex128")
_DTYPES += str.split("float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu")


def _mapped(obj: Any, convert: Callable[[Any], Any]) -> Any:
    """Apply `convert` to the tensors in dicts, lists and tuples."""
    if isinstance(obj, dict):
        return {key: _mapped(value, convert) for key, value in obj.items()}
    if isinstance(obj, (list, tuple)):
        parts = [_mapped(value, convert) for value in obj]
        return type(obj)(*parts) if hasattr(obj, "_fields") else type(obj)(parts)
    return convert(obj)


def _check(name: str, t: Any) -> None:
    if t.requires_grad and not t.is_leaf:
        raise RuntimeError(f"{name}: a graph cannot be shared between the libraries, and this tensor is not a leaf ({t.grad_fn}); detach() it first")


def from_torch(obj: Any) -> Any:
    """Return a tensor that shares the memory of a PyTorch tensor; also converts dicts, lists and tuples of them.

    Nothing is copied, so a change of one tensor's elements is visible in the other; sparse tensors share their indices and values.
    A leaf that requires grad becomes a leaf that requires grad, with its own gradient; a Parameter becomes a Parameter.
    """
    return _mapped(obj, _from_torch)


def is_pytorchs(value: Any) -> bool:
    """Return True for a tensor of PyTorch itself. Under as_torch, our own types are in the module torch too."""
    if isinstance(value, Tensor):
        return False
    return any(cls.__module__.partition(".")[0] == "torch" and cls.__name__ == "Tensor" for cls in type(value).__mro__)


def _from_torch(t: Any) -> Tensor:
    if isinstance(t, Tensor):
        return t
    if not is_pytorchs(t):
        raise TypeError(f"from_torch: expected a PyTorch tensor, or a dict, list or tuple of them, got {type(t).__name__}")
    _check("from_torch", t)
    dtype = str(t.dtype).partition(".")[2]
    layout = str(t.layout).partition(".")[2]
    if t.is_quantized or layout not in ("strided", *_PARTS):
        raise TypeError(f"from_torch: only strided and sparse tensors can share memory; this one is {'quantized' if t.is_quantized else t.layout}")
    if dtype not in _DTYPES:
        raise TypeError(f"from_torch: torch.{dtype} is not supported")
    if t.device.type != "cpu":
        raise TypeError(f"from_torch: the tensor is on {t.device}; only the CPU's memory can be shared. Use t.cpu()")
    plain = t.detach()
    if layout == "strided":
        result = undertow.from_dlpack(plain.resolve_conj().resolve_neg())
    else:
        result = _sparse_from_torch(plain, layout)
    if any(cls.__name__ == "Parameter" for cls in type(t).__mro__):
        return _C.Parameter(result, t.requires_grad)
    return result.requires_grad_(t.requires_grad)


def _sparse_from_torch(t: Any, layout: str) -> Tensor:
    """Create the tensor from its parts with the public constructors: they check the indices, which torch may not have done."""
    parts: Any = [*(_from_torch(getattr(t, name)()) for name in _PARTS[layout]), tuple(t.shape)]
    if layout == "sparse_coo":
        return undertow.sparse_coo_tensor(*parts, is_coalesced=t.is_coalesced())
    return undertow.sparse_compressed_tensor(*parts, layout=getattr(undertow, layout))


def to_torch(obj: Any) -> Any:
    """Return a PyTorch tensor that shares this tensor's memory; also converts dicts, lists and tuples of them.

    The same rules apply as for `from_torch`.
    """
    try:
        import torch
    except ImportError as error:
        raise ImportError("to_torch needs PyTorch, which is not installed: pip install torch") from error

    def sparse(t: Tensor) -> Any:
        layout, first, second, values, coalesced = _C._sparse_parts(t)
        parts: Any = [*(convert(part) for part in (first, second, values) if part is not None), tuple(t.shape)]
        if layout is _C.sparse_coo:
            return torch.sparse_coo_tensor(*parts, is_coalesced=coalesced, check_invariants=False)
        theirs = getattr(torch, str(layout).rpartition(".")[2])
        return torch.sparse_compressed_tensor(*parts, layout=theirs, check_invariants=False)

    def convert(t: Any) -> Any:
        if isinstance(t, torch.Tensor):
            return t
        if not isinstance(t, Tensor):
            raise TypeError(f"to_torch: expected a tensor, or a dict, list or tuple of them, got {type(t).__name__}")
        _check("to_torch", t)
        result = torch.from_dlpack(t.detach().resolve_conj().resolve_neg()) if t.layout is _C.strided else sparse(t)
        if isinstance(t, _C.Parameter):
            return torch.nn.Parameter(result, t.requires_grad)
        return result.requires_grad_(t.requires_grad)

    return _mapped(obj, convert)
