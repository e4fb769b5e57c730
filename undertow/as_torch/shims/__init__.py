"""Names that exist only for programs written for torch: `shims.x.y` is the module `torch.x.y`, or the names missing from `undertow.x.y`.

See README.md.
"""

from undertow._lazy import attach_stub as _attach_stub

__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__, private=True)
