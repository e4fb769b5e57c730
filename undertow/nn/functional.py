"""The functions that layers use: activations, losses, normalisations."""

from __future__ import annotations

import warnings

from undertow._C import Tensor, _ops
from undertow._lazy import explain_missing as _explain_missing
from undertow._namespace import publish as _publish
from undertow._override import overridable as _overridable
from undertow.nn._functions.attention import multi_head_attention_forward
from undertow.nn._functions.ctc import ctc_loss
from undertow.nn._functions.dropout import *  # noqa: F403
from undertow.nn._functions.dropout import __all__ as _dropouts
from undertow.nn._functions.embedding import embedding
from undertow.nn._functions.embedding_bag import embedding_bag
from undertow.nn._functions.fold import fold, unfold
from undertow.nn._functions.grid_sample import affine_grid, grid_sample
from undertow.nn._functions.interpolate import *  # noqa: F403
from undertow.nn._functions.interpolate import __all__ as _interpolations
from undertow.nn._functions.losses import *  # noqa: F403
from undertow.nn._functions.losses import __all__ as _losses
from undertow.nn._functions.margin_losses import *  # noqa: F403
from undertow.nn._functions.margin_losses import __all__ as _margin_losses
from undertow.nn._functions.normalization import *  # noqa: F403
from undertow.nn._functions.normalization import __all__ as _normalizations
from undertow.nn._functions.padding import *  # noqa: F403
from undertow.nn._functions.padding import __all__ as _padding
from undertow.nn._functions.pooling import *  # noqa: F403
from undertow.nn._functions.pooling import __all__ as _pooling
from undertow.nn._functions.pooling_special import *  # noqa: F403
from undertow.nn._functions.pooling_special import __all__ as _special_pooling
from undertow.nn._functions.shuffle import *  # noqa: F403
from undertow.nn._functions.shuffle import __all__ as _shuffles
from undertow.nn._linear_cross_entropy import linear_cross_entropy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from undertow import dtype as _dtype


def _implicit_dim(name: str, ndim: int, stacklevel: int) -> int:
    """Return the implicit dim of softmax: dimension 0 for inputs with 0, 1 or 3 dimensions, otherwise dimension 1."""
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1


@_overridable
def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: _dtype | None = None) -> Tensor:
    """Compute the softmax: exp(input) divided by its sum along dim.

    >>> import undertow as ut
    >>> softmax(ut.zeros(2), dim=0)
    tensor([0.5000, 0.5000])
    """
    if dim is None:
        dim = _implicit_dim("softmax", input.dim(), _stacklevel)
    return _ops["softmax"](input, dim, dtype)


@_overridable
def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: _dtype | None = None) -> Tensor:
    """Compute the logarithm of softmax(input) directly, without computing softmax."""
    if dim is None:
        dim = _implicit_dim("log_softmax", input.dim(), _stacklevel)
    return _ops["log_softmax"](input, dim, dtype)


@_overridable
def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: _dtype | None = None) -> Tensor:
    """Compute softmax(-input)."""
    if dim is None:
        dim = _implicit_dim("softmin", input.dim(), _stacklevel)
    return _ops["softmax"](-input, dim, dtype)


@_overridable
def normalize(input: Tensor, p: float = 2.0, dim: int | tuple[int, ...] | None = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """Divide `input` by its p-norm along dim, or by eps if that is larger."""
    bound = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return input / bound if out is None else _ops["div"](input, bound, out=out)


__all__ = [
    *_publish("nn.functional", globals()),
    *_dropouts,
    *_interpolations,
    "linear_cross_entropy",
    *_losses,
    *_margin_losses,
    *_normalizations,
    *_padding,
    *_pooling,
    *_shuffles,
    *_special_pooling,
    "affine_grid",
    "ctc_loss",
    "embedding",
    "embedding_bag",
    "fold",
    "grid_sample",
    "log_softmax",
    "multi_head_attention_forward",
    "normalize",
    "softmax",
    "softmin",
    "unfold",
]

__getattr__ = _explain_missing(__name__)
