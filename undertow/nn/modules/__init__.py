"""The layers, by family."""

from undertow.nn.modules.activation import *  # noqa: F403
from undertow.nn.modules.activation import __all__ as _activation
from undertow.nn.modules.container import Container, ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from undertow.nn.modules.flatten import Flatten, Unflatten
from undertow.nn.modules.linear import Bilinear, Identity, Linear
from undertow.nn.modules.loss import *  # noqa: F403
from undertow.nn.modules.loss import __all__ as _loss
from undertow.nn.modules.module import Module
from undertow.nn.modules.padding import *  # noqa: F403
from undertow.nn.modules.padding import __all__ as _padding
from undertow.nn.modules.sparse import Embedding

__all__ = [
    "Bilinear",
    "Container",
    "Embedding",
    "Flatten",
    "Identity",
    "Linear",
    "Module",
    "ModuleDict",
    "ModuleList",
    "ParameterDict",
    "ParameterList",
    "Sequential",
    "Unflatten",
    *_activation,
    *_loss,
    *_padding,
]
