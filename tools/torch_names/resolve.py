"""Say of each name in a JSON list whether `torch`, PyTorch or Undertow under as_torch, has it. Run as a script.

The answer of PyTorch is the part of the name that leads to the first object that is neither a module nor a class, or "absent" and the part up to
the first missing name. The answer under as_torch is the name, or the reason why it is missing.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

import torch


def _is_ours() -> bool:
    return "undertow" in torch.__version__


def resolve(name: str) -> str:
    """Return the part of the name that exists, or a text that says what is missing."""
    parts = name.split(".")
    here: object = torch
    for at, part in enumerate(parts[1:], 1):
        dotted = ".".join(parts[: at + 1])
        try:
            here = getattr(here, part)
        except Exception as error:  # noqa: BLE001  # a property may raise anything
            try:
                if not isinstance(here, ModuleType):
                    raise error
                here = importlib.import_module(dotted)
            except Exception as reason:  # noqa: BLE001  # importing an optional part of torch may raise anything
                text = str(error if isinstance(reason, ModuleNotFoundError) and isinstance(error, AttributeError) else reason)
                return text.replace("\n", " ").replace("\t", " ")[:200] if _is_ours() else f"absent {dotted}"
        if not _is_ours() and not isinstance(here, (ModuleType, type)) and type(here).__module__ != "torch._ops":
            return dotted
    return name


if __name__ == "__main__":
    names = json.loads(Path(sys.argv[1]).read_text())
    Path(sys.argv[2]).write_text(json.dumps({name: resolve(name) for name in names}))
