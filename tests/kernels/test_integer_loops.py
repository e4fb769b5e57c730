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


def exactly_divided(a, b):
    """The quotients and remainders of truncated and of floor division, in Python's integers, wrapped to the dtype."""
    floors = [divmod(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    truncated = [q + (r != 0 and q < 0) for q, r in floors]
    rest = [int(x) - q * int(y) for x, y, q in zip(a, b, truncated, strict=True)]

    def wrapped(values):
        return np.array([v % 2**64 for v in values], np.uint64).astype(a.dtype)

    return {"floor_divide": wrapped([q for q, _ in floors]), "remainder": wrapped([r for _, r in floors]), "trunc_divide": wrapped(truncated),
            "fmod": wrapped(rest)}


# Doubles divide blocks of integers below 2^51; others are divided one by one.
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
@pytest.mark.parametrize("borders", ["small", "near 2^51", "all"])
def test_every_kind_of_division_is_exact(dtype, borders):
    info, random = np.iinfo(dtype), np.random.default_rng(3)
    near = {"small": [1, 2, 3, 7, 100], "near 2^51": [2**51 - 1, 2**51, 2**51 + 1, 2**25 + 1, 2**26 - 1, 1, 3], "all": [info.max, info.max - 1, 2, 1]}
    values = [v for m in near[borders] for v in (m, -m, 0) if info.min <= v <= info.max] + [info.min] * (borders == "all")
    a = random.choice(np.array(values, dtype), 1030)
    b = random.choice(np.array([v for v in values if v != 0], dtype), 1030)
    a[::3] = exactly_divided(a[::3], b[::3])["floor_divide"] * b[::3]  # without a remainder
    x, y = ut.from_numpy(a.copy()), ut.from_numpy(b.copy())
    expected = exactly_divided(a, b)
    for name, ours in (("floor_divide", ut.floor_divide(x, y)), ("remainder", ut.remainder(x, y)), ("fmod", ut.fmod(x, y)),
                       ("trunc_divide", ut.div(x, y, rounding_mode="trunc"))):
        np.testing.assert_array_equal(ours.numpy(), expected[name], err_msg=name)
    np.testing.assert_array_equal(ut.remainder(x[::2], y[3]).numpy(), exactly_divided(a[::2], np.full_like(a[::2], b[3]))["remainder"])


@pytest.mark.parametrize("dtype", [ut.int8, ut.int32, ut.int64])
@pytest.mark.parametrize("at", [0, 255, 256, 999])
def test_a_zero_among_the_divisors_is_an_error_wherever_it_is(dtype, at):
    x, y = ut.ones(1000, dtype=dtype), ut.ones(1000, dtype=dtype)
    y[at] = 0
    for divide in (ut.floor_divide, ut.remainder, ut.fmod):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            divide(x, y)
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):  # read with a stride
            divide(x, ut.stack([y, y], 1)[:, 0])


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
