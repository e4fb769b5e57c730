"""The shims are visible to programs written for torch, and only to them."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from undertow.as_torch import shims

HERE = Path(shims.__file__).parent
PACKAGE = HERE.parents[1]
FILES = sorted(p.relative_to(HERE) for p in HERE.rglob("*.py"))
PATHS = [".".join(p.with_suffix("").parts).removesuffix("__init__").rstrip(".") for p in FILES]


def native(path: str) -> object:
    """Undertow's own module of that name, or None."""
    try:
        found = importlib.util.find_spec(f"undertow.{path}")
    except ModuleNotFoundError:
        return None
    return importlib.import_module(f"undertow.{path}") if found else None


@pytest.mark.parametrize("path", [p for p in PATHS if p and native(p) is not None])
def test_a_shim_lists_only_names_that_its_module_lacks(path):
    shim = importlib.import_module(f"undertow.as_torch.shims.{path}")
    ours = native(path)
    for name in shim.__all__:
        assert hasattr(shim, name)
        assert name not in vars(ours), f"undertow.{path} has {name} itself"


def test_undertow_imports_nothing_from_as_torch():
    command = PACKAGE / "inspect" / "__main__.py"  # python -m undertow.inspect --as-torch
    own = [p for p in PACKAGE.rglob("*.py") if PACKAGE / "as_torch" not in p.parents and p != command]
    guilty = [str(p) for p in own if re.search(r"^\s*(from|import) .*\bas_torch\b", p.read_text(), re.M)]
    assert not guilty and len(own) > 200


def test_programs_find_shims_as_modules_attributes_and_names():
    program = """
import sys, torch, torch._dynamo.config, torch.backends.cudnn as cudnn
from torch.testing._internal.common_dtype import floating_types
from torch.optim.optimizer import Optimizer, ParamsT
print(torch.jit.script(len) is len, torch._dynamo.config.suppress_errors, cudnn is torch.backends.cudnn, torch.backends.cpu.get_cpu_capability() != "")
print(sys.modules["torch.jit"] is torch.jit, torch.FloatTensor, torch.view_copy(torch.ones(2), (1, 2)).shape, torch.xpu.device_count())
print(torch.ops.aten.add.Tensor(torch.ones(1), 1).item(), torch._C._get_tracing_state(), torch.nn.functional._Reduction.get_enum("sum"))
print(hasattr(torch, "as_torch"), hasattr(torch.jit, "no_such_name"), torch.optim.Optimizer is Optimizer)
"""
    environment = {**os.environ, "UNDERTOW_TEST_TOOLS": "own"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "undertow.as_torch", "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.splitlines() == [
        "True False True True",
        "True <class 'torch.FloatTensor'> torch.Size([1, 2]) 0",
        "2.0 None 2",
        "False False True",
    ]
