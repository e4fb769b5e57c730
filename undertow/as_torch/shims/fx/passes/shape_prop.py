"""`torch.fx.passes.shape_prop`: runs a graph and writes to each node what its result looks like."""

from __future__ import annotations

from typing import Any, NamedTuple

from undertow import Tensor
from undertow.as_torch.shims.fx.interpreter import Interpreter
from undertow.as_torch.shims.fx.node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What a tensor looks like."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, tuple(result.stride()), None, False, {})


class ShapeProp(Interpreter):
    """Writes `meta["tensor_meta"]` and `meta["type"]` of every node."""

    def __init__(self, gm: Any, fake_mode: Any = None) -> None:
        super().__init__(gm)

    def run_node(self, n: Node) -> Any:
        """Run one step and describe its result."""
        result, found = super().run_node(n), []

        def describe(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            found.append(value)
            return _extract_tensor_metadata(value)

        described = map_aggregate(result, describe)
        if found:
            n.meta["tensor_meta"] = described
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph."""
        return super().run(*args)
