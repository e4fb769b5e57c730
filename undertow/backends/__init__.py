"""Properties and switches of the hardware and libraries that Undertow uses. `__init__.pyi` lists the modules."""

from undertow._lazy import attach_stub as _attach_stub

__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)
