"""Kernels that a program registers for operators of torch's core: `Library("aten", "IMPL").impl("add.Tensor", fn, "CPU")`.

The core's operators have no table of kernels that Python could change. A dispatch mode below all others calls the registered kernels
instead. It is active while there is one, in the thread that registered it.
"""

from __future__ import annotations

from undertow import _C
from undertow._aten import tensors_in
from undertow._library._parts import _BACKENDS, ANY_DEVICE, backend_key, fallthrough_kernel
from undertow.utils._python_dispatch import TorchDispatchMode, _stack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class _ReplacedKernels(TorchDispatchMode):
    """Calls registered kernels in place of the core's."""

    def __init__(self) -> None:
        super().__init__()
        self.kernels: dict[tuple[str, str], Callable[..., Any]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        first = next(tensors_in((*args, *kwargs.values())), None)
        device = "cpu" if first is None else first.device.type
        for key in (backend_key(device), *ANY_DEVICE):
            kernel = self.kernels.get((func.name(), key))
            if kernel is not None and kernel is not fallthrough_kernel:
                return kernel(*args, **kwargs)
        return func(*args, **kwargs)


_mode = _ReplacedKernels()


def replace_kernel(name: str, key: str, fn: Callable[..., Any], with_keyset: bool) -> Callable[[], None]:
    """Register a kernel for an operator of the core, and return the function that removes it."""
    if key.startswith(("Autograd", "Python", "FuncTorch", "ADInplaceOrView")):
        raise NotImplementedError(f"Library.impl: {name} has a derivative of its own, which cannot be replaced (key {key}); define another operator")
    if key.startswith("Autocast") or (fn is not fallthrough_kernel and key not in (*_BACKENDS.values(), *ANY_DEVICE)):
        raise NotImplementedError(f"Library.impl: kernels of {name} are chosen by the device alone; one for the key {key} would never run")
    place = name, key
    if place in _mode.kernels:
        raise RuntimeError(
            f"This is not allowed since there's already a kernel registered from python overriding {name}'s behavior for {key} dispatch key "
            "and aten namespace."
        )
    takes_keyset = with_keyset and fn is not fallthrough_kernel
    _mode.kernels[place] = (lambda *args, **kwargs: fn(frozenset((key,)), *args, **kwargs)) if takes_keyset else fn
    if _mode not in _stack.modes:
        _stack.modes.insert(0, _mode)
        _C._set_dispatch_mode(not _stack.disabled)
    return lambda: _remove(place)


def _remove(place: tuple[str, str]) -> None:
    _mode.kernels.pop(place, None)
    if not _mode.kernels and _mode in _stack.modes:
        _stack.modes.remove(_mode)
        _C._set_dispatch_mode(bool(_stack.modes) and not _stack.disabled)
