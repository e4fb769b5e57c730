"""Library operators under vmap: the registered rule, or one call for each sample."""

from __future__ import annotations

import undertow
from undertow import _C
from undertow._aten import tensors_in
from undertow._vmap._function import apply_rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow._library._overload import LibraryOverload


def run_batched(op: LibraryOverload, values: dict[str, Any]) -> Any:
    """Compute a call in which a tensor is batched."""
    number = max(_C._batched_level(t) for t in tensors_in(values.values()))
    only = [a.name for a in op._schema.arguments if a.kwarg_only]
    positional = tuple(v for n, v in values.items() if n not in only)
    named = {n: values[n] for n in only}
    if op.parts.vmap is not None:
        return apply_rule(op.parts.vmap, op.name(), number, positional, named)
    if op._schema.is_mutable:
        raise RuntimeError(f"Batching rule not implemented for {op.name()}; the fallback path doesn't work on out= or view ops.")

    def one_by_one(info: Any, in_dims: Any, *args: Any, **kwargs: Any) -> Any:
        results = [op(*(_sample(a, d, i) for a, d in zip(args, in_dims, strict=True)), **kwargs) for i in range(info.batch_size)]
        if isinstance(results[0], _C.Tensor):
            return undertow.stack(results), 0
        stacked = [undertow.stack(parts) if isinstance(parts[0], _C.Tensor) else parts[0] for parts in zip(*results, strict=True)]
        return type(results[0])(stacked), type(results[0])(0 if isinstance(p, _C.Tensor) else None for p in stacked)

    return apply_rule(one_by_one, op.name(), number, positional, named)


def _sample(value: Any, dim: Any, i: int) -> Any:
    if isinstance(value, list):
        return [_sample(v, d, i) for v, d in zip(value, dim, strict=True)]
    return value if dim is None else value.select(dim, i)
