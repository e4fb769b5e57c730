"""The context of a running fake kernel, which `library.get_ctx` returns."""

from __future__ import annotations

from contextlib import contextmanager

from undertow._library._parts import place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from undertow._library._overload import LibraryOverload


class DynamicSizes:
    """The sizes that fake kernels ask for in `opcheck`: first stand-ins, which no real size equals, then the sizes that a real result showed."""

    _FIRST = 1_000_003

    def __init__(self, known: list[int] | None = None) -> None:
        self.asked: list[tuple[int, int | None]] = []  # the smallest and the largest size that the kernel allows
        self._known = known

    def next(self, smallest: int, largest: int | None) -> int:
        """Return the next size."""
        self.asked.append((smallest, largest))
        number = len(self.asked) - 1
        return self._FIRST + number if self._known is None else self._known[number]

    def read_from(self, name: str, shapes: list[Any], real: list[Any]) -> DynamicSizes:
        """Return the sizes that stand in `real` where the stand-ins are in `shapes`."""
        pairs = {s: r for fake_shape, real_shape in zip(shapes, real, strict=True) for s, r in zip(fake_shape, real_shape, strict=False)}
        found = [pairs.get(self._FIRST + i, -1) for i in range(len(self.asked))]
        if -1 in found:
            raise NotImplementedError(f"{name}: a size that depends on values (new_dynamic_size) is not a size of a result, so it cannot be checked")
        for size, (smallest, largest) in zip(found, self.asked, strict=True):
            if size < smallest or (largest is not None and size > largest):
                raise AssertionError(f"{name}: a size is {size}; the fake kernel says that it is between {smallest} and {largest}")
        return DynamicSizes(found)


class FakeImplCtx:
    """What a fake kernel can ask for. There are no symbolic sizes, so a size that depends on values exists only in `opcheck`."""

    def __init__(self, op: LibraryOverload) -> None:
        self._op = op

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> Any:
        """Return a size that is not known before the operator runs; NotImplementedError outside of `opcheck`."""
        if place.sizes is not None:
            return place.sizes.next(min, max)
        raise NotImplementedError(
            f"{self._op.name()}: the fake kernel asks for a size that depends on values (new_dynamic_size); tensors without values cannot have one"
        )

    create_unbacked_symint = new_dynamic_size


@contextmanager
def known_sizes(sizes: DynamicSizes) -> Iterator[None]:
    """Context manager: fake kernels can ask for sizes that depend on values."""
    place.sizes = sizes
    try:
        yield
    finally:
        place.sizes = None


@contextmanager
def running_fake(op: LibraryOverload) -> Iterator[None]:
    """Context manager: a fake kernel runs."""
    outer, place.fake_context = place.fake_context, FakeImplCtx(op)
    try:
        yield
    finally:
        place.fake_context = outer


def get_ctx() -> Any:
    """Return the context of the fake kernel that is running, or None."""
    return place.fake_context
