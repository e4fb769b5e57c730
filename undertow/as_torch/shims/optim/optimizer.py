"""Names, besides `Optimizer`, that optimizers written for torch import from `torch.optim.optimizer`.

Callers cannot choose compilation, capture or fusion, so most of these return their arguments unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import undertow
from undertow._C import Tensor
from undertow.optim.optimizer import _Required as _RequiredParameter

ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
StateDict: TypeAlias = dict[str, Any]
DeviceDict: TypeAlias = dict[Any, Tensor]
Args: TypeAlias = tuple[Any, ...]
Kwargs: TypeAlias = dict[str, Any]
GlobalOptimizerPreHook: TypeAlias = Callable[..., Any]
GlobalOptimizerPostHook: TypeAlias = Callable[..., None]

_params_doc = "params: tensors, (name, tensor) pairs, or dicts of groups with their own options"
_foreach_doc = "foreach (bool, optional): accepted; each group is updated in one native call"
_fused_doc = "fused (bool, optional): accepted; each group is updated in one native call"
_capturable_doc = "capturable (bool, optional): accepted; there is no graph capture"
_differentiable_doc = "differentiable (bool, optional): whether steps are recorded by autograd (default: False)"
_maximize_doc = "maximize (bool, optional): maximize the objective instead of minimizing it (default: False)"


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate `step`: it is recorded only if the optimizer is differentiable."""
    from functools import wraps

    @wraps(func)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        with undertow.set_grad_enabled(bool(self.defaults.get("differentiable", False))):
            return func(self, *args, **kwargs)

    return step


def _get_value(x: Any) -> Any:
    return x.item() if isinstance(x, Tensor) else x


def _stack_if_compiling(x: Any) -> Any:
    return x


def _dispatch_sqrt(x: Any) -> Any:
    return x.sqrt() if isinstance(x, Tensor) else x**0.5


def _to_scalar(x: Any) -> Any:
    return x.squeeze() if isinstance(x, Tensor) and x.dim() != 0 else x


def _get_scalar_dtype(is_fused: bool | None = None) -> Any:
    return undertow.float64 if not is_fused and undertow.get_default_dtype() == undertow.float64 else undertow.float32


def _view_as_real(params: list[Tensor], *state_and_grads: list[Tensor]) -> None:
    for i, p in enumerate(params):
        if p.is_complex():
            for each in (params, *state_and_grads):
                each[i] = undertow.view_as_real(each[i])


def _default_to_fused_or_foreach(params: list[Tensor], differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    return False, False


def _disable_dynamo_if_unsupported(single_tensor_fn: Callable[..., Any] | None = None) -> Callable[..., Any]:
    return lambda func: func


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    return []


def _get_foreach_kernels_supported_devices() -> list[str]:
    return []


def _get_fused_kernels_supported_devices() -> list[str]:
    return ["cpu"]


def _device_dtype_check_for_fused(p: Tensor, cuda_unsupported: bool = False) -> None:
    if not p.is_floating_point():
        raise RuntimeError(f"`fused=True` requires all the params to be floating point Tensors of supported devices, but got {p.dtype}")


__all__ = [
    "Args",
    "DeviceDict",
    "GlobalOptimizerPostHook",
    "GlobalOptimizerPreHook",
    "Kwargs",
    "ParamsT",
    "StateDict",
    "_RequiredParameter",
    "_capturable_doc",
    "_default_to_fused_or_foreach",
    "_device_dtype_check_for_fused",
    "_differentiable_doc",
    "_disable_dynamo_if_unsupported",
    "_dispatch_sqrt",
    "_foreach_doc",
    "_fused_doc",
    "_get_capturable_supported_devices",
    "_get_foreach_kernels_supported_devices",
    "_get_fused_kernels_supported_devices",
    "_get_scalar_dtype",
    "_get_value",
    "_maximize_doc",
    "_params_doc",
    "_stack_if_compiling",
    "_to_scalar",
    "_use_grad_for_differentiable",
    "_view_as_real",
]
