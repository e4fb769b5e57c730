"""DistributedDataParallel for a group of one process: the mean of gradients over processes is this process's gradient."""

from __future__ import annotations

import contextlib

import undertow
from undertow import distributed
from undertow.nn.modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from undertow import device as _device

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """Averages the gradients of a module over the processes of a group. `module` is the wrapped module."""

    process_group: Any
    dim: int
    broadcast_buffers: bool
    device_ids: None
    output_device: None
    device: _device
    find_unused_parameters: bool
    static_graph: bool
    gradient_as_bucket_view: bool
    require_backward_grad_sync: bool

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        **options: Any,
    ) -> None:
        super().__init__()
        group = distributed._groups.chosen(process_group)
        if not any(p.requires_grad for p in module.parameters()):
            raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient.")
        if device_ids or output_device is not None:
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with single-device/multiple-device GPU modules or CPU "
                f"modules, but got device_ids {device_ids}, output_device {output_device}, and module parameters "
                f"{ {p.device for p in module.parameters()} }."
            )
        self.module = module
        self.process_group, self.dim, self.broadcast_buffers = group, dim, broadcast_buffers
        self.device_ids = self.output_device = None
        self.device = undertow.device("cpu")
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view, self.require_backward_grad_sync = gradient_as_bucket_view, True

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Return the module's output."""
        return self.module(*inputs, **kwargs)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Context manager: gradients are accumulated without synchronization."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    @contextlib.contextmanager
    def join(self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False) -> Iterator[None]:
        """Context manager for processes with different numbers of batches; with one process it has no effect."""
        yield

    def register_comm_hook(self, state: object, hook: Any) -> None:
        """Raise: with one process there is no communication to replace."""
        raise NotImplementedError("DistributedDataParallel.register_comm_hook is not in Undertow: planned: training over several processes")
