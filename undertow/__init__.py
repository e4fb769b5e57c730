"""Undertow: eager tensors that record how they were computed, and an engine that runs the chain rule backward.

The names are torch's; `__init__.pyi` lists them. Operators come from the core's table; rarely used names are loaded on first use.
"""

from math import e, inf, nan, pi
from os import environ as _environ

from undertow import _C, _tensor_methods
from undertow import autograd as autograd
from undertow._C import *  # noqa: F403
from undertow._functions.creation import as_tensor, asarray
from undertow._functions.products import chain_matmul, tensordot
from undertow._functions.tensor_functions import *  # noqa: F403
from undertow._lazy import attach_stub as _attach_stub
from undertow._namespace import publish as _publish
from undertow._tensor_methods import einsum
from undertow._tensor_str import set_printoptions
from undertow.autograd import enable_grad, inference_mode, no_grad, set_grad_enabled
from undertow.version import __version__

__array_api_version__ = "2023.12"  # version of the standard that undertow.array_api implements

newaxis = None
_publish("", globals())
_tensor_methods.install()
__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)
if _environ.get("UNDERTOW_INSPECT"):
    from undertow.inspect._program import start_from_environment as _start_from_environment

    _start_from_environment()
