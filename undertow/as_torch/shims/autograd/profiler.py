"""Names of torch.autograd.profiler that are not in undertow.autograd.profiler."""

from undertow.profiler import kineto_available

__all__ = ["kineto_available"]
