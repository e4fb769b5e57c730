"""What exists only so that programs written for torch find a name: `shims.x.y` is `torch.x.y`, or the names that it lacks.

See README.md.
"""

from undertow._lazy import attach_stub as _attach_stub

__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__, private=True)
