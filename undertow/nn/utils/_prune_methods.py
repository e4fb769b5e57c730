"""Pruning methods: how the mask is computed, and the pre-forward hook that multiplies a parameter by its mask."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod

import undertow
from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Literal, Self

    from undertow.nn.modules.module import Module


def _validate_pruning_amount_init(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if (isinstance(amount, numbers.Integral) and amount < 0) or (not isinstance(amount, numbers.Integral) and not 0.0 <= float(amount) <= 1.0):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    if isinstance(amount, numbers.Integral) and amount > tensor_size:  # type: ignore[operator]  # typeshed gives Integral no order
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    """Return how many of `tensor_size` elements to prune."""
    if isinstance(amount, numbers.Integral):
        return amount  # type: ignore[return-value]  # as it was given: topk raises for a bool
    return round(amount * tensor_size)


def _count(amount: Any, size: int) -> int:
    """Return how many of `size` elements to prune; raise if there are not that many."""
    _validate_pruning_amount(amount, size)
    return _compute_nparams_toprune(amount, size)


def _check_structured(t: Tensor, dim: int) -> None:
    if t.dim() <= 1:
        raise ValueError(f"Structured pruning can only be applied to multidimensional tensors. Found tensor of shape {t.shape} with {t.dim()} dims")
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


class BasePruningMethod(ABC):
    """Base class of pruning methods; also the hook of a module that applies the mask: `name` becomes `name_orig * name_mask`."""

    PRUNING_TYPE = "unstructured"
    _tensor_name: str
    if TYPE_CHECKING:
        dim: int  # of structured methods

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Compute the mask of a tensor, given the current mask."""

    def apply_mask(self, module: Module) -> Tensor:
        """Return the pruned tensor."""
        mask, original = (getattr(module, f"{self._tensor_name}_{part}") for part in ("mask", "orig"))
        return mask.to(original.dtype) * original

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any) -> Any:
        """Prune a parameter of a module; if it is already pruned, the two methods are combined."""
        hooks = {k: h for k, h in module._forward_pre_hooks.items() if isinstance(h, BasePruningMethod) and h._tensor_name == name}
        if len(hooks) > 1:
            raise AssertionError(f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. Use a PruningContainer.")
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        for key, before in hooks.items():
            del module._forward_pre_hooks[key]
            both = before if isinstance(before, PruningContainer) else PruningContainer(before)
            both.add_pruning_method(method)
            method = both
        is_first = not hooks
        original = getattr(module, name)
        if importance_scores is None:
            importance_scores = original
        elif importance_scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, got {importance_scores.shape} vs {original.shape}"
            )
        held = undertow.ones_like(original) if is_first else getattr(module, name + "_mask").detach().clone()
        mask = method.compute_mask(importance_scores.detach(), default_mask=held.detach())  # may raise; the module is still unchanged
        if is_first:
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """Return a pruned copy of a tensor, without a module."""
        if importance_scores is not None and importance_scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        scores = t if importance_scores is None else importance_scores
        held = undertow.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores.detach(), default_mask=held.detach())

    def remove(self, module: Module) -> None:
        """Make the parameter an ordinary one again, with its pruned values."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = weight.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several methods applied to one tensor in order; each considers only elements that the previous ones have kept."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        methods = args if args and isinstance(args[0], BasePruningMethod) or not args or not isinstance(args[0], (list, tuple)) else args[0]
        for k, method in enumerate(methods):
            if k == 0:
                self._tensor_name = method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod | None) -> None:
        """Add a method for the same tensor."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)  # type: ignore[operator]  # None is kept, as in torch

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Compute the mask after the last method."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(t.dtype)
        left = self._left_by(method, mask)
        new = mask.clone()
        new[left] = method.compute_mask(t[left], default_mask=mask[left]).to(new.dtype)
        return new

    @staticmethod
    def _left_by(method: BasePruningMethod, mask: Tensor) -> Any:
        """Return where a method may still prune: kept elements, or channels with kept elements."""
        if method.PRUNING_TYPE == "unstructured":
            return mask == 1
        if method.PRUNING_TYPE == "structured":
            dim = method.dim % mask.dim()
            others = [d for d in range(mask.dim()) if d != dim]
            places: list[Any] = [slice(None)] * mask.dim()
            places[dim] = mask.sum(others) != 0
            return tuple(places)
        if method.PRUNING_TYPE == "global":
            return tuple([slice(None)] * mask.dim())
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")


