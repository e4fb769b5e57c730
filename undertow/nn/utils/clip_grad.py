"""Gradient clipping."""

from __future__ import annotations

import undertow
from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def _tensors(given: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [given] if isinstance(given, Tensor) else list(given)


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [p.grad for p in _tensors(parameters) if p.grad is not None]


def get_total_norm(
    tensors: Tensor | Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """Return the norm of the elements of all tensors together."""
    tensors = _tensors(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return undertow.tensor(0.0)
    with undertow.no_grad():
        norms = [undertow.linalg.vector_norm(t, norm_type) for t in tensors]
        total = undertow.linalg.vector_norm(undertow.stack([n.to(norms[0].device) for n in norms]), norm_type)
    if error_if_nonfinite and undertow.logical_or(total.isnan(), total.isinf()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be clipped. To disable this "
            "error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None) -> None:
    """Scale the gradients in place by max_norm / total_norm, if total_norm exceeds max_norm."""
    with undertow.no_grad():
        factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        for grad in _gradients(parameters):
            grad.mul_(factor.to(grad.device))


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """Scale the gradients in place so that their total norm is at most max_norm; return the original norm.

    >>> import undertow as ut
    >>> w = ut.zeros(4, requires_grad=True)
    >>> (w * 3).sum().backward()
    >>> ut.nn.utils.clip_grad_norm_([w], 1.0)
    tensor(6.)
    >>> w.grad.norm()
    tensor(1.0000)
    """
    parameters = _tensors(parameters)
    if any(hasattr(p, "_sharding") for p in parameters):  # parts of parameters that several processes share
        from undertow.distributed.tensor._norms import total_norm

        total = total_norm(parameters, norm_type, error_if_nonfinite)
    else:
        total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(*args: Any, **kwargs: Any) -> Tensor:
    """Deprecated: use `clip_grad_norm_`."""
    import warnings

    warnings.warn("`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.", FutureWarning, stacklevel=2)
    return clip_grad_norm_(*args, **kwargs)


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Clamp every element of the gradients to +-clip_value, in place."""
    value = float(clip_value)
    with undertow.no_grad():
        for grad in _gradients(parameters):
            grad.clamp_(min=-value, max=value)
