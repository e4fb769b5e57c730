"""Python's multiprocessing with support for tensors in queues, pipes and arguments, like `torch.multiprocessing`."""

from multiprocessing import *
from multiprocessing import __all__ as _names

from undertow.multiprocessing._reductions import init_reductions
from undertow.multiprocessing._spawn import (
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    spawn,
    start_processes,
)
from undertow.multiprocessing._strategies import get_all_sharing_strategies, get_sharing_strategy, set_sharing_strategy

__all__ = [
    *_names,
    *("ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException", "spawn", "start_processes"),
    *("get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy"),
]
init_reductions()
