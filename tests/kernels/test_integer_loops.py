"""Pointwise loops of integers at lengths around vectors and blocks, strided and with repeated operands: NumPy's results and the same bits on every
instruction set."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

import undertow as ut

KERNELS = list(ut._C._build_info()["kernel_flags"])
LENGTHS = [1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 511, 512, 513, 1030]
DTYPES = [np.int8, np.uint8, np.int16, np.int32, np.int64]
FUNCTIONS = {
    "maximum": (ut.maximum, np.maximum),
    "minimum": (ut.minimum, np.minimum),
    "greater": (ut.gt, np.greater),
    "add": (ut.add, np.add),
    "multiply": (ut.mul, np.multiply),
    "xor": (ut.bitwise_xor, np.bitwise_xor),
    "and": (ut.logical_and, np.logical_and),
    "floor_divide": (lambda x, y: ut.div(x, y | 1, rounding_mode="floor"), lambda x, y: np.floor_divide(x, y | 1)),
}


def extremes(dtype, n, seed):
    info = np.iinfo(dtype)
    return np.random.default_rng(seed).choice(np.array([info.min + 1, info.max, 0, 1, 2, info.max - 1], dtype), n)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_contiguous_strided_and_repeated_operands_give_numpys_integers(name, dtype):
    ours, theirs = FUNCTIONS[name]
    for n in LENGTHS:
        a, b = extremes(dtype, 3 * n, 0), extremes(dtype, 3 * n, 1)
        x, y = ut.from_numpy(a.copy()), ut.from_numpy(b.copy())
        for first, second in ((slice(n), slice(n)), (slice(None, None, 3), slice(n)), (slice(n), slice(None, None, 3)), (slice(None, None, 3),) * 2,
                              (slice(n), slice(1)), (slice(1), slice(n))):
            with np.errstate(over="ignore"):
                expected = theirs(a[first], b[second])
            np.testing.assert_array_equal(ours(x[first], y[second]).numpy(), expected)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_shifts_by_the_width_or_more_give_zeros_or_the_sign(dtype):
    bits = np.iinfo(dtype).bits
    x = np.tile(np.array([-5, 5, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype), 9)
    for by in (0, 1, bits - 1, bits, bits + 1, -1):
        inside = 0 <= by < bits
        left, right = (ut.from_numpy(x).bitwise_left_shift(by), ut.from_numpy(x).bitwise_right_shift(by))
        np.testing.assert_array_equal(left.numpy(), x << dtype(by) if inside else 0 * x)
        np.testing.assert_array_equal(right.numpy(), x >> dtype(by) if inside else np.where(x < 0, -1, 0))


@pytest.mark.parametrize("n", LENGTHS)
def test_three_operands_and_one_agree_with_numpy(n):
    x = extremes(np.int64, n, 2)
    t = ut.from_numpy(x.copy())
    np.testing.assert_array_equal(t.clamp(-1, 1).numpy(), np.clip(x, -1, 1))
    np.testing.assert_array_equal(t.relu().numpy(), np.maximum(x, 0))
    np.testing.assert_array_equal(t.sign().numpy(), np.sign(x))
    np.testing.assert_array_equal(t.signbit().numpy(), x < 0)
    np.testing.assert_array_equal((t == 1).numpy(), x == 1)


PROGRAM = """
import hashlib
import undertow as ut
ut.manual_seed(0)
h = hashlib.sha256()
for dtype in (ut.int32, ut.int64):
    for n in (1, 7, 8, 9, 17, 513, 5000):
        x, y = (ut.randint(-2**31, 2**31 - 1, (n,)).to(dtype) for _ in range(2))
        for r in (x * y, x - 3 * y, x.clamp(-5, 1000), ut.maximum(x, y), x >> 3, x << 5, x > y, x.relu(), ut.remainder(x, 7), ut.gcd(x, y), x.float(), x.to(ut.int8), x.half()):
            h.update(r.contiguous().view(ut.uint8).numpy().tobytes() if r.dtype != ut.bool else r.numpy().tobytes())
print(h.hexdigest())
"""


def test_every_instruction_set_computes_the_same_integers():
    def digest(isa):
        return subprocess.run([sys.executable, "-c", PROGRAM], env={**os.environ, "UNDERTOW_ISA": isa}, check=True, capture_output=True, text=True).stdout

    found = {digest(isa) for isa in KERNELS}
    assert len(found) == 1 and len(found.pop().strip()) == 2 * hashlib.sha256().digest_size
