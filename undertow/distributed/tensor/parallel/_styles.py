"""Styles of tensor parallel layers, and parallelize_module, which applies a plan of them.

A column-wise layer followed by a row-wise one needs one message in the forward pass and one in the backward pass: the first has a part
of the outputs, which is the part of the inputs that the second needs.
"""

from __future__ import annotations

import fnmatch
from abc import ABC, abstractmethod

from undertow import nn
from undertow.distributed.tensor._sharded import divide_parameter, rows_of_rank
from undertow.distributed.tensor.parallel._exchange import Copied, Divided, Joined, Summed
from undertow.distributed.tensor.placement_types import Placement, Replicate, Shard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor
    from undertow.distributed.device_mesh import DeviceMesh

F = nn.functional


def _layout(given: Placement | None, default: Placement, allowed: tuple[Placement, ...], what: str) -> Placement:
    layout = default if given is None else given
    if layout not in allowed:
        raise NotImplementedError(f"{what}: the layout {layout} is not supported; it is one of {', '.join(map(str, allowed))}")
    return layout


class ParallelStyle(ABC):
    """How one layer is divided."""

    @abstractmethod
    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module: ...


class ColwiseParallel(ParallelStyle):
    """Each process computes a part of the outputs of a Linear or Embedding layer. The input is whole on every process.

    The output is the part, Shard(-1), or gathered with `output_layouts=Replicate()`.
    """

    def __init__(self, *, input_layouts: Placement | None = None, output_layouts: Placement | None = None, use_local_output: bool = True) -> None:
        _layout(input_layouts, Replicate(), (Replicate(),), "ColwiseParallel")
        self.output = _layout(output_layouts, Shard(-1), (Shard(-1), Replicate()), "ColwiseParallel")

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        group, whole = device_mesh.get_group(), isinstance(self.output, Replicate)
        if isinstance(module, nn.Linear):
            width = module.out_features
            for name in [name for name, p in module._parameters.items() if p is not None]:
                divide_parameter(module, name, 0, group, device_mesh)
        elif isinstance(module, nn.Embedding):
            width = module.embedding_dim
            divide_parameter(module, "weight", 1, group, device_mesh)
        else:
            raise NotImplementedError(f"ColwiseParallel currently only support nn.Linear and nn.Embedding, but got {type(module).__name__}")
        if isinstance(module, nn.Linear):
            module.register_forward_pre_hook(lambda layer, args: (Copied.apply(args[0], group), *args[1:]))
        if whole:
            module.register_forward_hook(lambda layer, args, output: Joined.apply(output, group, width))
        return module


class RowwiseParallel(ParallelStyle):
    """Each process multiplies a part of the inputs of a Linear layer, or has a part of the rows of an Embedding; outputs are summed.

    The input is the part that a column-wise layer gives, Shard(-1), or whole with `input_layouts=Replicate()`.
    """

    def __init__(self, *, input_layouts: Placement | None = None, output_layouts: Placement | None = None, use_local_output: bool = True) -> None:
        self.input = _layout(input_layouts, Shard(-1), (Shard(-1), Replicate()), "RowwiseParallel")
        _layout(output_layouts, Replicate(), (Replicate(),), "RowwiseParallel")

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        group = device_mesh.get_group()
        if isinstance(module, nn.Linear):
            divide_parameter(module, "weight", 1, group, device_mesh)
            whole, layer = isinstance(self.input, Replicate), module

            def forward(x: Tensor) -> Tensor:
                x = Divided.apply(x, group) if whole else x
                total = Summed.apply(F.linear(x, layer.weight), group)
                return total if layer.bias is None else total + layer.bias

        elif isinstance(module, nn.Embedding):
            rows = module.num_embeddings
            divide_parameter(module, "weight", 0, group, device_mesh)
            start, end = rows_of_rank(rows, group.size(), group.rank())
            table = module

            def forward(x: Tensor) -> Tensor:
                outside = (x < start) | (x >= end)
                found = F.embedding((x - start).masked_fill(outside, 0), table.weight) if end > start else None
                shape = (*x.shape, table.embedding_dim)
                mine = table.weight.new_zeros(shape) if found is None else found.masked_fill(outside.unsqueeze(-1), 0)
                return Summed.apply(mine, group)

        else:
            raise NotImplementedError(f"RowwiseParallel currently only support nn.Linear and nn.Embedding, but got {type(module).__name__}")
        module.forward = forward  # type: ignore[method-assign, assignment]
        return module


def parallelize_module(
    module: nn.Module, device_mesh: DeviceMesh | None = None, parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None, **options: Any
) -> nn.Module:
    """Divide the layers that a plan names among the processes of a mesh of one dimension, in place; return the module.

    The plan is a style for the module itself, or styles by name, in which * stands for one part: `{"layers.*.up": ColwiseParallel()}`.
    """
    if device_mesh is None:
        from undertow.distributed.device_mesh import _current

        if not _current:
            raise ValueError("parallelize_module: device_mesh must be given, or a mesh entered by `with mesh:`")
        device_mesh = _current[-1]
    if device_mesh.ndim != 1:
        raise ValueError(f"parallelize_module: the mesh must have one dimension, but it has {device_mesh.ndim}; take one, such as mesh['tp']")
    if isinstance(parallelize_plan, ParallelStyle):
        return parallelize_plan._apply(module, device_mesh)
    layers = dict(module.named_modules())
    for pattern, style in (parallelize_plan or {}).items():
        found = [layer for name, layer in layers.items() if name.count(".") == pattern.count(".") and fnmatch.fnmatchcase(name, pattern)]
        if not found:
            raise ValueError(f"parallelize_module: no module is called {pattern!r}; there are {', '.join(list(layers)[1:20])}")
        for layer in found:
            style._apply(layer, device_mesh)
    return module
