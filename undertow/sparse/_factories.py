"""Functions that create tensors, with `layout=` a sparse layout or with a sparse tensor as their model. Called by the core's bindings."""

from __future__ import annotations

import undertow
from undertow import _C
from undertow.sparse._parts import BLOCKED, BY_ROWS, COO, backend, is_sparse, make_compressed, make_coo, title

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow import Tensor

# The arguments of each function, as in ops/create.toml.
_ARGUMENTS = {
    "zeros": "size dtype device",
    "empty": "size dtype memory_format device",
    "new_zeros": "self size dtype device",
    "new_empty": "self size dtype device",
    "new_ones": "self size dtype device",
    "new_full": "self size fill_value dtype device",
    "zeros_like": "self dtype memory_format device",
    "empty_like": "self dtype memory_format device",
    "ones_like": "self dtype memory_format device",
    "full_like": "self fill_value dtype memory_format device",
    "rand_like": "self generator dtype memory_format device",
    "randn_like": "self generator dtype memory_format device",
}


def create(name: str, layout: Any, args: Sequence[Any], requires_grad: bool) -> Tensor:
    """Return what a factory function creates in a layout. `args` are the arguments of its table entry."""
    given = dict(zip(_ARGUMENTS.get(name, "self").split(), args, strict=False))
    model = given.get("self")
    if isinstance(model, _C.Tensor):
        made = _from_model(name, layout, model, given)
    elif name in ("zeros", "empty"):
        made = zeros(name, layout, given["size"], given["dtype"], given["device"])
    elif name == "scalar_tensor":
        made = undertow.scalar_tensor(args[0], dtype=args[1], device=args[2])  # strided, as in torch
    else:
        raise NotImplementedError(f"{name}(...) is not implemented for sparse layout {layout}; use sparse_coo_tensor or to_sparse(layout=...)")
    return made.requires_grad_() if requires_grad else made


def _from_model(name: str, layout: Any, model: Tensor, given: dict[str, Any]) -> Tensor:
    dtype = given.get("dtype")
    if name in ("new_zeros", "new_empty") and layout is not _C.strided:
        return zeros(name, layout, given["size"], dtype or model.dtype, given["device"])
    options = {key: value for key, value in given.items() if value is not None and key not in ("self", "size")}
    if layout is _C.strided and name in _ARGUMENTS and name.startswith("new_"):
        return getattr(undertow.empty(0, dtype=model.dtype, device=model.device), name)(given["size"], **options)
    if layout is _C.strided and name in _ARGUMENTS and model.layout is COO:
        return getattr(undertow, name)(undertow.empty(model.shape, dtype=model.dtype, device=model.device), **options)
    if name == "zeros_like" and layout is not _C.strided and layout is not model.layout:
        return zeros(name, layout, model.shape, dtype or model.dtype, given["device"])
    if name not in _ARGUMENTS or not is_sparse(model) or name.startswith("new_"):
        raise NotImplementedError(f"Could not run 'aten::{name}' with arguments from the '{backend(layout)}' backend: it has no sparse form")
    if layout is model.layout:
        return getattr(undertow, name)(model, **options)
    if model.layout is not COO:
        says = f"(self is {title(model.layout)} but you requested {layout})"
        raise RuntimeError(f"empty_like with different sparse layout is not supported {says}")
    if name == "empty_like":
        return zeros("empty", layout, model.shape, dtype or model.dtype, given["device"])
    raise NotImplementedError(f"Could not run 'aten::fill_' with arguments from the '{backend(layout)}' backend: no value would be filled")


def zeros(name: str, layout: Any, size: Sequence[int], dtype: Any, device: Any) -> Tensor:
    """Return a tensor of a sparse layout that has no values: zero everywhere. Compressed layouts have batch dimensions before the last two."""
    size = tuple(size)
    if any(n < 0 for n in size):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {list(size)}")
    values = undertow.empty(0, dtype=dtype, device=device)
    if layout is COO:
        return make_coo(values.new_empty(len(size), 0, dtype=undertow.int64), values, size)
    public = "zeros" if "zeros" in name else "empty"
    if len(size) < 2:
        raise RuntimeError(f"torch.{public}: Only batched sparse compressed (non-block) tensors are supported, but got size {list(size)}")
    if layout in BLOCKED:
        raise RuntimeError(f"{public}_sparse_compressed expected sparse compressed (non-block) tensor layout but got {title(layout)}")
    batch, lines = size[:-2], size[-2] if layout in BY_ROWS else size[-1]
    bounds = values.new_zeros(*batch, lines + 1, dtype=undertow.int64)
    return make_compressed(layout, bounds, bounds.new_empty(*batch, 0), values.reshape(*batch, 0), size)
