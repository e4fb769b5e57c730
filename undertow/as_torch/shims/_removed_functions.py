"""Functions that torch has removed, and that raise there: programs that catch the error find it here too."""

from __future__ import annotations

from typing import Any, NoReturn


def _removed(name: str, instead: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"This function was deprecated since version 1.9 and is now removed. Please use `{instead}` instead of `torch.{name}`.")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Raise RuntimeError: use `{instead}`."
    return function


eig: Any = _removed("eig", "torch.linalg.eig")
lstsq: Any = _removed("lstsq", "torch.linalg.lstsq")
matrix_rank: Any = _removed("matrix_rank", "torch.linalg.matrix_rank")
solve: Any = _removed("solve", "torch.linalg.solve")
symeig: Any = _removed("symeig", "torch.linalg.eigh")
