"""Operators that a C++ library defines (`UNDERTOW_LIBRARY`), as objects of `ops`: they take Python's registrations too.

The kernels and their choice are in core/api/undertow/extension/library.cpp. Parts that were registered in Python
(`library.register_autograd`, `register_fake`, `register_kernel`, `register_vmap`) come before those of the library.
"""

from __future__ import annotations

from undertow import _C
from undertow._aten import tensors_in
from undertow._aten._schema import FunctionSchema
from undertow._library._overload import LibraryOverload, LibraryPacket
from undertow._library._parts import backend_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class CompiledOverload(LibraryOverload):
    """One overload of an operator that a C++ library defines, such as `ops.mylib.name.default`."""

    def _is_composed(self, device: str) -> bool:
        return self.parts.backward is None and not self.parts.kernels  # the library's own kernels decide about derivatives

    def _run_on_device(self, values: dict[str, Any]) -> Any:
        first = next(tensors_in(values.values()), None)
        device = "cpu" if first is None else first.device.type
        if (device == "meta" and self.parts.fake is not None) or self.parts.kernel(backend_key(device), "CompositeExplicitAutograd") is not None:
            return super()._run_on_device(values)
        return _C._library_call(self._name, tuple(values.values()), self.parts.backward is not None)


def add_to(packets: dict[str, LibraryPacket], qualname: str) -> LibraryPacket | None:
    """Add the overloads of `ns::name` that C++ libraries defined to the packet of this name, and return it; None if there are none."""
    packet = packets.get(qualname)
    for full in (n for n in _C._library_names() if n.partition(".")[0] == qualname):
        namespace, _, name = qualname.partition("::")
        if packet is None:
            packet = packets[qualname] = LibraryPacket(namespace, name)
        overload = full.partition(".")[2] or "default"
        if overload not in packet._made:
            op = CompiledOverload(packet, overload, FunctionSchema(namespace, _C._library_schema(full).partition("::")[2]))
            packet.add(overload, op)
            op.parts.overload = op
    return packet
