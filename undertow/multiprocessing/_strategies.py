"""How memory is shared: by descriptors, the one way there is here."""

from __future__ import annotations


def get_all_sharing_strategies() -> set[str]:
    """The strategies there are."""
    return {"file_descriptor"}


def get_sharing_strategy() -> str:
    """The strategy in use."""
    return "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Accepts the one strategy there is."""
    if new_strategy not in get_all_sharing_strategies():
        raise ValueError(f"set_sharing_strategy: {new_strategy!r} is not there; memory is shared by file_descriptor, which leaves no files behind")
