"""Test files in the style of PyTorch's own load whatever they import; a missing name fails only the tests that use it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import undertow
from tests.as_torch.test_import_hook import run as run_code
from undertow.as_torch import _torch_test_tools

MISSING = """
import unittest
import torch
import torch._inductor.codegen
from torch._C import DispatchKey, _IncludeDispatchKeyGuard
from torch.fx.experimental.proxy_tensor import make_fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing._internal.common_utils import TestCase, run_tests

class Mode(FakeTensorMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **kwargs)

LAYERS = {torch._C._nn.mkldnn_linear: 1, torch._C._linalg.linalg_no_such: 2}
KINDS = [torch.float32, torch.float8_e4m3fn]
HAS = hasattr(torch, "no_such_name"), hasattr(torch, "quantize_per_tensor")

class TestMissing(TestCase):
    def test_what_is_here_runs(self):
        self.assertEqual(torch.ones(2) + 1, torch.full((2,), 2.0))
        self.assertEqual(HAS, (False, False))
        self.assertFalse(torch.float32 == KINDS[1])

    @torch._inductor.codegen.decorate("x")
    def test_decorated_by_what_is_missing(self):
        raise AssertionError("is skipped")

    def test_a_call(self):
        with self.assertRaisesRegex(NotImplementedError, "torch.fx.experimental.proxy_tensor.make_fx is not in Undertow"):
            make_fx(torch.sin)

    def test_a_class(self):
        with self.assertRaisesRegex(NotImplementedError, "FakeTensorMode is not in Undertow"):
            Mode()

    def test_a_guard(self):
        with self.assertRaisesRegex(NotImplementedError, "is not in Undertow"):
            with _IncludeDispatchKeyGuard(DispatchKey.CPU):
                pass

    def test_an_import_in_a_function(self):
        with self.assertRaisesRegex(ImportError, "not in Undertow"):
            import torch._export.passes
"""

def run(folder: Path, text: str, tools: str = "") -> str:
    """What pytest reports for the file, run on Undertow."""
    (folder / "test_file.py").write_text(text)
    environment = {**os.environ, "UNDERTOW_TEST_TOOLS": tools, "PYTHONPATH": str(Path(undertow.__file__).parents[1])}
    command = [sys.executable, "-m", "undertow.as_torch", "-m", "pytest", "-v", "-p", "no:cacheprovider", "test_file.py"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("tools", ["own", "installed"])
def test_a_missing_name_fails_only_the_tests_that_use_it(tmp_path, tools):
    assert "5 passed, 1 skipped" in run(tmp_path, MISSING, tools)


def test_other_programs_raise_when_they_call_a_missing_name(tmp_path):
    (tmp_path / "program.py").write_text("import torch.testing._internal.common_utils\nimport torch\ntorch.quantize_per_tensor([[0]], [1.0])\n")
    environment = {**os.environ, "PYTHONPATH": str(Path(undertow.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-m", "undertow.as_torch", "program.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "NotImplementedError: torch.quantize_per_tensor is not in Undertow" in done.stderr


TOOLS = """
import torch
from torch.testing._internal import custom_op_db
from torch.testing._internal.common_utils import TestCase
from torch.testing._internal.generated.annotated_fn_args import annotated_args

class TestTools(TestCase):
    def test_a_module_of_the_tools_imported_by_from(self):
        self.assertGreater(len(custom_op_db.custom_op_db), 5)

    def test_the_table_of_functions_has_those_that_exist(self):
        self.assertEqual(annotated_args[torch.add][0]["name"], "self")
        self.assertGreater(len(annotated_args), 1000)
"""


@pytest.mark.skipif(_torch_test_tools._folder() is None, reason="needs PyTorch's tools, which are part of an installed PyTorch")
def test_the_tools_of_an_installed_pytorch_load_where_they_name_what_is_missing(tmp_path):
    assert "2 passed" in run(tmp_path, TOOLS)


def test_the_tags_of_operators_and_the_registry_of_older_ones_exist():
    program = """
import torch, torch._custom_op.impl
from torch._C import Tag
print(repr(Tag.pointwise), Tag is torch.Tag, len(Tag.__members__), torch._custom_op.impl.global_registry)
torch.library.define("spam::eggs", "(Tensor x) -> Tensor", tags=Tag.core)
print(torch.ops.spam.eggs.default.tags)
print(torch._custom_op.impl.get_op("spam::eggs") is torch.ops.spam.eggs.default, torch._custom_op.impl.get_op("aten::sin"))
try:
    torch._custom_op.impl.get_op("spam::ham")
except ValueError as error:
    print(str(error).partition(".")[0])
"""
    assert run_code(program).splitlines() == [
        "<Tag.pointwise: 16> True 20 {}", "[<Tag.core: 0>]", "True aten.sin.default", "Could not find the operator spam::ham"
    ]  # fmt: skip
