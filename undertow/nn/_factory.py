"""Keyword arguments that say where and as what a layer makes its tensors."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """`device`, `dtype` and `memory_format` of a layer's keyword arguments, and of a `factory_kwargs` among them; refuses others.

    >>> factory_kwargs({"device": "cpu", "factory_kwargs": {"dtype": None}})
    {'dtype': None, 'device': 'cpu'}
    """
    if kwargs is None:
        return {}
    known = {"device", "dtype", "memory_format"}
    unexpected = kwargs.keys() - known - {"factory_kwargs"}
    if unexpected:
        raise TypeError(f"unexpected kwargs {unexpected}")
    found = dict(kwargs.get("factory_kwargs", {}))
    for name in ("device", "dtype", "memory_format"):
        if name in kwargs:
            if name in found:
                raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
            found[name] = kwargs[name]
    return found