class Identity(BasePruningMethod):
    """Prunes nothing, but creates the mask and the attributes of a pruned parameter."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the current mask."""
        return default_mask

    @classmethod
    def apply(cls, module: Module, name: str) -> Self:  # type: ignore[override]  # as in torch: it takes what this method needs
        """Add a mask of ones."""
        return super().apply(module, name)


class _Amount(BasePruningMethod):
    """Methods that prune a given number or fraction."""

    def __init__(self, amount: int | float) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount


class _ByScore(_Amount):
    """Prunes single elements by a score."""

    def _lowest(self, t: Tensor, count: int) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask without the selected elements."""
        count = _count(self.amount, t.numel())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[self._lowest(t, count)] = 0
        return mask


class RandomUnstructured(_ByScore):
    """Prunes random elements."""

    def _lowest(self, t: Tensor, count: int) -> Tensor:
        return undertow.topk(undertow.rand_like(t).view(-1), k=count).indices

    @classmethod
    def apply(cls, module: Module, name: str, amount: int | float) -> Self:  # type: ignore[override]  # as in torch: it takes what this method needs
        """Prune a parameter of a module."""
        return super().apply(module, name, amount=amount)


class L1Unstructured(_ByScore):
    """Prunes the elements with the smallest absolute values."""

    def _lowest(self, t: Tensor, count: int) -> Tensor:
        return undertow.topk(t.abs().reshape(-1), k=count, largest=False).indices

    @classmethod
    def apply(  # type: ignore[override]  # as in torch: it takes what this method needs
        cls, module: Module, name: str, amount: int | float, importance_scores: Tensor | None = None
    ) -> Self:
        """Prune a parameter of a module."""
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _Structured(_Amount):
    """Prunes whole channels along one dimension."""

    PRUNING_TYPE = "structured"
    dim: int

    def _kept(self, t: Tensor, count: int) -> Any:
        """Return the indices of the channels to keep, or a boolean mask."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask without the selected channels."""
        _check_structured(t, self.dim)
        count = _count(self.amount, t.shape[self.dim])
        if count == 0:
            return default_mask
        mask = undertow.zeros_like(t)
        places: list[Any] = [slice(None)] * t.dim()
        places[self.dim] = self._kept(t, count)
        mask[tuple(places)] = 1
        return mask * default_mask.to(mask.dtype)


class RandomStructured(_Structured):
    """Prunes random channels."""

    def __init__(self, amount: int | float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _kept(self, t: Tensor, count: int) -> Any:
        scores = undertow.rand(t.shape[self.dim])
        return scores > undertow.kthvalue(scores, k=count).values

    @classmethod
    def apply(  # type: ignore[override]  # as in torch: it takes what this method needs
        cls, module: Module, name: str, amount: int | float, dim: int = -1
    ) -> Self:
        """Prune a parameter of a module."""
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Structured):
    """Prunes the channels with the smallest norms."""

    n: int | float | Literal["fro", "nuc"]
    dim: int

    def __init__(self, amount: int | float, n: int | float | Literal["fro", "nuc"], dim: int = -1) -> None:
        super().__init__(amount)
        self.n, self.dim = n, dim

    def _kept(self, t: Tensor, count: int) -> Any:
        dim = self.dim % t.dim()
        norm = undertow.norm(t, p=self.n, dim=[d for d in range(t.dim()) if d != dim])
        return undertow.topk(norm, k=t.shape[dim] - count, largest=True).indices

    @classmethod
    def apply(  # type: ignore[override]  # as in torch: it takes what this method needs
        cls, module: Module, name: str, amount: int | float, n: int | float | Literal["fro", "nuc"], dim: int, importance_scores: Tensor | None = None
    ) -> Self:
        """Prune a parameter of a module."""
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prunes with a mask given by the caller."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Combine the caller's mask with the current mask."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}")
        return default_mask * self.mask.to(default_mask.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, mask: Tensor) -> Self:  # type: ignore[override]  # as in torch: it takes what this method needs
        """Prune a parameter of a module."""
        return super().apply(module, name, mask=mask)
