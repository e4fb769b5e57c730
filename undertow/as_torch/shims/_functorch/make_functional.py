"""`make_functional` and related functions: modules as functions of their parameters. Replaced by `func.functional_call`."""

from __future__ import annotations

import copy

import undertow
from undertow.func import functional_call
from undertow.nn.modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from undertow import Tensor

__all__ = [
    "FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "functional_init", "functional_init_with_buffers",
    "make_functional", "make_functional_with_buffers",
]  # fmt: skip


def _names_of(model: Module, listing: str) -> dict[str, list[str]]:
    """Return the first name of each member, with all of its names."""
    first: dict[int, str] = {}
    found: dict[str, list[str]] = {}
    for name, member in getattr(model, listing)(remove_duplicate=False):
        found.setdefault(first.setdefault(id(member), name), []).append(name)
    return found


def _taken(model: Module, listing: str, untracked: bool) -> tuple[Tensor, ...]:
    return tuple(t.detach().requires_grad_(t.requires_grad and not untracked) for _, t in getattr(model, listing)())


class FunctionalModuleWithBuffers(Module):
    """A module that is called with its parameters and buffers: `f(params, buffers, *inputs)`."""

    def __init__(self, model: Module) -> None:
        super().__init__()
        self.stateless_model = model
        self.param_names_map, self.buffer_names_map = _names_of(model, "named_parameters"), _names_of(model, "named_buffers")
        self.param_names, self.buffer_names = tuple(self.param_names_map), tuple(self.buffer_names_map)
        self.all_names_map = {**self.param_names_map, **self.buffer_names_map}

    @staticmethod
    def _create_from(model: Module, disable_autograd_tracking: bool = False) -> tuple[Any, tuple[Tensor, ...], tuple[Tensor, ...]]:
        own = copy.deepcopy(model)
        parts = (_taken(own, "named_parameters", disable_autograd_tracking), _taken(own, "named_buffers", True))
        return (FunctionalModuleWithBuffers(own), *parts)

    def forward(self, params: Sequence[Tensor], buffers: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        """Call the module with the given parameters and buffers."""
        state = dict(zip((*self.param_names, *self.buffer_names), (*params, *buffers), strict=True))
        return functional_call(self.stateless_model, state, args, kwargs)


class FunctionalModule(Module):
    """A module without buffers that is called with its parameters: `f(params, *inputs)`."""

    def __init__(self, model: Module) -> None:
        super().__init__()
        self.stateless_model = model
        self.names_map = _names_of(model, "named_parameters")
        self.param_names = tuple(self.names_map)

    @staticmethod
    def _create_from(model: Module, disable_autograd_tracking: bool = False) -> tuple[Any, tuple[Tensor, ...]]:
        own = copy.deepcopy(model)
        return FunctionalModule(own), _taken(own, "named_parameters", disable_autograd_tracking)

    def forward(self, params: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        """Call the module with the given parameters."""
        return functional_call(self.stateless_model, dict(zip(self.param_names, params, strict=True)), args, kwargs)


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """Return the module as a function of its parameters, and the parameters.

    >>> import undertow as ut
    >>> f, params = make_functional(ut.nn.Linear(2, 3))
    >>> f(params, ut.ones(2)).shape
    undertow.Size([3])
    """
    if list(model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    return FunctionalModule._create_from(model, disable_autograd_tracking)


def make_functional_with_buffers(model: Module, disable_autograd_tracking: bool = False) -> tuple[Any, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return the module as a function of its parameters and buffers, and the parameters and buffers."""
    return FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking)


def combine_state_for_ensemble(models: Sequence[Module]) -> tuple[Any, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one function for modules of the same class, and their stacked parameters and buffers, for use with vmap."""
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    made = [make_functional_with_buffers(m, disable_autograd_tracking=True) for m in models]
    params, buffers = (tuple(undertow.stack(list(each)) for each in zip(*(m[k] for m in made), strict=True)) for k in (1, 2))
    return made[0][0], params, buffers


def _stacked_state(models: list[Module], listing: str, shape: tuple[int, ...]) -> tuple[Tensor, ...]:
    each = [[t.detach() for _, t in getattr(m, listing)()] for m in models]
    return tuple(undertow.stack(list(ts)).reshape((*shape, *ts[0].shape)) for ts in zip(*each, strict=True))


def functional_init(model_class: type[Module], ensemble_shape: tuple[int, ...] = (), device: Any = "cpu") -> Callable[..., Any]:
    """Return a constructor that returns (weights, function of weights and inputs, names), stacked over an ensemble if a shape is given."""

    def build(*args: Any, **kwargs: Any) -> tuple[Any, Callable[..., Any], tuple[str, ...]]:
        weights, _, fn, names, _ = functional_init_with_buffers(model_class, ensemble_shape, device)(*args, **kwargs)
        return weights, lambda weights, data: fn(weights, (), data), names

    return build


def functional_init_with_buffers(model_class: type[Module], ensemble_shape: tuple[int, ...] = (), device: Any = "cpu") -> Callable[..., Any]:
    """Like `functional_init`; the results also include the buffers and their names."""
    if len(ensemble_shape) >= 2:
        raise ValueError("NYI: ensemble_shape with more than 1 element")

    def build(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        if ensemble_shape and ensemble_shape[0] <= 0:
            raise ValueError(f"num_models {ensemble_shape[0]} should be > 0")
        models = [model_class(*args, **kwargs).to(device) for _ in range(ensemble_shape[0] if ensemble_shape else 1)]
        weights, buffers = (_stacked_state(models, listing, ensemble_shape) for listing in ("named_parameters", "named_buffers"))
        functional = FunctionalModuleWithBuffers(models[0])

        def fn(weights: Sequence[Tensor], buffers: Sequence[Tensor], data: Sequence[Any]) -> Any:
            return functional(weights, buffers, *data)

        return weights, buffers, fn, functional.param_names, functional.buffer_names

    return build
