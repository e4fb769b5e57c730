# The functions that layers use: activations, losses, normalizations.
from collections.abc import Sequence
from typing import Literal, overload

from undertow._C import Tensor
from undertow._C._functions import cosine_similarity as cosine_similarity
from undertow._C._functions import pairwise_distance as pairwise_distance
from undertow._C._types import DTypeLike, Number
from undertow.nn import grad as grad
from undertow.nn._functions.attention import multi_head_attention_forward as multi_head_attention_forward
from undertow.nn._functions.ctc import ctc_loss as ctc_loss
from undertow.nn._functions.dropout import *
from undertow.nn._functions.embedding import embedding as embedding
from undertow.nn._functions.embedding_bag import embedding_bag as embedding_bag
from undertow.nn._functions.fold import fold as fold
from undertow.nn._functions.fold import unfold as unfold
from undertow.nn._functions.grid_sample import affine_grid as affine_grid
from undertow.nn._functions.grid_sample import grid_sample as grid_sample
from undertow.nn._functions.interpolate import *
from undertow.nn._functions.losses import *
from undertow.nn._functions.margin_losses import *
from undertow.nn._functions.normalization import *
from undertow.nn._functions.padding import *
from undertow.nn._functions.pooling import *
from undertow.nn._functions.pooling_special import *
from undertow.nn._functions.shuffle import *
from undertow.nn._linear_cross_entropy import linear_cross_entropy as linear_cross_entropy

_int = int
_float = float
_bool = bool

def softmax(input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: DTypeLike | None = None) -> Tensor: ...
def log_softmax(input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: DTypeLike | None = None) -> Tensor: ...
def softmin(input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: DTypeLike | None = None) -> Tensor: ...
def normalize(
    input: Tensor, p: _float = 2.0, dim: _int | tuple[_int, ...] | None = 1, eps: _float = 1e-12, out: Tensor | None = None
) -> Tensor: ...

# opgen: functions nn.functional
