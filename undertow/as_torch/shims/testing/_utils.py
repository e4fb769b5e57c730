"""`torch.testing._utils`: reproducible random numbers in tests, without effect on the program's generator."""

from __future__ import annotations

import contextlib

import undertow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


@contextlib.contextmanager
def freeze_rng_state() -> Iterator[None]:
    """Restore the state of the generator at the end of the block."""
    with undertow.random.fork_rng():
        yield


def wrapper_set_seed(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call `op` with a fixed seed.

    >>> import undertow as ut
    >>> bool((wrapper_set_seed(ut.rand, 3) == wrapper_set_seed(ut.rand, 3)).all())
    True
    """
    with freeze_rng_state():
        undertow.manual_seed(42)
        return op(*args, **kwargs)
