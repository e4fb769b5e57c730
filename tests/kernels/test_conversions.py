"""Conversions between all dtypes, which may take several steps through blocks, equal one step of NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut

NAMES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


def values(name, n):
    rng = np.random.default_rng(3)
    if name == "bool":
        return rng.random(n) < 0.5
    if "int" in name:
        info = np.iinfo(name)
        return rng.integers(info.min, info.max, n, dtype=name, endpoint=True)
    return (rng.standard_normal(n) * 100).astype(name)


@pytest.mark.parametrize("to", NAMES)
@pytest.mark.parametrize("source", NAMES)
def test_a_conversion_gives_numpys_result_at_the_borders_of_blocks(source, to):
    for n in (1, 15, 17, 1023, 1024, 1025, 2100):
        x = values(source, n)
        with np.errstate(over="ignore", invalid="ignore"):
            if to == "float16" and source in ("float64", "int32", "int64"):  # through float32
                expected = x.astype(np.float32).astype(np.float16)
            elif "int" in to and "float" in source:  # out of range they wrap around
                expected = x.astype(np.int64).astype(to)
            else:
                expected = x.astype(to)
        t = ut.from_numpy(x.copy())
        np.testing.assert_array_equal(t.to(getattr(ut, to)).numpy(), expected)
        np.testing.assert_array_equal(t[::2].to(getattr(ut, to)).numpy(), expected[::2])


@pytest.mark.parametrize("to", ["bool", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64"])
def test_bfloat16_converts_as_the_float_it_is(to):
    x = ut.from_numpy((np.random.default_rng(4).standard_normal(2100) * 50).astype(np.float32)).bfloat16()
    assert ut.equal(x.to(getattr(ut, to)), x.float().to(getattr(ut, to)))
    back = x.to(getattr(ut, to)).to(ut.float32) if to != "complex64" else x.float()
    assert ut.equal(back.bfloat16(), back.to(ut.float64).to(ut.bfloat16))


def test_equal_sees_a_difference_anywhere_in_a_long_tensor():
    x = ut.arange(40_000.0)
    for at in (0, 1023, 1024, 20_000, 39_999):
        y = x.clone()
        y[at] = -1.0
        assert not ut.equal(x, y) and not ut.equal(y, x)
    assert ut.equal(x, x.clone()) and ut.equal(x.view(200, 200).t(), x.view(200, 200).t().clone())
