"""Names of torch.autograd that are not in undertow.autograd: its profiler's, and the modules of this folder."""

from undertow._C import _profiler_enabled
from undertow.profiler import kineto_available

__all__ = ["_profiler_enabled", "kineto_available"]
