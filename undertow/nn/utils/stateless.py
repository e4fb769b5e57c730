"""The old name of `undertow.func.functional_call`, and its context manager, which packages import from here."""

from __future__ import annotations

import warnings

from undertow.func._functional_call import _named, _tied
from undertow.func._functional_call import _reparametrize_module as _reparametrize_module
from undertow.func._functional_call import functional_call as _functional_call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow._C import Tensor
    from undertow.nn.modules.module import Module

__all__ = ["functional_call"]

def _untie_named_tensors_map(module: Module, parameters_and_buffers: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the given tensors under all names of the parameters they replace."""
    return _tied(parameters_and_buffers, _named(module))


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Deprecated: use `undertow.func.functional_call`. Call a module with other tensors instead of its own."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future version of PyTorch. "
        "Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
