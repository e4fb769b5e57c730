"""Test files in the style of PyTorch's own load here whatever they import, and what is missing is said by the test that needs it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import undertow

MISSING = """
import unittest
import torch
import torch._inductor.codegen
from torch._C import DispatchKey, _ExcludeDispatchKeyGuard
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode
from torch.testing._internal.common_utils import TestCase, run_tests

class Mode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **kwargs)

KINDS = [torch.float32, torch.float8_e4m3fn]
HAS = hasattr(torch, "no_such_name"), hasattr(torch, "sparse_coo_tensor")

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
        with self.assertRaisesRegex(NotImplementedError, "TorchDispatchMode is not in Undertow"):
            Mode()

    def test_a_guard(self):
        with self.assertRaisesRegex(NotImplementedError, "is not in Undertow"):
            with _ExcludeDispatchKeyGuard(DispatchKey.CPU):
                pass

    def test_an_import_in_a_function(self):
        with self.assertRaisesRegex(ImportError, "not in Undertow"):
            import torch._export.passes
"""

DATABASES = """
import torch
from torch.testing._internal.common_device_type import instantiate_device_type_tests, ops
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db, modules
from torch.testing._internal.common_optimizers import optim_db, optims
from torch.testing._internal.common_utils import TestCase, run_tests

class TestWithDatabases(TestCase):
    @modules([m for m in module_db if m.name in ("nn.Linear", "nn.BatchNorm1d")], allowed_dtypes=[torch.float64])
    def test_module(self, device, dtype, module_info, training):
        for entry in module_info.module_inputs_func(module_info, device=device, dtype=dtype, requires_grad=False, training=training):
            m = module_info.module_cls(*entry.constructor_input.args, **entry.constructor_input.kwargs).to(dtype).train(training)
            out = m(*entry.forward_input.args, **entry.forward_input.kwargs)
            if entry.reference_fn is not None:
                self.assertEqual(out, entry.reference_fn(m, *entry.forward_input.args, **entry.forward_input.kwargs))

    @ops([op for op in op_db if op.name in ("add", "sin")], allowed_dtypes=(torch.float32,))
    def test_operator(self, device, dtype, op):
        for sample in op.sample_inputs(device, dtype):
            self.assertEqual(op(sample.input, *sample.args, **sample.kwargs).device.type, device)

    @optims([o for o in optim_db if o.optim_cls.__name__ == "SGD"], dtypes=[torch.float32])
    def test_optimizer(self, device, dtype, optim_info):
        for entry in optim_info.optim_inputs_func(device=device):
            optim_info.optim_cls([torch.ones(2, device=device, dtype=dtype, requires_grad=True)], **entry.kwargs)

instantiate_device_type_tests(TestWithDatabases, globals())
"""


def run(folder: Path, text: str, tools: str = "") -> str:
    """What pytest says of the file, run on Undertow."""
    (folder / "test_file.py").write_text(text)
    environment = {**os.environ, "UNDERTOW_TEST_TOOLS": tools, "PYTHONPATH": str(Path(undertow.__file__).parents[1])}
    command = [sys.executable, "-m", "undertow.as_torch", "-m", "pytest", "-v", "-p", "no:cacheprovider", "test_file.py"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("tools", ["own", "installed"])
def test_a_missing_name_fails_only_what_uses_it(tmp_path, tools):
    assert "5 passed, 1 skipped" in run(tmp_path, MISSING, tools)


def test_programs_that_are_not_test_files_hear_of_a_missing_name_when_they_call_it(tmp_path):
    (tmp_path / "program.py").write_text("import torch.testing._internal.common_utils\nimport torch\ntorch.sparse_coo_tensor([[0]], [1.0])\n")
    environment = {**os.environ, "PYTHONPATH": str(Path(undertow.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-m", "undertow.as_torch", "program.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "NotImplementedError: torch.sparse_coo_tensor is not in Undertow" in done.stderr


def test_torchs_databases_of_operators_modules_and_optimizers_make_tests_here(tmp_path):
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("expecttest") is None:
        pytest.skip("PyTorch with expecttest is not installed: its databases are not here")
    said = run(tmp_path, DATABASES)
    names = {line.split()[0].rpartition("::")[2] for line in said.splitlines() if " PASSED" in line}
    assert names == {
        "test_module_nn_Linear_cpu_float64", "test_module_nn_BatchNorm1d_train_mode_cpu_float64", "test_module_nn_BatchNorm1d_eval_mode_cpu_float64",
        "test_operator_add_cpu_float32", "test_operator_sin_cpu_float32", "test_optimizer_SGD_cpu_float32",
    }  # fmt: skip


def test_the_tables_of_modules_and_criteria_hold_here(tmp_path):
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("expecttest") is None:
        pytest.skip("PyTorch with expecttest is not installed: its tables are not here")
    (tmp_path / "test_file.py").write_text((Path(__file__).parent / "nn_tables.py").read_text())
    environment = {**os.environ, "PYTHONPATH": str(Path(undertow.__file__).parents[1])}
    command = [sys.executable, "-m", "undertow.as_torch", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_file.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=600)
    failed = {line.split()[1].rpartition("::")[2] for line in done.stdout.splitlines() if line.startswith("FAILED")}
    assert failed == {"test_EmbeddingBag_sparse", "test_Embedding_sparse"}, done.stdout[-3000:]
    assert "280 passed" in done.stdout
