"""Test files that use PyTorch's own databases and tables of operators, modules and optimizers run on Undertow."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import undertow

pytest.importorskip("torch", reason="the databases are PyTorch's")
pytest.importorskip("expecttest", reason="the databases' tools need expecttest, which PyTorch's tests use")

DATABASES = """
import torch
from torch.testing._internal.common_device_type import instantiate_device_type_tests, ops
from torch.testing._internal.common_methods_invocations import op_db, python_ref_db
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

    @ops([op for op in python_ref_db if op.name in ("_refs.add", "_refs.special.logit", "_refs.nn.functional.relu")], allowed_dtypes=(torch.float32,))
    def test_reference(self, device, dtype, op):
        for sample in op.sample_inputs(device, dtype):
            self.assertEqual(op(sample.input, *sample.args, **sample.kwargs), op.torch_opinfo(sample.input, *sample.args, **sample.kwargs))

    def test_tables(self, device):
        self.assertEqual(torch._C._VariableFunctions.__and__(torch.tensor(6), 3), torch.tensor(2))

    @optims([o for o in optim_db if o.optim_cls.__name__ == "SGD"], dtypes=[torch.float32])
    def test_optimizer(self, device, dtype, optim_info):
        for entry in optim_info.optim_inputs_func(device=device):
            optim_info.optim_cls([torch.ones(2, device=device, dtype=dtype, requires_grad=True)], **entry.kwargs)

instantiate_device_type_tests(TestWithDatabases, globals(), include_lazy=True)
"""


def run(folder: Path, text: str) -> str:
    """What pytest reports for the file, run on Undertow."""
    (folder / "test_file.py").write_text(text)
    environment = {**os.environ, "UNDERTOW_TEST_TOOLS": "", "PYTHONPATH": str(Path(undertow.__file__).parents[1])}
    command = [sys.executable, "-m", "undertow.as_torch", "-m", "pytest", "-v", "-p", "no:cacheprovider", "test_file.py"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_torchs_databases_of_operators_modules_and_optimizers_make_tests_here(tmp_path):
    said = run(tmp_path, DATABASES)
    names = {line.split()[0].rpartition("::")[2] for line in said.splitlines() if " PASSED" in line}
    assert names == {
        "test_module_nn_Linear_cpu_float64", "test_module_nn_BatchNorm1d_train_mode_cpu_float64", "test_module_nn_BatchNorm1d_eval_mode_cpu_float64",
        "test_operator_add_cpu_float32", "test_operator_sin_cpu_float32", "test_optimizer_SGD_cpu_float32", "test_tables_cpu",
        "test_reference__refs_add_cpu_float32", "test_reference__refs_special_logit_cpu_float32", "test_reference__refs_nn_functional_relu_cpu_float32",
    }  # fmt: skip


def test_the_tables_of_modules_and_criteria_hold_here(tmp_path):
    (tmp_path / "test_file.py").write_text((Path(__file__).parent / "nn_tables.py").read_text())
    environment = {**os.environ, "PYTHONPATH": str(Path(undertow.__file__).parents[1])}
    command = [sys.executable, "-m", "undertow.as_torch", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_file.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=600)
    failed = {line.split()[1].rpartition("::")[2] for line in done.stdout.splitlines() if line.startswith("FAILED")}
    assert not failed, done.stdout[-3000:]
    assert "282 passed" in done.stdout
