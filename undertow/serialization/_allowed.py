"""The functions and classes, besides tensors and plain containers, that the user has allowed in files: `add_safe_globals` and related functions.

A file can call an allowed function and create instances of an allowed class, so the user is responsible for what is allowed.
Nothing is imported for a file: only objects that the program has registered here are used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_allowed: dict[str, Any] = {}  # by the full name used in files


def _name(entry: Any) -> tuple[str, Any]:
    if isinstance(entry, tuple):
        if len(entry) != 2 or not isinstance(entry[1], str):
            raise ValueError(f"Expected tuple of length 2 (global, str of the global's full path), but got {entry!r}")
        return entry[1], entry[0]
    if not callable(entry):
        raise TypeError(f"add_safe_globals: expected a function, a class, or a pair of one and its full name, got {type(entry).__name__}")
    return f"{entry.__module__}.{entry.__qualname__}", entry


def add_safe_globals(safe_globals: Sequence[Callable[..., Any] | tuple[Callable[..., Any], str]]) -> None:
    """Allow these functions and classes in files, and allow `save` to write instances of these classes.

    A pair specifies the name used in files, if it differs from the object's own name.

    >>> import io
    >>> import undertow as ut
    >>> class Config:
    ...     def __init__(self):
    ...         self.width = 64
    >>> file = io.BytesIO()
    >>> with safe_globals([Config]):
    ...     ut.save({"config": Config(), "weight": ut.ones(2)}, file)
    ...     _ = file.seek(0)
    ...     ut.load(file)["config"].width
    64
    """
    _allowed.update(_name(entry) for entry in safe_globals)


def get_safe_globals() -> list[Any]:
    """Return the currently allowed objects, as given to `add_safe_globals`."""
    return [value if callable(value) and name == _own_name(value) else (value, name) for name, value in _allowed.items()]


def _own_name(value: Any) -> str:
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"


def clear_safe_globals() -> None:
    """Remove all allowed objects."""
    _allowed.clear()


class safe_globals:
    """Context manager that allows functions and classes in a block; see `add_safe_globals`."""

    safe_globals: list[Any]

    def __init__(self, safe_globals: Sequence[Any]) -> None:
        self.safe_globals = list(safe_globals)

    def __enter__(self) -> None:
        self._before = dict(_allowed)
        add_safe_globals(self.safe_globals)

    def __exit__(self, *exception: object) -> None:
        _allowed.clear()
        _allowed.update(self._before)


def allowed(path: str) -> Any:
    """Return the object allowed under this full name, or None."""
    return _allowed.get(path)


def name_of(value: Any) -> str | None:
    """Return the full name under which an object was allowed, or None."""
    return next((name for name, known in _allowed.items() if known is value), None)


def is_allowed_class(cls: type) -> bool:
    """Return True if files may contain instances of the class."""
    return name_of(cls) is not None


def set_state(target: Any, state: Any) -> None:
    """Restore the saved state of an object of an allowed class, as pickle does."""
    if hasattr(target, "__setstate__"):
        target.__setstate__(state)
        return
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    if state:
        vars(target).update(state)
    for name, value in (slots or {}).items():
        setattr(target, name, value)


def named_globals(pickled: bytes) -> list[str]:
    """Return the full names in a pickle, in order."""
    import pickletools

    found: dict[str, None] = {}
    texts: list[str] = []
    for opcode, argument, _ in pickletools.genops(pickled):
        if opcode.name == "GLOBAL":
            found[str(argument).replace(" ", ".", 1)] = None
        elif opcode.name == "STACK_GLOBAL" and len(texts) > 1:
            found[".".join(texts[-2:])] = None
        elif isinstance(argument, str):
            texts.append(argument)
    return list(found)
