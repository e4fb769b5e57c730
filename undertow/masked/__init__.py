"""Reductions and normalisations that ignore masked elements. There are no masked tensors."""

from undertow.masked import _ops as _ops
from undertow.masked._ops import *  # noqa: F403
from undertow.masked._ops import __all__ as __all__
from undertow.masked._ops import _canonical_dim as _canonical_dim
from undertow.masked._ops import _input_mask as _input_mask
from undertow.masked._ops import _output_mask as _output_mask
