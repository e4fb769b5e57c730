"""The old spectral_norm, implemented with a pre-forward hook; `parametrizations.spectral_norm` is the new one."""

from __future__ import annotations

import undertow
from undertow._C import Parameter, Tensor
from undertow.nn import functional as F
from undertow.nn.modules.module import Module
from undertow.nn.utils._norms import as_matrix, is_transposed_convolution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]


class SpectralNorm:
    """The hook that computes the weight from `name_orig` before every forward pass, with the singular vectors `name_u` and `name_v`."""

    name: str
    dim: int
    n_power_iterations: int
    eps: float

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.name, self.dim, self.n_power_iterations, self.eps = name, dim, n_power_iterations, eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """Reshape the weight to a matrix with `dim` as rows."""
        return as_matrix(weight, self.dim)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """Return the weight divided by the estimate of its norm; with `do_power_iteration`, the estimate is improved first."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with undertow.no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(undertow.mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(undertow.mv(matrix, v), dim=0, eps=self.eps))
                u, v = u.clone(), v.clone()  # copies, because the next forward pass modifies the buffers that this backward pass reads
        return weight / undertow.dot(u, undertow.mv(matrix, v))

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        with undertow.no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Replace a parameter by its original and two vectors."""
        if any(isinstance(h, SpectralNorm) and h.name == name for h in module._forward_pre_hooks.values()):
            raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        with undertow.no_grad():
            u, v = (F.normalize(weight.new_empty(n).normal_(0, 1), dim=0, eps=eps) for n in hook.reshape_weight_to_matrix(weight).shape)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        # An ordinary attribute: the hook assigns computed tensors to it, which a registered parameter would not accept.
        setattr(module, name, weight.data)
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(hook)
        return hook


def spectral_norm(module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None) -> Module:
    """Divide a weight by an estimate of its largest singular value before every forward pass."""
    if dim is None:
        dim = 1 if is_transposed_convolution(module) else 0
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Undo `spectral_norm`; the weight keeps its value."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"spectral_norm of '{name}' not found in {module}")
