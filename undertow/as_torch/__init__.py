"""Run PyTorch programs on Undertow, unchanged: `python -m undertow.as_torch script.py`, or `install()` before `import torch`."""

from undertow.as_torch._hook import install, installed, uninstall

__all__ = ["install", "installed", "uninstall"]
