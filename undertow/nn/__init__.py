"""Neural networks: modules, parameters, and the functions that layers are made of."""

from undertow._C import Parameter

_MODULES = ("attention", "common_types", "functional", "grad", "init", "modules", "parallel", "parameter", "utils")

_ELSEWHERE = {
    **dict.fromkeys(("Buffer", "UninitializedBuffer", "UninitializedParameter"), "undertow.nn.parameter"),
    "DataParallel": "undertow.nn.parallel",
    "factory_kwargs": "undertow.nn._factory",
}

__all__ = ["Parameter", "functional", "parameter"]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"undertow.nn.{name}")
    if name in _ELSEWHERE:
        return getattr(import_module(_ELSEWHERE[name]), name)
    layers = import_module("undertow.nn.modules")
    if name in layers.__all__:
        value = globals()[name] = getattr(layers, name)
        return value
    raise AttributeError(f"module 'undertow.nn' has no attribute {name!r}")


def __dir__() -> list[str]:
    from undertow.nn import modules

    return sorted({*globals(), *_MODULES, *_ELSEWHERE, *modules.__all__})
