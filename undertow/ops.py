"""Operators by namespace and name: `ops.mylib.name` of what a program made with `library.custom_op`, and `ops.aten.name` of what is here.

An operator of `aten` is the public function of that name, whatever overload is asked for: `ops.aten.add.Tensor` is `add`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class _Namespace:
    """The operators of one namespace, as attributes."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> Any:
        from undertow.library import _ops

        try:
            return _ops[f"{self.name}::{name}"]
        except KeyError:
            raise AttributeError(f"no operator {self.name}::{name}; library.custom_op makes one", name=name, obj=self) from None


class _Overloads:
    """A function, and under the name of any overload the same function."""

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
    """The functions of torch's core, by the names it has for them."""

    def __getattr__(self, name: str) -> _Overloads:
        import undertow
        from undertow import _inside
        from undertow._C import _ops

        prefix, _, rest = name.partition("_")
        home = getattr(undertow, prefix, None) if prefix in ("linalg", "special", "fft") else undertow
        base = rest if home is not undertow else name
        places = (vars(_inside).get(name), getattr(home, base, None), _ops.get(f"_nn.{name}"), getattr(undertow.nn.functional, name, None))
        found = next((f for f in places if callable(f)), None) or getattr(undertow.Tensor, name, None)
        if found is None:
            raise AttributeError(f"no operator aten::{name} is here", name=name, obj=self)
        overloads = self.__dict__[name] = _Overloads(name, found)
        return overloads


aten = _Aten()


def load_library(path: str) -> None:
    """Refuses, as torch refuses a library that cannot be loaded: what is compiled against PyTorch's C++ needs PyTorch."""
    from undertow import library

    library._refused.append(path)
    raise OSError(f"{path}: operators compiled for PyTorch cannot be loaded: there is no libtorch here")


def __getattr__(name: str) -> _Namespace:
    from undertow.library import _ops

    if any(op.startswith(f"{name}::") for op in _ops):
        return _Namespace(name)
    raise AttributeError(f"module 'undertow.ops' has no operators of the namespace {name!r}")
