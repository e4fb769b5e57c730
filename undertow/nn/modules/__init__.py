"""The layers, by family."""

from undertow.nn.modules._lazy_layers import *  # noqa: F403
from undertow.nn.modules._lazy_layers import __all__ as _lazy_layers
from undertow.nn.modules.activation import *  # noqa: F403
from undertow.nn.modules.activation import __all__ as _activation
from undertow.nn.modules.container import Container, ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from undertow.nn.modules.conv import *  # noqa: F403
from undertow.nn.modules.conv import __all__ as _conv
from undertow.nn.modules.flatten import Flatten, Unflatten
from undertow.nn.modules.fold import Fold, Unfold
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
    "Fold",
    "Identity",
    "Linear",
    "Module",
    "ModuleDict",
    "ModuleList",
    "ParameterDict",
    "ParameterList",
    "Sequential",
    "Unflatten",
    "Unfold",
    *_activation,
    *_conv,
    *_lazy_layers,
    *_loss,
    *_padding,
]
