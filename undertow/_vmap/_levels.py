"""The active transforms.

Every vmap, and every transform that differentiates, gets a number when it starts. Numbers increase, so of
two nested transforms the inner one has the greater number. A batched tensor (Note [Batched Tensors] in
core/autograd/delegated/batched.h) stores the number of its vmap. A tensor batched at several levels is a wrapper
around a wrapper, with the greatest number outermost.
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
    """One active transform. A vmap has a size and a randomness; a transform that differentiates has neither."""

    __slots__ = ("arguments", "by_reverse", "depth", "internal", "number", "only_tangents", "randomness", "size")

    size: Any  # an int for a vmap, otherwise None; Any, so that batching rules need no None check

    def __init__(
        self, number: int, depth: int, size: int | None, randomness: str, internal: bool, only_tangents: bool, arguments: tuple[Any, ...]
    ) -> None:
        self.number = number
        self.depth = depth  # shown in messages and repr; 1 is the outermost
        self.size = size
        self.randomness = randomness
        self.internal = internal  # used by the package itself; the function is not treated as transformed
        self.only_tangents = only_tangents  # of jacfwd: it maps over tangents, so values are the same for every sample
        self.by_reverse = False  # a jvp inside of a jvp, which is computed without tangents
        self.arguments = arguments  # of a transform that differentiates: the tensors that its function may write


class _Stack(local):
    def __init__(self) -> None:
        self.levels: list[Level] = []


_stack = _Stack()
_numbers = count(1)
alive: dict[int, Level] = {}  # of all threads: the engine's workers compute on batched tensors too


def _publish() -> None:
    """Pass the state that recorders and attributes need to the core."""
    levels = _stack.levels
    grads = tuple((level.number, level.arguments) for level in levels if level.size is None)
    random = any(level.size is not None for level in levels)
    inside = any(not level.internal for level in levels)
    _C._set_transforms(inside, random, grads)


@contextmanager
def outside_inference_mode() -> Iterator[None]:
    """Context manager: leave inference mode temporarily, because derivatives need tensors that can be recorded. Grad mode stays off."""
    if not _C.is_inference_mode_enabled():
        yield
        return
    guard = _C._enter_inference_mode(False)
    _C._set_grad_enabled(False)
    try:
        yield
    finally:
        _C._exit_inference_mode(guard)


@contextmanager
def running(
    size: int | None = None,
    randomness: str = "error",
    *,
    internal: bool = False,
    only_tangents: bool = False,
    arguments: tuple[Any, ...] = (),
) -> Iterator[Level]:
    """Context manager: a level that is active while a transform calls its function."""
    level = Level(next(_numbers), len(_stack.levels) + 1, size, randomness, internal, only_tangents, arguments)
    alive[level.number] = level
    _stack.levels.append(level)
    _publish()
    try:
        if size is None:
            with outside_inference_mode():
                yield level
        else:
            yield level
    finally:
        _stack.levels.pop()
        del alive[level.number]
        _publish()


@contextmanager
def outside(level: Level) -> Iterator[None]:
    """Context manager: leave `level` and the levels inside it temporarily."""
    kept = _stack.levels
    _stack.levels = kept[: kept.index(level)]
    _publish()
    try:
        yield
    finally:
        _stack.levels = kept
        _publish()


def innermost_grad() -> Level | None:
    return next((level for level in reversed(_stack.levels) if level.size is None), None)


def innermost_vmap() -> Level | None:
    return next((level for level in reversed(_stack.levels) if level.size is not None), None)


def vmaps() -> list[Level]:
    """Return the active vmaps of this thread, outermost first."""
    return [level for level in _stack.levels if level.size is not None]
