"""Random numbers in tests: the same on every call, and none taken from the program's; torch.testing._utils."""

from __future__ import annotations

import contextlib

import undertow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


@contextlib.contextmanager
def freeze_rng_state() -> Iterator[None]:
    """Whatever is drawn inside, the generator goes on afterwards as if it had not been."""
    with undertow.random.fork_rng():
        yield


def wrapper_set_seed(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What op returns when its random numbers begin anew.

    >>> import undertow as ut
    >>> bool((wrapper_set_seed(ut.rand, 3) == wrapper_set_seed(ut.rand, 3)).all())
    True
    """
    with freeze_rng_state():
        undertow.manual_seed(42)
        return op(*args, **kwargs)
