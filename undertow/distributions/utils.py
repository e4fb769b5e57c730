"""Helpers of distributions: broadcasting of parameters, conversion between probabilities and logits, lazy attributes."""

from __future__ import annotations

import numbers

import undertow
from undertow.overrides import is_tensor_like

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from undertow import Tensor

euler_constant: float = 0.57721566490153286060


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Broadcast numbers and tensors to tensors of their common shape; numbers get the dtype of the first tensor.

    >>> import undertow as ut
    >>> [t.shape for t in broadcast_all(0.0, ut.ones(2))]
    [undertow.Size([2]), undertow.Size([2])]
    """
    if not all(is_tensor_like(v) or isinstance(v, numbers.Number) for v in values):
        raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__.")
    first = next((v for v in values if isinstance(v, undertow.Tensor)), None)
    dtype, device = (undertow.get_default_dtype(), None) if first is None else (first.dtype, first.device)
    tensors = [v if is_tensor_like(v) else undertow.tensor(v, dtype=dtype, device=device) for v in values]
    return tuple(undertow.broadcast_tensors(*tensors))


def is_number(*values: Any) -> bool:
    """Return True if all values are Python numbers; the batch shape is then empty."""
    return all(isinstance(v, numbers.Number) for v in values)


def standard_normal(shape: Any, like: Tensor) -> Tensor:
    """Draw independent samples from the standard normal distribution, of the dtype and on the device of a tensor."""
    return _standard_normal(shape, like.dtype, like.device)


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    """`standard_normal` with torch's name and arguments."""
    return undertow.empty(shape, dtype=dtype, device=device).normal_()


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """Sum over the last `dim` dimensions."""
    return value.reshape(*value.shape[: value.dim() - dim], -1).sum(-1) if dim else value


def clamp_probs(probs: Tensor) -> Tensor:
    """Clamp probabilities away from 0 and 1, where logarithms are infinite."""
    eps = undertow.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """The inverse of `probs_to_logits`."""
    return undertow.sigmoid(logits) if is_binary else undertow.softmax(logits, dim=-1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Return the logarithms of probabilities, or the log-odds if `is_binary`."""
    clamped = clamp_probs(probs)
    return undertow.log(clamped) - undertow.log1p(-clamped) if is_binary else undertow.log(clamped)


class lazy_property:
    """A property that is computed once, with gradients enabled, and then stored as an attribute."""

    compute: Callable[[Any], Any]

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        self.compute, self.__doc__ = compute, compute.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with undertow.enable_grad():
            value = self.compute(instance)
        setattr(instance, self.compute.__name__, value)
        return value


def sum_last(value: Tensor, dims: int) -> Tensor:
    """Sum over the last `dims` dimensions."""
    return value.reshape((*value.shape[: value.dim() - dims], -1)).sum(-1) if dims else value


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Return the lower triangle of each matrix, up to a diagonal, row by row."""
    n = mat.shape[-1]
    if diag < -n or diag >= n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = undertow.tril_indices(n, n, diag, device=mat.device)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The inverse of `tril_matrix_to_vec`: zeros elsewhere."""
    length = vec.shape[-1]
    n = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * length + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if round(n) - n > undertow.finfo(vec.dtype).eps:
        raise ValueError(f"The size of last dimension is {length} which cannot be expressed as the lower triangular part of a square D x D matrix.")
    n = int(round(n))
    rows, columns = undertow.tril_indices(n, n, diag, device=vec.device)
    out = vec.new_zeros((*vec.shape[:-1], n, n))
    out[..., rows, columns] = vec
    return out


def _all_true(valid: Tensor) -> bool:
    """Return True if every element is, inside of vmap for every sample: arguments are checked there too."""
    while undertow._C._batched_level(valid) >= 0:
        valid = undertow._C._batched_value(valid)
    return bool(valid.all())


def _shown(value: Tensor) -> str:
    """Return the text of a value for an error; inside of vmap, one number cannot be shown as a number."""
    return f"{value}" if undertow._C._batched_level(value) < 0 else str(value)
