"""GPUs of NVIDIA: devices, streams, memory, random numbers and captured graphs, with the names of `torch.cuda`.

Nothing is opened before a GPU is asked for. Without one, queries report no device, seeds and caches do nothing, and everything else raises
as in torch. `__init__.pyi` lists the names.
"""

from undertow._lazy import attach_stub as _attach_stub

__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)
