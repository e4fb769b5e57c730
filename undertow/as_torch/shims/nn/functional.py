"""Modules and functions that torch.nn.functional imports and that programs access through it."""

from undertow import conv_tbc
from undertow.nn import _reduction as _Reduction
from undertow.nn import grad as grad

__all__ = ["_Reduction", "conv_tbc", "grad"]
