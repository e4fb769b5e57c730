"""Names of torch.multiprocessing that are not in undertow.multiprocessing."""

__all__ = ["_get_thread_name", "_set_thread_name"]


def _set_thread_name(name: str) -> None:
    """Set the name of this thread, as debuggers show it."""
    import threading

    threading.current_thread().name = name


def _get_thread_name() -> str:
    """Return the name of this thread."""
    import threading

    return threading.current_thread().name
