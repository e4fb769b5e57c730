"""Methods that change a whole module: `apply`, casts and device moves, modes, gradients."""

from __future__ import annotations

import undertow
from undertow._C import Parameter, Tensor
from undertow.utils._python_dispatch import _DisableTorchDispatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Self

    from undertow.nn.modules.module import Module


class Changes:
    """The part of Module that changes the module and everything in it."""

    if TYPE_CHECKING:
        _parameters: dict[str, Any]
        _buffers: dict[str, Any]

        def children(self) -> Iterator[Module]: ...
        def parameters(self, recurse: bool = True) -> Iterator[Parameter]: ...

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call `fn` on every submodule, then on the module itself."""
        for module in self.children():
            module.apply(fn)
        fn(self)  # type: ignore[arg-type]  # Module is the only class with this part
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace every parameter, gradient and buffer by the result of `fn`; parameters remain the same objects."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for key, param in self._parameters.items():
            if param is None:
                continue
            with undertow.no_grad():
                changed = fn(param)
                if undertow._C._is_dispatched(changed) or undertow._C._is_dispatched(param):
                    self._parameters[key] = param = Parameter(changed, param.requires_grad)  # has no memory to exchange
                elif changed.is_meta == param.is_meta:
                    param.data = changed
                else:
                    self._parameters[key] = param = Parameter(changed, param.requires_grad)
                if param.grad is not None:
                    grad = fn(param.grad)
                    param.grad = grad.requires_grad_(param.grad.requires_grad)
        for key, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[key] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move or cast parameters and buffers, in place: to(device), to(dtype), to(tensor), to(memory_format=...)."""
        with _DisableTorchDispatch():  # which must see only the conversions
            like = undertow.empty(0).to(*args, **{k: v for k, v in kwargs.items() if k != "memory_format"})
        asks_dtype = any(isinstance(a, (undertow.dtype, Tensor)) for a in (*args, *kwargs.values()))
        asks_device = any(isinstance(a, (str, int, undertow.device, Tensor)) for a in (*args[:1], kwargs.get("device"), kwargs.get("other")))
        if asks_dtype and not (like.is_floating_point() or like.is_complex()):
            raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={like.dtype}")
        format = kwargs.get("memory_format")

        def convert(t: Tensor) -> Tensor:
            dtype = like.dtype if asks_dtype and (t.is_floating_point() or t.is_complex()) else t.dtype
            device = like.device if asks_device else t.device
            if format is not None and t.dim() in (4, 5):
                return t.to(device, dtype, memory_format=format)
            return t.to(device, dtype)

        try:
            return self._apply(convert)
        except NotImplementedError as error:
            if str(error) != "Cannot copy out of meta tensor; no data!":
                raise
            raise NotImplementedError(
                f"{error} Please use {undertow.nn.Module.__module__.partition('.')[0]}.nn.Module.to_empty() instead of "
                "Module.to() when moving module from meta to a different device."
            ) from None

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move parameters and buffers to a device without copying their values."""
        return self._apply(lambda t: undertow.empty_like(t, device=device), recurse=recurse)

    def _cast(self, dtype: Any) -> Self:
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def type(self, dst_type: Any) -> Self:
        """Cast all parameters and buffers."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Self:
        """Cast floating-point parameters and buffers to float32."""
        return self._cast(undertow.float32)

    def double(self) -> Self:
        """Cast floating-point parameters and buffers to float64."""
        return self._cast(undertow.float64)

    def half(self) -> Self:
        """Cast floating-point parameters and buffers to float16."""
        return self._cast(undertow.float16)

    def bfloat16(self) -> Self:
        """Cast floating-point parameters and buffers to bfloat16."""
        return self._cast(undertow.bfloat16)

    def cpu(self) -> Self:
        """Move parameters and buffers to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Move parameters and buffers to a GPU."""
        return self._apply(lambda t: t.to("cuda" if device is None else device))

    def xpu(self, device: Any = None) -> Self:
        """Move parameters and buffers to an Intel GPU."""
        return self._apply(lambda t: t.to("xpu" if device is None else device))

    def ipu(self, device: Any = None) -> Self:
        """Move parameters and buffers to an IPU."""
        return self._apply(lambda t: t.to("ipu" if device is None else device))

    def mtia(self, device: Any = None) -> Self:
        """Move parameters and buffers to an MTIA device."""
        return self._apply(lambda t: t.to("mtia" if device is None else device))

    def share_memory(self) -> Self:
        """Move parameters and buffers to shared memory."""
        return self._apply(lambda t: t.share_memory_())

    def train(self, mode: bool = True) -> Self:
        """Set training mode in this module and all submodules."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set evaluation mode: `train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set `requires_grad` of every parameter."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of all parameters to None, or to zero."""
        for param in self.parameters():
            if param.grad is None:
                continue
            if set_to_none:
                param.grad = None
                continue
            if param.grad.grad_fn is not None:
                param.grad.detach_()
            else:
                param.grad.requires_grad_(False)
            param.grad.zero_()
