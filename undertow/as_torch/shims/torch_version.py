"""A version string with version comparison: `torch.__version__ >= "1.10"` and `>= (2, 0)`, which plain strings get wrong or reject."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["TorchVersion"]

_NUMBERS = re.compile(r"\d+")


def _key(version: Any) -> tuple[int, ...]:
    """Return the release as a tuple of numbers without trailing zeros; text after a + or a letter is ignored."""
    if isinstance(version, (tuple, list)):
        version = ".".join(str(part) for part in version)
    release = re.match(r"\s*v?(\d+(?:\.\d+)*)", str(version))
    if release is None:
        raise ValueError(f"not a version: {version!r}")
    numbers = [int(n) for n in _NUMBERS.findall(release.group(1))]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


class TorchVersion(str):
    """A version string that compares with strings and tuples by release.

    >>> from undertow.as_torch.shims.torch_version import TorchVersion
    >>> TorchVersion("2.13.0+undertow") >= "2.2", TorchVersion("2.13.0") < (3, 0)
    (True, True)
    """

    def __eq__(self, other: object) -> bool:
        try:
            return _key(self) == _key(other)
        except ValueError:
            return str.__eq__(self, other) is True

    def __lt__(self, other: Any) -> bool:
        return _key(self) < _key(other)

    def __gt__(self, other: Any) -> bool:
        return _key(self) > _key(other)

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return str.__hash__(self)
