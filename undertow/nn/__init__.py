"""Neural networks: parameters and the functions that layers are made of."""

from undertow._C import Parameter

__all__ = ["Parameter", "functional", "parameter"]


def __getattr__(name: str) -> object:
    if name in ("functional", "parameter"):
        import importlib

        return importlib.import_module(f"undertow.nn.{name}")
    raise AttributeError(f"module 'undertow.nn' has no attribute {name!r}")
