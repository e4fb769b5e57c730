"""`torch._library.custom_ops`: the class of operators made by `torch.library.custom_op`."""

from undertow._library._custom_op import CustomOpDef
from undertow.library import custom_op

__all__ = ["CustomOpDef", "custom_op"]
