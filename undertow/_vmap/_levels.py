"""The transforms that run now.

Every vmap, and every transform that differentiates, takes a number when it starts: later ones are
greater, so of two that are nested the inner is greater. A batched tensor (Note [Batched Tensors] in
core/autograd/batched.h) knows the number of its vmap; batched at several, it is a wrapper around a
wrapper, the greatest number outside.
"""

from __future__ import annotations

from contextlib import contextmanager
from itertools import count
from threading import local

from undertow import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class Level:
    """One running transform: a vmap has a size and a randomness, one that differentiates has none."""

    __slots__ = ("depth", "internal", "number", "randomness", "size")

    size: Any  # an int for a vmap, else None: rules of vmap need not ask

    def __init__(self, number: int, depth: int, size: int | None, randomness: str, internal: bool) -> None:
        self.number = number
        self.depth = depth  # as messages and repr count it: 1 is the outermost
        self.size = size
        self.randomness = randomness
        self.internal = internal  # of the package itself: the function does not count as transformed


class _Stack(local):
    def __init__(self) -> None:
        self.levels: list[Level] = []


_stack = _Stack()
_numbers = count(1)
alive: dict[int, Level] = {}  # of all threads: the engine's workers compute on batched tensors too


def _publish() -> None:
    """Tell the core what recorders and attributes must know."""
    levels = _stack.levels
    grads = [level.number for level in levels if level.size is None]
    random = any(level.size is not None for level in levels)
    inside = any(not level.internal for level in levels)
    _C._set_transforms(inside, random, grads[-1] if grads else -1)


@contextmanager
def running(size: int | None = None, randomness: str = "error", *, internal: bool = False) -> Iterator[Level]:
    """A level, for as long as a transform calls its function."""
    level = Level(next(_numbers), len(_stack.levels) + 1, size, randomness, internal)
    alive[level.number] = level
    _stack.levels.append(level)
    _publish()
    try:
        yield level
    finally:
        _stack.levels.pop()
        del alive[level.number]
        _publish()


@contextmanager
def outside(level: Level) -> Iterator[None]:
    """What runs here runs as if outside of `level`, at whatever level contains it."""
    kept = _stack.levels
    _stack.levels = kept[: kept.index(level)]
    _publish()
    try:
        yield
    finally:
        _stack.levels = kept
        _publish()


def innermost_vmap() -> Level | None:
    return next((level for level in reversed(_stack.levels) if level.size is not None), None)


def vmaps() -> list[Level]:
    """The vmaps that run on this thread, outermost first."""
    return [level for level in _stack.levels if level.size is not None]
