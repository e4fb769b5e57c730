"""`cuda` on a machine without: queries say there is none, seeds and caches do nothing, the rest raises as torch's does."""

from undertow.cuda._absent import *
from undertow.cuda._absent import __all__


def __getattr__(name: str) -> object:
    if name in ("amp", "nvtx"):  # loaded when they are first named
        from importlib import import_module

        return import_module(f"undertow.cuda.{name}")
    raise AttributeError(f"module 'undertow.cuda' has no attribute {name!r}")
