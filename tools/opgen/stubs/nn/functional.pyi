# The functions that layers are made of: activations, losses, normalizations.
from collections.abc import Sequence
from typing import Literal, overload

from undertow._C import Tensor
from undertow._C._functions import cosine_similarity as cosine_similarity
from undertow._C._functions import pairwise_distance as pairwise_distance
from undertow._C._types import DTypeLike, Number
from undertow.nn import grad as grad
from undertow.nn._attention import multi_head_attention_forward as multi_head_attention_forward
from undertow.nn._ctc import ctc_loss as ctc_loss
from undertow.nn._dropout import *
from undertow.nn._embedding import embedding as embedding
from undertow.nn._embedding_bag import embedding_bag as embedding_bag
from undertow.nn._fold import fold as fold
from undertow.nn._fold import unfold as unfold
from undertow.nn._grid_sample import affine_grid as affine_grid
from undertow.nn._grid_sample import grid_sample as grid_sample
from undertow.nn._interpolate import *
from undertow.nn._linear_cross_entropy import linear_cross_entropy as linear_cross_entropy
from undertow.nn._losses import *
from undertow.nn._margin_losses import *
from undertow.nn._normalization import *
from undertow.nn._padding import *
from undertow.nn._pooling import *
from undertow.nn._pooling_special import *
from undertow.nn._shuffle import *

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
