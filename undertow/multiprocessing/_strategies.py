"""The strategy for sharing memory: file descriptors, the only one supported."""

from __future__ import annotations


def get_all_sharing_strategies() -> set[str]:
    """Return the supported strategies."""
    return {"file_descriptor"}


def get_sharing_strategy() -> str:
    """Return the current strategy."""
    return "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Set the strategy; only "file_descriptor" is supported."""
    if new_strategy not in get_all_sharing_strategies():
        raise ValueError(f"set_sharing_strategy: {new_strategy!r} is not supported; use file_descriptor, which leaves no files behind")
