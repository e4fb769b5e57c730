"""Python's multiprocessing under torch's name. Tensors travel between processes by value, pickled."""

from multiprocessing import *  # noqa: F403
from multiprocessing import __all__ as _all

__all__ = [*_all, "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn"]


def get_all_sharing_strategies() -> set[str]:
    """The names that `set_sharing_strategy` accepts."""
    return {"file_descriptor", "file_system"}


def get_sharing_strategy() -> str:
    """What `set_sharing_strategy` was told."""
    return _strategy[0]


_strategy = ["file_descriptor"]


def set_sharing_strategy(new_strategy: str) -> None:
    """Remembers the name: tensors are sent by value whatever it says."""
    if new_strategy not in get_all_sharing_strategies():
        raise AssertionError(f"set_sharing_strategy: unknown strategy {new_strategy!r}; there are {sorted(get_all_sharing_strategies())}")
    _strategy[0] = new_strategy


def spawn(fn, args=(), nprocs: int = 1, join: bool = True, daemon: bool = False, start_method: str = "spawn"):  # type: ignore[no-untyped-def]
    """Runs fn(i, *args) in nprocs new processes; with join, waits for them and raises if one failed."""
    import multiprocessing

    context = multiprocessing.get_context(start_method)
    processes = [context.Process(target=fn, args=(i, *args), daemon=daemon) for i in range(nprocs)]
    for process in processes:
        process.start()
    if not join:
        return processes
    for process in processes:
        process.join()
    failed = [(i, p.exitcode) for i, p in enumerate(processes) if p.exitcode]
    if failed:
        raise RuntimeError(f"spawn: process {failed[0][0]} terminated with exit code {failed[0][1]}; its traceback is above")
    return None
