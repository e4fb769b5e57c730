"""functorch's functions: those of `undertow.func`, with torch's deprecation warning."""

from __future__ import annotations

import functools
import warnings

from undertow import func
from undertow.as_torch.shims._functorch import make_functional as _functional

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _moved(name: str, function: Callable[..., Any], successor: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            f"We've integrated functorch into PyTorch. As the final step of the integration, `functorch.{name}` is deprecated as of PyTorch 2.0. "
            f"Please use `torch.func.{successor}` instead.",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    return call


_SAME = ("functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp", "vmap")
functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap = (_moved(n, getattr(func, n), n) for n in _SAME)
make_functional = _moved("make_functional", _functional.make_functional, "functional_call")
make_functional_with_buffers = _moved("make_functional_with_buffers", _functional.make_functional_with_buffers, "functional_call")
combine_state_for_ensemble = _moved("combine_state_for_ensemble", _functional.combine_state_for_ensemble, "stack_module_state")
