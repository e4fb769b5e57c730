"""The layers, by family."""

from undertow.nn.modules._lazy_layers import *  # noqa: F403
from undertow.nn.modules._lazy_layers import __all__ as _lazy_layers
from undertow.nn.modules._lazy_norms import *  # noqa: F403
from undertow.nn.modules._lazy_norms import __all__ as _lazy_norms
from undertow.nn.modules.activation import *  # noqa: F403
from undertow.nn.modules.activation import __all__ as _activation
from undertow.nn.modules.adaptive import AdaptiveLogSoftmaxWithLoss
from undertow.nn.modules.attention import MultiheadAttention
from undertow.nn.modules.batchnorm import *  # noqa: F403
from undertow.nn.modules.batchnorm import __all__ as _batchnorm
from undertow.nn.modules.channelshuffle import ChannelShuffle
from undertow.nn.modules.container import Container, ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from undertow.nn.modules.conv import *  # noqa: F403
from undertow.nn.modules.conv import __all__ as _conv
from undertow.nn.modules.distance import CosineSimilarity, PairwiseDistance
from undertow.nn.modules.dropout import *  # noqa: F403
from undertow.nn.modules.dropout import __all__ as _dropout
from undertow.nn.modules.flatten import Flatten, Unflatten
from undertow.nn.modules.fold import Fold, Unfold
from undertow.nn.modules.instancenorm import *  # noqa: F403
from undertow.nn.modules.instancenorm import __all__ as _instancenorm
from undertow.nn.modules.linear import Bilinear, Identity, Linear
from undertow.nn.modules.linear_cross_entropy import LinearCrossEntropyLoss, LinearCrossEntropyOptions
from undertow.nn.modules.loss import *  # noqa: F403
from undertow.nn.modules.loss import __all__ as _loss
from undertow.nn.modules.module import Module
from undertow.nn.modules.normalization import *  # noqa: F403
from undertow.nn.modules.normalization import __all__ as _normalization
from undertow.nn.modules.padding import *  # noqa: F403
from undertow.nn.modules.padding import __all__ as _padding
from undertow.nn.modules.pixelshuffle import PixelShuffle, PixelUnshuffle
from undertow.nn.modules.pooling import *  # noqa: F403
from undertow.nn.modules.pooling import __all__ as _pooling
from undertow.nn.modules.rnn import *  # noqa: F403
from undertow.nn.modules.rnn import __all__ as _rnn
from undertow.nn.modules.sparse import Embedding, EmbeddingBag
from undertow.nn.modules.transformer import *  # noqa: F403
from undertow.nn.modules.transformer import __all__ as _transformer
from undertow.nn.modules.upsampling import Upsample, UpsamplingBilinear2d, UpsamplingNearest2d

__all__ = [
    "AdaptiveLogSoftmaxWithLoss",
    "Bilinear",
    "ChannelShuffle",
    "Container",
    "CosineSimilarity",
    "Embedding",
    "EmbeddingBag",
    "Flatten",
    "Fold",
    "Identity",
    "Linear",
    "LinearCrossEntropyLoss",
    "LinearCrossEntropyOptions",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiheadAttention",
    "PairwiseDistance",
    "ParameterDict",
    "ParameterList",
    "PixelShuffle",
    "PixelUnshuffle",
    "Sequential",
    "Unflatten",
    "Unfold",
    "Upsample",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
    *_activation,
    *_conv,
    *_lazy_layers,
    *_lazy_norms,
    *_loss,
    *_normalization,
    *_instancenorm,
    *_dropout,
    *_batchnorm,
    *_padding,
    *_pooling,
    *_rnn,
    *_transformer,
]
