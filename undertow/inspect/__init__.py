"""See what backward() did: record passes, draw, explain and compare them, and step through them.

`__init__.pyi` lists the names, which are loaded on first use.
"""

from undertow._lazy import attach_stub as _attach_stub

__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)
