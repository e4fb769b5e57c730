"""`torch.ops.aten`: each operator calls the public function of that name, for all overloads; see _ops.py.

Operators created with `library.custom_op` are in undertow/ops.py.
"""

from __future__ import annotations

import undertow
from undertow._C import _ops
from undertow.as_torch import shims
from undertow.as_torch.shims import _aten_functions
from undertow.as_torch.shims._ops import OpOverloadPacket

__all__ = ["aten"]


class _Aten:
    """The functions of torch's core, by torch's names."""

    def __getattr__(self, name: str) -> OpOverloadPacket:
        prefix, _, rest = name.partition("_")
        home = getattr(undertow, prefix, None) if prefix in ("linalg", "special", "fft") else undertow
        base = rest if home is not undertow else name
        places = (
            vars(_aten_functions).get(name),
            getattr(home, base, None),
            getattr(shims, name, None),
            _ops.get(f"_nn.{name}"),
            getattr(undertow.nn.functional, name, None),
        )
        found = next((f for f in places if callable(f)), None) or getattr(undertow.Tensor, name, None)
        if found is None:
            raise AttributeError(f"there is no operator aten::{name}", name=name, obj=self)
        packet = self.__dict__[name] = OpOverloadPacket("aten", name, found)
        return packet


aten: _Aten = _Aten()
