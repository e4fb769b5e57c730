"""Put the core's operators into the modules where torch has them.

The core keeps them in one flat table, `_C._ops`, by dotted name: "exp", "nn.functional.relu".
"""

from __future__ import annotations

from undertow._C import _ops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def publish(module: str, namespace: dict[str, Any]) -> list[str]:
    """Put the operators of `module` ("" is the package itself) into `namespace`, and return their names.

    Names that the namespace already defines are not replaced.

    >>> from undertow._namespace import publish
    >>> found = {}
    >>> "exp" in publish("", found), callable(found["exp"])
    (True, True)
    """
    if not module:
        names = {name: fn for name, fn in _ops.items() if "." not in name}
    else:
        start = module + "."
        names = {
            name[len(start) :]: fn
            for name, fn in _ops.items()
            if name.startswith(start) and "." not in name[len(start) :]
        }
    for name, fn in names.items():
        namespace.setdefault(name, fn)
    return list(names)
