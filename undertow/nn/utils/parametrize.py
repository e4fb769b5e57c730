"""Parametrizations: an attribute of a module that is computed from other tensors whenever it is read.

The module gets its own class, in which the attribute is a property. The tensors it is computed from are
`module.parametrizations.<name>.original`, or `original0`, `original1`, ... if there are several.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import contextmanager

import undertow
from undertow._C import Parameter, Tensor
from undertow.nn.modules.container import ModuleDict, ModuleList
from undertow.nn.modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_cache_enabled = 0
_cache: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Context manager: a parametrized attribute is computed on first access and cached until the outermost `cached` block ends."""
    global _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache.clear()


def _register_parameter_or_buffer(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _give_data(dest: Tensor, src: Tensor) -> None:
    """Replace the data of a tensor, perhaps with another shape; the object remains the same, because optimizers refer to it."""
    if dest is not src:
        dest.data = src.detach()


def _check_kept(what: str, names: tuple[str, str], before: Tensor, after: Any, flag: str) -> None:
    if not isinstance(after, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
    for kind, a, b in (("dtype", before.dtype, after.dtype), ("shape", before.shape, after.shape)):
        if a != b:
            raise ValueError(
                f"Registering a parametrization may not change the {kind} of the tensor, unless {flag} flag is enabled.\n"
                f"{names[0]} {kind}: {a}\n{names[1]} {kind}: {b}"
            )


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied in order, and the original tensors."""

    is_tensor: bool
    ntensors: int

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        first: Any = original
        with undertow.no_grad():
            for module in reversed(self):
                if hasattr(module, "right_inverse"):
                    first = self._inverted(module, first)
        if not isinstance(first, (Tensor, Sequence)):
            raise ValueError(f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {type(first).__name__}")
        self.is_tensor = isinstance(first, Tensor)
        self.ntensors = 1 if self.is_tensor else len(first)
        if isinstance(first, Tensor):
            if original.dtype != first.dtype:
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the dtype.\noriginal.dtype: {original.dtype}\n"
                    f"right_inverse(original).dtype: {first.dtype}"
                )
            with undertow.no_grad():
                before = original.detach()
                _give_data(original, first)
            _register_parameter_or_buffer(self, "original", original)
        else:
            before = original.detach()
            for i, t in enumerate(first):
                if not isinstance(t, Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                        f"Got element {i} of the sequence with type {type(t).__name__}."
                    )
                if isinstance(original, Parameter):
                    t = Parameter(t, original.requires_grad and (t.is_floating_point() or t.is_complex()))
                _register_parameter_or_buffer(self, f"original{i}", t)
        if not unsafe:
            _check_kept("tensor", ("unparametrized", "parametrized"), before, self(), "`unsafe`")

    @staticmethod
    def _inverted(module: Module, value: Any) -> Any:
        try:
            return module.right_inverse(value)
        except NotImplementedError:
            return value  # no right_inverse: the original is the tensor itself

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the parametrized tensor becomes `value`, as far as the parametrizations allow."""
        with undertow.no_grad():
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                if not isinstance(value, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
                if value.dtype != self.original.dtype:
                    raise ValueError(
                        f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has dtype {self.original.dtype}"
                    )
                _give_data(self.original, value)
                return
            if not isinstance(value, Sequence):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value)}.")
            if len(value) != self.ntensors:
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of length {len(value)}."
                )
            for i, t in enumerate(value):
                mine = getattr(self, f"original{i}")
                if not isinstance(t, Tensor):
                    raise ValueError(f"`right_inverse` must return a sequence of tensors. Got element {i} of type {type(t).__name__}")
                if mine.dtype != t.dtype:
                    raise ValueError(f"Tensor {i} returned by `right_inverse` has dtype {t.dtype} while `original{i}` has dtype {mine.dtype}")
                _give_data(mine, t)

    def forward(self) -> Tensor:
        """Return the parametrized tensor."""
        originals = (self.original,) if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]
        x = self[0](*originals)
        for k in range(1, len(self)):
            x = self[k](x)
        return x


