"""What `import torch` gives under as_torch, without installing it: Undertow's names, and those of the shims."""

from __future__ import annotations

import importlib
import importlib.util
import types


class Names:
    """The names of `torch`, or of one of its modules."""

    def __init__(self, path: str = "") -> None:
        vars(self)["homes"] = homes = []
        for root in ("undertow", "undertow.as_torch.shims"):
            try:
                homes.append(importlib.import_module(root + path))
            except ModuleNotFoundError:
                continue
        vars(self)["path"] = path

    def __getattr__(self, name: str) -> object:
        for home in self.homes:
            value = getattr(home, name, None)
            if value is None and hasattr(home, "__path__") and importlib.util.find_spec(f"{home.__name__}.{name}"):
                value = importlib.import_module(f"{home.__name__}.{name}")
            if isinstance(value, types.ModuleType) and value.__name__.startswith("undertow"):
                return Names(f"{self.path}.{name}")
            if value is not None or name in vars(home):
                return value
        raise AttributeError(name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self.homes[-1], name, value)


torch_names = Names()
