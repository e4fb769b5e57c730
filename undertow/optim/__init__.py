"""Optimizers, like `torch.optim`, with native updates of whole parameter groups. `__init__.pyi` lists the names."""

from undertow._lazy import attach_stub as _attach_stub

__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)
