"""`from_torch` and `to_torch`: PyTorch's tensors and ours over one memory, through DLPack.

Imports torch when `to_torch` is called, and never else.
"""

from __future__ import annotations

import undertow
from undertow import _C
from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_DTYPES = str.split("bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128")


def _mapped(obj: Any, convert: Callable[[Any], Any]) -> Any:
    """`convert` applied to the tensors in dicts, lists and tuples."""
    if isinstance(obj, dict):
        return {key: _mapped(value, convert) for key, value in obj.items()}
    if isinstance(obj, (list, tuple)):
        parts = [_mapped(value, convert) for value in obj]
        return type(obj)(*parts) if hasattr(obj, "_fields") else type(obj)(parts)
    return convert(obj)


def _check(name: str, t: Any) -> None:
    if t.requires_grad and not t.is_leaf:
        raise RuntimeError(f"{name}: a graph cannot go from one library to the other, and this tensor is a result ({t.grad_fn}); detach() it first")


def from_torch(obj: Any) -> Any:
    """A tensor over the memory of a tensor of PyTorch's, or dicts, lists and tuples of them: nothing is copied.

    A leaf that requires grad gives one that does, with a gradient of its own; a Parameter gives a Parameter. What is
    written through one is seen through the other.
    """
    return _mapped(obj, _from_torch)


def _from_torch(t: Any) -> Tensor:
    if isinstance(t, Tensor):
        return t
    if not any(cls.__module__.partition(".")[0] == "torch" and cls.__name__ == "Tensor" for cls in type(t).__mro__):
        raise TypeError(f"from_torch: expected a tensor of PyTorch's, or a dict, list or tuple of them, got {type(t).__name__}")
    _check("from_torch", t)
    dtype = str(t.dtype).partition(".")[2]
    if str(t.layout) != "torch.strided" or t.is_quantized:
        raise TypeError(f"from_torch: only dense tensors have one memory to share; this one is {t.layout}")
    if dtype not in _DTYPES:
        raise TypeError(f"from_torch: there is no dtype like torch.{dtype} here")
    if t.device.type != "cpu":
        raise TypeError(f"from_torch: the tensor is on {t.device}; only the CPU's memory can be shared. Use t.cpu()")
    result = undertow.from_dlpack(t.detach().resolve_conj().resolve_neg())
    if any(cls.__name__ == "Parameter" for cls in type(t).__mro__):
        return _C.Parameter(result, t.requires_grad)
    return result.requires_grad_(t.requires_grad)


def to_torch(obj: Any) -> Any:
    """A tensor of PyTorch's over this tensor's memory, or dicts, lists and tuples of them: nothing is copied.

    The rules are `from_torch`'s.
    """
    try:
        import torch
    except ImportError as error:
        raise ImportError("to_torch makes tensors of PyTorch, which is not installed here: pip install torch") from error

    def convert(t: Any) -> Any:
        if isinstance(t, torch.Tensor):
            return t
        if not isinstance(t, Tensor):
            raise TypeError(f"to_torch: expected a tensor, or a dict, list or tuple of them, got {type(t).__name__}")
        _check("to_torch", t)
        result = torch.from_dlpack(t.detach().resolve_conj().resolve_neg())
        if isinstance(t, _C.Parameter):
            return torch.nn.Parameter(result, t.requires_grad)
        return result.requires_grad_(t.requires_grad)

    return _mapped(obj, convert)
