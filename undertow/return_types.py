"""Named result types, like `torch.return_types`: `max`, `sort`, `linalg_svd`, …

Each type is found by calling its operator once on a small matrix.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_OF_MATRIX = ("cummax", "cummin", "kthvalue", "max", "median", "min", "mode", "nanmedian", "sort", "topk")
_OF_LINALG = ("eig", "eigh", "inv_ex", "lu", "lu_factor", "lu_factor_ex", "qr", "slogdet", "svd", "cholesky_ex", "lstsq")
_HISTOGRAMS = ("histogram", "histogramdd")
_PLAIN = ("aminmax", "frexp", "geqrf", "qr", "slogdet", "svd")


def __getattr__(name: str) -> Any:
    import undertow

    x = undertow.eye(2)
    if name in _OF_MATRIX:
        made = getattr(undertow, name)(x, **({"k": 1} if name in ("kthvalue", "topk") else {}), **({} if name == "topk" else {"dim": 0}))
    elif name in _HISTOGRAMS:
        made = getattr(undertow, name)(x, bins=2)
    elif name in _PLAIN:
        made = getattr(undertow, name)(x)
    elif name.startswith("linalg_") and name[7:] in _OF_LINALG:
        made = getattr(undertow.linalg, name[7:])(*((x, x) if name == "linalg_lstsq" else (x,)))
    else:
        raise AttributeError(f"module 'undertow.return_types' has no attribute {name!r}")
    value = globals()[name] = type(made)
    return value


def __dir__() -> list[str]:
    return sorted({*_OF_MATRIX, *_HISTOGRAMS, *_PLAIN, *(f"linalg_{name}" for name in _OF_LINALG)})