def _inject_new_class(module: Module) -> None:
    """Give the module its own class, on which properties can be defined."""
    cls = type(module)

    def raise_on_pickle(self: Any) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). Pickle the state dict, and register the "
            "parametrizations again on the module that loads it."
        )

    def deep_copy(self: Any, memo: dict[int, Any]) -> Any:
        own = memo.get(id(self))
        if own is None:
            own = memo[id(self)] = self.__new__(type(self))
            own.__dict__ = copy.deepcopy(self.__dict__, memo)
        return own

    body: dict[str, Any] = {"__getstate__": raise_on_pickle, "__module__": __name__}
    if cls.__deepcopy__ is Module.__deepcopy__:  # which would ask for the pickled state
        body["__deepcopy__"] = deep_copy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), body)


def _inject_property(module: Module, tensor_name: str) -> None:
    if hasattr(module, tensor_name):
        raise AssertionError(f"module already has an attribute named {tensor_name}")

    def read(self: Any) -> Tensor:
        if not _cache_enabled:
            return self.parametrizations[tensor_name]()
        key = (id(self), tensor_name)
        value = _cache.get(key)
        if value is None:
            value = _cache[key] = self.parametrizations[tensor_name]()
        return value

    def write(self: Any, value: Tensor) -> None:
        self.parametrizations[tensor_name].right_inverse(value)

    setattr(type(module), tensor_name, property(read, write))


def register_parametrization(module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False) -> Module:
    """Replace a parameter or buffer by the result of `parametrization`; further parametrizations are applied to that result.

    If the parametrization has a method `right_inverse`, it computes the originals from a value: the tensor keeps its value on
    registration and can be assigned to. It must not change dtype and shape, unless `unsafe` is True.

    >>> import undertow as ut
    >>> class Symmetric(ut.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = ut.nn.utils.parametrize.register_parametrization(ut.nn.Linear(3, 3), "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.T).all())
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        value = getattr(module, tensor_name)
        if not unsafe:
            names = (f"module.{tensor_name}", f"parametrization(module.{tensor_name})")
            changed = parametrization(value)
            _check_kept("tensor", names, value, changed, "the `unsafe`")
            if hasattr(parametrization, "right_inverse"):
                back = ParametrizationList._inverted(parametrization, changed)  # it may accept only what the parametrization makes
                if not isinstance(back, Tensor):
                    raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
                for kind in ("dtype", "shape"):
                    was, now = getattr(value, kind), getattr(back, kind)
                    if now != was:
                        raise ValueError(
                            f"The tensor returned by parametrization.right_inverse must have the same {kind} as module.{tensor_name}, "
                            f"unless the `unsafe` flag is enabled.\nmodule.{tensor_name}.{kind}: {was}\nreturned {kind}: {now}"
                        )
        own = module.parametrizations[tensor_name]
        own.append(parametrization)
        own.unsafe |= unsafe
        return module
    if tensor_name not in module._buffers and tensor_name not in module._parameters:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'")
    # Created before the module changes, so that a failure leaves the module unchanged.
    parametrizations = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _inject_new_class(module)
        module.parametrizations = ModuleDict()
    _inject_property(module, tensor_name)
    module.parametrizations[tensor_name] = parametrizations
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return True if the module has parametrizations, or if the named tensor has one."""
    parametrizations = getattr(module, "parametrizations", None)
    if parametrizations is None or not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make the attribute an ordinary tensor again, with its current value, or with leave_parametrized=False the original."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    original: Any = parametrizations.original if parametrizations.is_tensor else None
    if not leave_parametrized and original is None:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of tensors.")
    if leave_parametrized:
        with undertow.no_grad():
            value = getattr(module, tensor_name).detach()
        if original is None:
            wanted = any(t.requires_grad for t in parametrizations.parameters())
            original = Parameter(value, requires_grad=wanted) if list(parametrizations._parameters) else value
        else:
            _give_data(original, value)
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register_parameter_or_buffer(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the class that a module had before its first parametrization."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module: Module, to_module: Module, tensor_name: str | None = None) -> Module:
    """Copy the parametrizations and their originals from one module to another."""
    if not is_parametrized(from_module):
        return to_module
    names = [tensor_name] if tensor_name is not None else list(from_module.parametrizations)
    for name in names:
        if not is_parametrized(from_module, name):
            raise AssertionError(f"{name} is not parametrized in {from_module}")
        theirs = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(theirs.original if theirs.is_tensor else getattr(from_module, name).detach()))
        for parametrization in theirs:
            register_parametrization(to_module, name, parametrization)
        mine = to_module.parametrizations[name]
        if theirs.is_tensor:
            mine.original = theirs.original
        else:
            for i in range(theirs.ntensors):
                setattr(mine, f"original{i}", getattr(theirs, f"original{i}"))
    return to_module
