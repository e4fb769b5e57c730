"""`torch.fx._compatibility`: a decorator that documents torch's promises."""

from undertow.as_torch.shims.fx._symbolic_trace import compatibility as compatibility

__all__ = ["compatibility"]
