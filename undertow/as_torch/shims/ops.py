"""`torch.ops.aten`: each operator is the public function of that name, for all overloads.

`ops.aten.add.Tensor` is `add`. Operators created with `library.custom_op` are in undertow/ops.py.
"""

from __future__ import annotations

import undertow
from undertow._C import _ops
from undertow.as_torch import shims
from undertow.as_torch.shims import _aten_functions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["aten"]


class _Overloads:
    """A function; every overload name is an attribute that returns the same function."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.__name__ = self.__qualname__ = name
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._function

    def __repr__(self) -> str:
        return f"<ops.aten.{self.__name__}>"


class _Aten:
    """The functions of torch's core, by torch's names."""

    def __getattr__(self, name: str) -> _Overloads:
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
        overloads = self.__dict__[name] = _Overloads(name, found)
        return overloads


aten: _Aten = _Aten()
