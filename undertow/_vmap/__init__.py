"""Vectorised maps: `vmap`, and the batching rules with which operators compute on all samples at once.

Reading order: `_levels` (the active transforms), `_dispatch` (how the core's call finds a rule), the
rules by family, `_api`. The table key `batch` names an operator's rule.
"""

from undertow import _C
from undertow._vmap import (
    _advanced,
    _attention,
    _convolution,
    _dispatch,
    _indexing,
    _linear,
    _loss,
    _normalization,
    _pointwise,
    _random,
    _reduce,
    _shape,
    _spatial,
    _unsupported,
)
from undertow._vmap._api import vmap

__all__ = [
    "_advanced",
    "_convolution",
    "_attention",
    "_dispatch",
    "_indexing",
    "_linear",
    "_loss",
    "_normalization",
    "_pointwise",
    "_random",
    "_reduce",
    "_shape",
    "_spatial",
    "_unsupported",
    "vmap",
]

_C._set_batched_dispatch(_dispatch.dispatch)
