"""Utilities: hooks, checkpoints, data, timers. Modules are loaded on first use."""

from undertow._lazy import attach_stub as _attach_stub

__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)
