"""The layers, by family."""

from undertow.nn.modules.activation import *  # noqa: F403
from undertow.nn.modules.activation import __all__ as _activation
from undertow.nn.modules.adaptive import AdaptiveLogSoftmaxWithLoss
from undertow.nn.modules.attention import MultiheadAttention
from undertow.nn.modules.batchnorm import *  # noqa: F403
from undertow.nn.modules.batchnorm import __all__ as _batchnorm
from undertow.nn.modules.container import Container, ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from undertow.nn.modules.distance import CosineSimilarity, PairwiseDistance
from undertow.nn.modules.dropout import *  # noqa: F403
from undertow.nn.modules.dropout import __all__ as _dropout
from undertow.nn.modules.flatten import Flatten, Unflatten
from undertow.nn.modules.instancenorm import *  # noqa: F403
from undertow.nn.modules.instancenorm import __all__ as _instancenorm
from undertow.nn.modules.linear import Bilinear, Identity, Linear
from undertow.nn.modules.loss import *  # noqa: F403
from undertow.nn.modules.loss import __all__ as _loss
from undertow.nn.modules.module import Module
from undertow.nn.modules.normalization import *  # noqa: F403
from undertow.nn.modules.normalization import __all__ as _normalization
from undertow.nn.modules.padding import *  # noqa: F403
from undertow.nn.modules.padding import __all__ as _padding
from undertow.nn.modules.shuffle import *  # noqa: F403
from undertow.nn.modules.shuffle import __all__ as _shuffle
from undertow.nn.modules.sparse import Embedding, EmbeddingBag

__all__ = [
    "AdaptiveLogSoftmaxWithLoss",
    "Bilinear",
    "Container",
    "CosineSimilarity",
    "Embedding",
    "EmbeddingBag",
    "Flatten",
    "Identity",
    "Linear",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiheadAttention",
    "PairwiseDistance",
    "ParameterDict",
    "ParameterList",
    "Sequential",
    "Unflatten",
    *_activation,
    *_shuffle,
    *_loss,
    *_normalization,
    *_instancenorm,
    *_dropout,
    *_batchnorm,
    *_padding,
]
