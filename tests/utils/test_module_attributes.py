"""Submodules of the package are available as attributes without an import, as in torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import undertow

NAMES = ["utils.data.DataLoader", "utils.checkpoint.checkpoint", "utils.dlpack.from_dlpack", "utils.hooks", "utils._pytree", "optim.adam.Adam",
         "nn.utils.rnn", "nn.utils.parametrize", "optim.lr_scheduler", "autograd.functional", "distributions.kl", "backends.cpu"]


@pytest.mark.parametrize("name", NAMES)
def test_a_module_is_an_attribute(name):
    code = f"import sys; sys.path.insert(0, {str(Path(undertow.__file__).parents[1])!r}); import undertow; undertow.{name}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
