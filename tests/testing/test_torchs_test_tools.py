"""Test files written with the tools of PyTorch's own tests run here, and fail where they should."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import undertow as ut
from undertow.as_torch.shims.testing._internal import common_dtype
from undertow.as_torch.shims.testing._internal.common_utils import TestCase as Case

ROOT = Path(__file__).resolve().parents[2]

FILE = """
import unittest
import torch
from torch.testing._internal.common_device_type import dtypes, instantiate_device_type_tests, onlyCPU, onlyCUDA, precisionOverride
from torch.testing._internal.common_dtype import floating_types_and
from torch.testing._internal.common_utils import (TestCase, gradcheck, instantiate_parametrized_tests, parametrize, run_tests,
                                                  skipIfTorchDynamo, slowTest, subtest)

class TestPlain(TestCase):
    def test_seeded(self):
        self.assertEqual(torch.rand(2), torch.rand(2, generator=torch.Generator().manual_seed(1234)))

    @skipIfTorchDynamo("no reason")
    def test_gradcheck(self):
        self.assertTrue(gradcheck(torch.exp, torch.rand(3, dtype=torch.double, requires_grad=True)))

    @slowTest
    def test_slow(self):
        raise RuntimeError("is skipped")

    @parametrize("a,b", [(1, 2), subtest((3, 4), name="named")])
    @parametrize("dtype", [torch.float32])
    def test_many(self, a, b, dtype):
        self.assertEqual(b - a, 1)

instantiate_parametrized_tests(TestPlain)

class TestDevice(TestCase):
    @dtypes(*floating_types_and(torch.half))
    @precisionOverride({torch.half: 1e-1})
    def test_close(self, device, dtype):
        self.assertEqual(torch.ones(2, device=device, dtype=dtype), torch.full((2,), 1.05 if dtype == torch.half else 1.0, dtype=dtype))

    @onlyCUDA
    def test_gpu(self, device):
        raise RuntimeError("is skipped")

    @onlyCPU
    def test_cpu(self, device):
        self.assertEqual(device, "cpu")

instantiate_device_type_tests(TestDevice, globals())

if __name__ == "__main__":
    run_tests()
"""


def run(tmp_path: Path, tools: str, *arguments: str) -> str:
    """Runs the file with PyTorch's own tools, if installed, or with ours, on a machine that claims to be a CI."""
    (tmp_path / "test_file.py").write_text(textwrap.dedent(FILE))
    paths = [str(tmp_path), os.environ.get("PYTHONPATH"), str(Path(ut.__file__).parents[1])]  # under -P the folder itself is not searched
    env = {**os.environ, "UNDERTOW_TEST_TOOLS": tools, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "CI": "true"}
    done = subprocess.run([sys.executable, "-m", "undertow.as_torch", *arguments], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("tools", ["own", "installed"])
def test_a_file_of_tests_runs_under_unittest(tmp_path, tools):
    said = run(tmp_path, tools, "-m", "unittest", "-v", "test_file")
    names = {line.split()[0] for line in said.splitlines() if line.startswith("test_")}
    assert names == {
        "test_seeded", "test_gradcheck", "test_slow", "test_many_a_1_b_2_float32", "test_many_named_float32",
        "test_close_cpu_float32", "test_close_cpu_float64", "test_close_cpu_float16", "test_gpu_cpu", "test_cpu_cpu",
    }
    assert "OK (skipped=2)" in said


@pytest.mark.parametrize("tools", ["own", "installed"])
def test_a_file_of_tests_runs_under_pytest_and_by_itself(tmp_path, tools):
    assert "8 passed, 2 skipped" in run(tmp_path, tools, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_file.py")
    assert "OK (skipped=2)" in run(tmp_path, tools, "test_file.py")


EQUAL = [
    (ut.ones(2), np.ones(2, dtype=np.float32)), (ut.tensor(2), 2), (2.0, ut.tensor(2.0)), ([1, {"a": ut.ones(1)}], [1, {"a": ut.ones(1)}]),
    (ut.Size([1, 2]), [1, 2]), ("a", "a"), (ut.float32, ut.float32), ({1, 2}, {2, 1}), (float("nan"), float("nan")), (1.0, 1.0 + 1e-7), (True, True),
    (None, None), (ut.tensor(True), True), (int, int),
]
UNEQUAL = [
    (ut.ones(2), ut.ones(3)), (ut.ones(2), ut.ones(2, dtype=ut.float64)), (ut.ones(2), ut.zeros(2)), (1.0, 1.1), ("a", "b"), ([1], [1, 2]),
    ({"a": 1}, {"b": 1}), (None, 1), (ut.tensor([1, 2]), 1), (int, float), (True, False), ({1}, {2}),
]


@pytest.mark.parametrize(("x", "y"), EQUAL, ids=str)
def test_equal_things_are_equal(x, y):
    case = Case()
    case.assertEqual(x, y)
    with pytest.raises(AssertionError):
        case.assertNotEqual(x, y)


@pytest.mark.parametrize(("x", "y"), UNEQUAL, ids=str)
def test_unequal_things_are_not(x, y):
    case = Case()
    with pytest.raises(AssertionError):
        case.assertEqual(x, y)
    case.assertNotEqual(x, y)


def test_tolerances_and_types_can_be_given():
    case = Case()
    case.assertEqual(ut.ones(2), ut.ones(2) + 0.01, atol=0.1, rtol=0)
    case.assertEqual(ut.ones(2), ut.ones(2, dtype=ut.float64), exact_dtype=False)
    case.assertEqualBroadcasting(ut.ones(2, 3), 1)
    with pytest.raises(AssertionError, match="mine"):
        case.assertEqual(1, 2, "mine")
    with case.assertWarnsOnceRegex(UserWarning, "careful"):
        import warnings

        warnings.warn("be careful", stacklevel=1)
    case.assertExpectedInline("a\n  b", "a\n  b")
    with pytest.raises(AssertionError):
        case.assertExpectedRaisesInline(RuntimeError, lambda: None, "")


def test_families_of_dtypes_match_torch():
    assert set(common_dtype.floating_types_and(ut.half)) == {ut.float16, ut.float32, ut.float64}
    assert len(common_dtype.all_types_and_complex_and(ut.bool, ut.half, ut.bfloat16)) == 12
    assert ut.bool in common_dtype.get_all_dtypes() and ut.complex64 not in common_dtype.get_all_dtypes(include_complex=False)
