"""Undertow: eager tensors that remember how they were made, and an engine that runs the chain rule backwards through that memory."""

from undertow import _C
from undertow._C import *  # noqa: F403
from undertow._C import Tensor
from undertow._namespace import publish as _publish

__version__ = "0.1.0"

_publish("", globals())

from undertow import _tensor_methods, autograd
from undertow._creation import as_tensor, asarray
from undertow._functions import *  # noqa: F403
from undertow._products import chain_matmul, tensordot
from undertow._tensor_methods import einsum
from undertow._tensor_str import set_printoptions
from undertow.autograd import (
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
)

_tensor_methods.install()

_MODULES = frozenset(
    ("fft", "interop", "linalg", "nn", "optim", "overrides", "random", "special", "storage", "testing", "utils")
)
# Names that live in modules few programs need; loaded on first use.
_LAZY = {
    "finfo": "_type_info",
    "iinfo": "_type_info",
    "TypedStorage": "storage",
}


def __getattr__(name: str) -> object:
    import importlib

    if name in _MODULES:
        try:
            return importlib.import_module(f"undertow.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"undertow.{name}":
                raise
    elif name in _LAZY:
        value = getattr(importlib.import_module(f"undertow.{_LAZY[name]}"), name)
        globals()[name] = value
        return value
    elif name.endswith("Tensor"):
        legacy = importlib.import_module("undertow._legacy")
        if hasattr(legacy, name):
            return getattr(legacy, name)
    elif name in _FROM_RANDOM:
        return getattr(importlib.import_module("undertow.random"), name)
    raise AttributeError(f"module 'undertow' has no attribute {name!r}")


_FROM_RANDOM = frozenset(
    ("manual_seed", "seed", "initial_seed", "get_rng_state", "set_rng_state")
)
