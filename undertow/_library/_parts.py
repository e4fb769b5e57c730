"""What programs registered for operators: kernels by dispatch key, and the functions for derivatives, vmap, tensors without values and modes.

Parts are kept by the operator's full name (`ns::name.overload`), because torch lets a program register a kernel before the operator is defined.
"""

from __future__ import annotations

import warnings
from _thread import _local

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from undertow._library._overload import LibraryOverload

_BACKENDS = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta", "mps": "MPS", "xpu": "XPU", "hpu": "HPU", "mtia": "MTIA", "xla": "XLA", "ipu": "IPU"}
_BACKENDS |= {"mkldnn": "MkldnnCPU", "hip": "HIP", "ve": "VE", "fpga": "FPGA", "maia": "MAIA", "lazy": "Lazy", "vulkan": "Vulkan"}
_BACKENDS |= {"privateuseone": "PrivateUse1"}
# Kernels under these keys serve every device.
ANY_DEVICE = ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional", "CompositeImplicitAutograd")


def backend_key(device_type: str) -> str:
    """Return torch's name of the dispatch key of a device type.

    >>> backend_key("cpu"), backend_key("meta")
    ('CPU', 'Meta')
    """
    if device_type not in _BACKENDS:
        raise RuntimeError(f"Expected one of {', '.join(_BACKENDS)} device type at start of device string: {device_type}")
    return _BACKENDS[device_type]


def fallthrough_kernel() -> None:
    """Registered for a key, it means that calls skip this key."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class Parts:
    """What is registered for one operator."""

    def __init__(self, qualname: str) -> None:
        self.qualname = qualname
        self.overload: LibraryOverload | None = None  # after the operator was defined
        self.kernels: dict[str, Callable[..., Any]] = {}
        self.takes_keyset: set[str] = set()  # keys whose kernel gets the set of keys first
        self.fake: Callable[..., Any] | None = None
        self.backward: Callable[..., Any] | None = None
        self.setup_context: Callable[..., Any] | None = None
        self.vmap: Callable[..., Any] | None = None
        self.autocast: dict[str, Any] = {}  # dtype by device type
        self.dispatch_rules: dict[type, Callable[..., Any]] = {}  # by the class of a mode or of a tensor
        self.derivative: Any = None  # the autograd Function, made when it is first needed

    def kernel(self, *keys: str) -> str | None:
        """Return the first of these keys that has a kernel."""
        return next((k for k in keys if self.kernels.get(k, fallthrough_kernel) is not fallthrough_kernel), None)

    def set_derivative(self, backward: Callable[..., Any], setup_context: Callable[..., Any] | None) -> None:
        """Register the functions of the derivative."""
        self.backward, self.setup_context, self.derivative = backward, setup_context, None


_all: dict[str, Parts] = {}
_warned: list[str] = []


def parts_of(qualname: str) -> Parts:
    """Return the parts of an operator, which need not be defined yet."""
    found = _all.get(qualname)
    if found is None:
        found = _all[qualname] = Parts(qualname)
    return found


def defined() -> Iterable[str]:
    """Return the names of the operators that are defined."""
    return [name for name, parts in _all.items() if parts.overload is not None]


def register_kernel(parts: Parts, key: str, function: Callable[..., Any], *, takes_keyset: bool = False) -> None:
    """Register a kernel; a second one for the same key replaces the first, with one warning for the whole program, as in torch."""
    if key in parts.kernels and not _warned:
        _warned.append(key)
        warnings.warn(
            "Warning only once for all operators,  other operators may also be overridden.\n"
            "  Overriding a previously registered kernel for the same operator and the same dispatch key\n"
            f"  operator: {parts.qualname}\n  dispatch key: {key}",
            UserWarning,
            stacklevel=4,
        )
    parts.kernels[key] = function
    (parts.takes_keyset.add if takes_keyset else parts.takes_keyset.discard)(key)


class _Place(_local):
    """Where this thread is in the order of a call."""

    def __init__(self) -> None:
        self.below_autograd = 0
        self.fake_context: Any = None
        self.sizes: Any = None  # those that opcheck gives to fake kernels


place = _Place()


class BelowAutograd:
    """Context manager: calls of library operators skip the kernels for derivatives, and nothing is recorded."""

    def __enter__(self) -> None:
        from undertow import no_grad

        place.below_autograd += 1
        self._no_grad = no_grad()
        self._no_grad.__enter__()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._no_grad.__exit__(kind, error, trace)
        place.below_autograd -= 1
