"""The context of a running fake kernel, which `library.get_ctx` returns."""

from __future__ import annotations

from contextlib import contextmanager

from undertow._library._parts import place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from undertow._library._overload import LibraryOverload


class FakeImplCtx:
    """What a fake kernel can ask for. There are no symbolic sizes, so an operator whose result's shape depends on values has no fake result."""

    def __init__(self, op: LibraryOverload) -> None:
        self._op = op

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> Any:
        """Raise NotImplementedError: a size that is not known before the operator runs cannot be represented."""
        raise NotImplementedError(
            f"{self._op.name()}: the fake kernel asks for a size that depends on values (new_dynamic_size); tensors without values cannot have one"
        )

    create_unbacked_symint = new_dynamic_size


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
