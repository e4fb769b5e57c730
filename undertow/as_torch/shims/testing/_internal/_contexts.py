"""Context managers for tests: seeds, default dtypes, the garbage collector, temporary files."""

from __future__ import annotations

import contextlib
import gc
import os
import random
import tempfile
import warnings

import undertow as ut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

SEED = 1234


def set_rng_seed(seed: int | None = None) -> None:
    """Set the seeds of Python's, NumPy's (if it is imported) and our generators."""
    import sys

    seed = SEED if seed is None else seed
    ut.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed)


@contextlib.contextmanager
def freeze_rng_state() -> Iterator[None]:
    """Restore the state of our generator at the end of the block."""
    with ut.random.fork_rng():
        yield


@contextlib.contextmanager
def set_default_dtype(dtype: Any) -> Iterator[None]:
    before = ut.get_default_dtype()
    try:
        ut.set_default_dtype(dtype)
        yield
    finally:
        ut.set_default_dtype(before)


@contextlib.contextmanager
def disable_gc() -> Iterator[None]:
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


@contextlib.contextmanager
def set_warn_always_context(new_val: bool) -> Iterator[None]:
    """Set Python's warning filters, which our warnings respect."""
    with warnings.catch_warnings():
        warnings.simplefilter("always" if new_val else "default")
        yield


@contextlib.contextmanager
def TemporaryFileName(*args: Any, **kwargs: Any) -> Iterator[str]:
    """Create a temporary file that is deleted at the end of the block; return its name."""
    handle, name = tempfile.mkstemp(*args, **kwargs)
    os.close(handle)
    try:
        yield name
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


@contextlib.contextmanager
def TemporaryDirectoryName(suffix: str | None = None) -> Iterator[str]:
    with tempfile.TemporaryDirectory(suffix=suffix) as name:
        yield name


@contextlib.contextmanager
def suppress_warnings_context() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
