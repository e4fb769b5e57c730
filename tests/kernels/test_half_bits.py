"""All 65,536 float16 and bfloat16 values, and the floats between them, convert to the same bits on every instruction set."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import undertow

KERNELS = list(undertow._C._build_info()["kernel_flags"])

# Prints a digest for every path of half types through the kernels; the first two are compared with NumPy below.
PROGRAM = """
import hashlib, sys
import numpy as np
import undertow as ut

def digest(t):
    return hashlib.sha256(t.contiguous().numpy().tobytes()).hexdigest()

bits = np.arange(65536, dtype=np.uint16)
wide = np.load(sys.argv[1])
for half in (ut.float16, ut.bfloat16):
    x = ut.from_numpy(bits.view(np.int16).copy()).view(half)
    print(half, "widened", digest(x.float().view(ut.int32)))
    print(half, "widened to double", digest(x.double().view(ut.int64)))
    print(half, "widened with a stride", digest(x.view(256, 256).t().float().view(ut.int32)))
    print(half, "narrowed", digest(ut.from_numpy(wide).to(half).view(ut.int16)))
    print(half, "narrowed with a stride", digest(ut.from_numpy(wide)[::3].to(half).view(ut.int16)))
    number = x[~x.isnan()]
    for n in (1, 7, 33, number.numel()):  # rests of runs of 16 and 32
        for name, f in {"neg": lambda v: -v, "add": lambda v: v + v, "mul": lambda v: v * 3, "abs": ut.abs, "sum": lambda v: v.view(-1, 1).sum(1)}.items():
            result = f(number[:n])
            print(half, name, n, digest(ut.where(result.isnan(), ut.zeros_like(result), result).view(ut.int16)))
"""


def floats_between_halves() -> np.ndarray:
    """Every float16 as float, the midpoint to its upper neighbor, and the floats next to both: ties and near-ties."""
    halves = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float32)
    halves = halves[np.isfinite(halves)]
    middle = (halves[:-1].astype(np.float64) + halves[1:].astype(np.float64)) / 2
    points = np.concatenate([halves, middle.astype(np.float32), np.float32([65519.996, 65520, 1e30, np.inf, -np.inf, 1e-45, -1e-45])])
    return np.concatenate([points, np.nextafter(points, np.float32(np.inf)), np.nextafter(points, np.float32(-np.inf))])


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("halves") / "floats.npy"
    np.save(path, floats_between_halves())
    return path


def digests(isa: str, file) -> list[str]:
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(file)], env={**os.environ, "UNDERTOW_ISA": isa}, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def of_baseline(file):
    return digests("baseline", file)


@pytest.mark.parametrize("isa", KERNELS)
def test_every_instruction_set_matches_the_baseline_bitwise(isa, file, of_baseline):
    assert len(of_baseline) == 2 * (5 + 4 * 5)
    assert digests(isa, file) == of_baseline


def test_float16_widens_as_numpy_does():
    bits = np.arange(65536, dtype=np.uint16)
    ours = undertow.from_numpy(bits.view(np.float16)).float().numpy()
    theirs = bits.view(np.float16).astype(np.float32)
    number = ~np.isnan(theirs)
    assert np.array_equal(ours.view(np.uint32)[number], theirs.view(np.uint32)[number])
    assert np.array_equal(np.isnan(ours), ~number) and (~number).sum() == 2 * 1023


def test_float16_narrows_as_numpy_does():
    wide = floats_between_halves()
    with np.errstate(over="ignore"):
        theirs = wide.astype(np.float16)
    assert np.array_equal(undertow.from_numpy(wide).half().numpy().view(np.uint16), theirs.view(np.uint16))


def test_bfloat16_is_the_upper_half_of_a_float():
    bits = np.arange(65536, dtype=np.uint16)
    ours = undertow.from_numpy(bits.view(np.int16)).view(undertow.bfloat16).float().numpy().view(np.uint32)
    assert np.array_equal(ours, bits.astype(np.uint32) << 16)


@pytest.mark.parametrize("half", [undertow.float16, undertow.bfloat16], ids=str)
def test_scalars_round_as_tensors_do(half):
    wide = floats_between_halves()[::97]
    one_by_one = [undertow.full((), float(x), dtype=half).view(undertow.int16).item() for x in wide]
    assert one_by_one == undertow.from_numpy(wide).to(half).view(undertow.int16).tolist()
