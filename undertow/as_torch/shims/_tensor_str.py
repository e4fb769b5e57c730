"""Private names of torch._tensor_str, with which classes of tensors print themselves."""

from __future__ import annotations

from undertow._tensor_str import _contents, _options, _with_suffixes, tensor_repr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["PRINT_OPTS", "_add_suffixes", "_str", "_str_intern", "_tensor_str"]

PRINT_OPTS = _options


def _tensor_str(self: Tensor, indent: int) -> str:
    """Return the elements in brackets, without name and suffixes.

    >>> from undertow import ones
    >>> _tensor_str(ones(2, 2), 0)
    '[[1., 1.],\\n [1., 1.]]'
    """
    return _contents(self, indent)


def _add_suffixes(tensor_str: str, suffixes: list[str], indent: int, force_newline: bool) -> str:
    """Append the suffixes and a closing bracket."""
    return _with_suffixes(tensor_str, suffixes, indent, force_newline)


def _str(self: Tensor, *, tensor_contents: Any = None) -> str:
    """Return the printed form of a tensor."""
    if tensor_contents is None:
        return tensor_repr(self)
    return _with_suffixes(f"{type(self).__name__.lower()}({tensor_contents}", [], len(type(self).__name__) + 1)


def _str_intern(inp: Tensor, *, tensor_contents: Any = None) -> str:
    """Return the printed form of a tensor."""
    return _str(inp, tensor_contents=tensor_contents)
