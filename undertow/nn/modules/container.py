"""Containers: sequences, lists and dictionaries of modules; lists and dictionaries of parameters."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import chain, islice

import undertow
from undertow._C import Parameter, Tensor
from undertow.nn.modules.module import Module, _indented

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Self

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class Container(Module):
    """Deprecated: a module with submodules from keyword arguments."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        import warnings

        warnings.warn(
            "nn.Container is deprecated. All of its functionality is now implemented in nn.Module. Subclass that instead.",
            FutureWarning,
            stacklevel=2,
        )
        for key, value in kwargs.items():
            self.add_module(key, value)


def _index(i: Any, size: int) -> int:
    i = operator.index(i)
    if not -size <= i < size:
        raise IndexError(f"index {i} is out of range")
    return i % size


class Sequential(Module):
    """Modules that are called in order.

    >>> import undertow as ut
    >>> net = ut.nn.Sequential(ut.nn.Linear(4, 3), ut.nn.ReLU())
    >>> net(ut.ones(2, 4)).shape
    undertow.Size([2, 3])
    """

    _modules: dict[str, Module]

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for key, module in args[0].items():
                self.add_module(key, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def _key(self, i: Any) -> str:
        return next(islice(self._modules, _index(i, len(self)), None))

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return type(self)(OrderedDict(list(self._modules.items())[i]))
        return self._modules[self._key(i)]

    def __setitem__(self, i: int, module: Module) -> None:
        setattr(self, self._key(i), module)

    def __delitem__(self, i: Any) -> None:
        for key in list(self._modules)[i] if isinstance(i, slice) else [self._key(i)]:
            delattr(self, key)
        self._renumber(list(self._modules.values()))

    def _renumber(self, modules: list[Module]) -> None:
        self.__dict__["_modules"] = {str(k): m for k, m in enumerate(modules)}

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Self:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return self.extend(list(other))

    def __mul__(self, times: int) -> Sequential:
        self._check_times(times)
        return Sequential(*chain.from_iterable([self] * times))

    __rmul__ = __mul__

    def __imul__(self, times: int) -> Self:
        self._check_times(times)
        modules = list(self)
        for _ in range(times - 1):
            self.extend(modules)
        return self

    @staticmethod
    def _check_times(times: Any) -> None:
        if not isinstance(times, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(Sequential())} and {type(times)}")
        if times <= 0:
            raise ValueError(f"Non-positive multiplication factor {times} for {type(Sequential())}")

    def pop(self, key: Any) -> Module:
        """Remove a module and return it."""
        module = self[key]
        del self[key]
        return module

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Insert a module before `index`."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        n = len(self)
        if not -n <= index <= n:
            raise IndexError(f"Index out of range: {index}")
        modules = list(self)
        modules.insert(index + n if index < 0 else index, module)
        self._renumber(modules)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add modules at the end."""
        for module in sequential:
            self.append(module)
        return self

    def forward(self, input: Any) -> Any:
        """Call each module with the result of the previous one."""
        for module in self._modules.values():
            input = module(input)
        return input


class ModuleList(Module):
    """A list of registered modules."""

    _modules: dict[str, Module]

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self += modules

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return type(self)(list(self._modules.values())[i])
        return self._modules[str(_index(i, len(self)))]

    def __setitem__(self, i: int, module: Module) -> None:
        setattr(self, str(_index(i, len(self))), module)

    def __delitem__(self, i: Any) -> None:
        modules = list(self)
        del modules[i if isinstance(i, slice) else _index(i, len(self))]
        self.__dict__["_modules"] = {str(k): m for k, m in enumerate(modules)}

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __contains__(self, module: Any) -> bool:
        return any(m is module for m in self)

    def insert(self, index: int, module: Module) -> None:
        """Insert a module before `index`."""
        modules = list(self)
        modules.insert(index, module)
        for i, m in enumerate(modules):
            self._modules[str(i)] = m

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: Any) -> Module:
        """Remove a module and return it."""
        module = self[key]
        del self[key]
        return module

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError("ModuleList.extend should be called with an iterable, but got " + type(modules).__name__)
        for module in modules:
            self.append(module)
        return self

    def __dir__(self) -> list[str]:
        return [key for key in super().__dir__() if not key.isdigit()]

    def __repr__(self) -> str:
        if not len(self):
            return f"{self._get_name()}()"
        runs: list[list[Any]] = []  # [first, last, text]: equal neighbours are shown once
        for i, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        lines = [f"({a}): {t}" if a == b else f"({a}-{b}): {b - a + 1} x {t}" for a, b, t in runs]
        return f"{self._get_name()}(\n  " + "\n  ".join(_indented(line, 2) for line in lines) + "\n)"


class ModuleDict(Module):
    """A dictionary of registered modules."""

    _modules: dict[str, Module]

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: Any) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Remove a module and return it."""
        module = self[key]
        del self[key]
        return module

    def keys(self) -> Any:
        """Return the names."""
        return self._modules.keys()

    def items(self) -> Any:
        """Return pairs of names and modules."""
        return self._modules.items()

    def values(self) -> Any:
        """Return the modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add modules from a mapping or from pairs."""
        if not isinstance(modules, Iterable):
            raise TypeError("ModuleDict.update should be called with an iterable of key/value pairs, but got " + type(modules).__name__)
        for key, module in _pairs(modules, "ModuleDict"):
            self[key] = module


def _pairs(given: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(given, (Mapping, ModuleDict, ParameterDict)):
        yield from given.items()
        return
    for i, item in enumerate(given):
        if not isinstance(item, Iterable):
            raise TypeError(f"{name} update sequence element #{i} should be Iterable; is {type(item).__name__}")
        pair: Any = item
        if len(pair) != 2:
            raise ValueError(f"{name} update sequence element #{i} has length {len(pair)}; 2 is required")
        yield pair[0], pair[1]


def _describe(value: Any, kind_of_elements: str | None = None) -> str:
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    size = "x".join(str(s) for s in value.size())
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"{kind} containing: [{kind_of_elements or value.dtype} of size {size}]"


class ParameterList(Module):
    """A list of values; tensors are registered as parameters."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return type(self)([self[k] for k in range(*i.indices(len(self)))])
        return getattr(self, str(_index(i, len(self))))

    def __setitem__(self, i: int, value: Any) -> None:
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, str(_index(i, len(self))), value)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[i] for i in range(len(self)))

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def __dir__(self) -> list[str]:
        return [key for key in super().__dir__() if not key.isdigit()]

    def append(self, value: Any) -> Self:
        """Add a value at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add values at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError("ParameterList.extend should be called with an iterable, but got " + type(values).__name__)
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """Return one line per value."""
        return "\n".join(f"  ({i}): {_describe(p)}" for i, p in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary of values; tensors are registered as parameters."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, key)  # raises with torch's message if the key is missing

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"Index given to ParameterDict cannot be used as a key as it is not a string (type is '{type(key).__name__}').")
        self._keys[key] = None
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, key, value)

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: Any) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Return a new dictionary with the same parameters."""
        return ParameterDict(OrderedDict((k, self[k]) for k in self._keys))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value; insert `default` first if the key is missing."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove all values."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove a value and return it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove the last inserted key and value, and return them."""
        key = next(reversed(list(self._keys)))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value, or `default` if the key is missing."""
        if key in self:
            return self[key]
        return default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Return a new dictionary with these keys."""
        return ParameterDict((k, default) for k in keys)

    def keys(self) -> Any:
        """Return the names."""
        return self._keys.keys()

    def items(self) -> Any:
        """Return pairs of names and values."""
        return ((k, self[k]) for k in self._keys)

    def values(self) -> Any:
        """Return the values."""
        return (self[k] for k in self._keys)

    def update(self, parameters: Any) -> None:
        """Add values from a mapping or from pairs."""
        if not isinstance(parameters, Iterable):
            raise TypeError("ParametersDict.update should be called with an iterable of key/value pairs, but got " + type(parameters).__name__)
        pairs: Iterable[tuple[str, Any]] = _pairs(parameters, "ParameterDict")
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):  # torch sorts the keys of these
            pairs = sorted(parameters.items(), key=lambda pair: pair[0])
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> str:
        """Return one line per value."""
        return "\n".join(f"  ({k}): {_describe(p, undertow.typename(p))}" for k, p in self.items())

    def __call__(self, input: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        joined = self.copy()
        joined.update(other)
        return joined

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        joined = other.copy()
        joined.update(self)
        return joined

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self
