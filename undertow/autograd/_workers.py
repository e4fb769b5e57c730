"""The number of CPU threads of a backward pass."""

from __future__ import annotations

from undertow import _C


def set_num_workers(n: int) -> None:
    """Set on how many CPU threads a backward pass runs independent branches of the graph; 1, the default, uses only the calling thread.

    The setting is for the whole process. Gradients are bitwise equal for any number. More workers pay off if the graph has branches of
    large operations; a pass of small ones takes longer. Nodes and hooks written in Python run one at a time. `set_num_threads` is another
    setting: how many threads one large operation uses. `set_multithreading_enabled(False)` keeps the passes of one thread on that thread.

    >>> import undertow as ut
    >>> ut.autograd.set_num_workers(2)
    >>> x = ut.ones(3, requires_grad=True)
    >>> (x.exp() * x.sin()).sum().backward()
    >>> ut.autograd.set_num_workers(1)
    """
    _C._set_num_workers(n)


def get_num_workers() -> int:
    """Return the number set by `set_num_workers`.

    >>> import undertow as ut
    >>> ut.autograd.get_num_workers()
    1
    """
    return _C._get_num_workers()
