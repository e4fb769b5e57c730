"""Undertow: eager tensors that remember how they were made, and an engine that runs the chain rule backwards through that memory."""

from undertow import _C
from undertow._C import *  # noqa: F403
from undertow._C import Parameter, Tensor

__version__ = "0.1.0"
globals().update({name: fn for name, fn in _C._ops.items() if "." not in name})

from undertow._creation import as_tensor, asarray  # noqa: E402
from undertow._einsum import einsum  # noqa: E402
from undertow.random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state  # noqa: E402
