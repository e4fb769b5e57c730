"""Tools beside the tensors: hooks, checkpoints, data, weights, timers. Modules are loaded when they are first named."""

from undertow._lazy import attach_stub as _attach_stub

__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)
