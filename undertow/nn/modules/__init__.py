"""The layers, by family."""

from undertow.nn.modules.activation import *  # noqa: F403
from undertow.nn.modules.activation import __all__ as _activation
from undertow.nn.modules.batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d, SyncBatchNorm
from undertow.nn.modules.container import Container, ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from undertow.nn.modules.dropout import AlphaDropout, Dropout, Dropout1d, Dropout2d, Dropout3d, FeatureAlphaDropout
from undertow.nn.modules.flatten import Flatten, Unflatten
from undertow.nn.modules.instancenorm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from undertow.nn.modules.linear import Bilinear, Identity, Linear
from undertow.nn.modules.loss import *  # noqa: F403
from undertow.nn.modules.loss import __all__ as _loss
from undertow.nn.modules.module import Module
from undertow.nn.modules.normalization import CrossMapLRN2d, GroupNorm, LayerNorm, LocalResponseNorm, RMSNorm
from undertow.nn.modules.sparse import Embedding

__all__ = [
    "AlphaDropout",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "Bilinear",
    "Container",
    "CrossMapLRN2d",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "Embedding",
    "FeatureAlphaDropout",
    "Flatten",
    "GroupNorm",
    "Identity",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
    "Linear",
    "LocalResponseNorm",
    "Module",
    "ModuleDict",
    "ModuleList",
    "ParameterDict",
    "ParameterList",
    "RMSNorm",
    "Sequential",
    "SyncBatchNorm",
    "Unflatten",
    *_activation,
    *_loss,
]
