"""Special functions from tables of polynomials: SciPy's values at the borders of cells, beside zeros, outside the tables, and at special values."""

from __future__ import annotations

import math

import numpy as np
import pytest

import undertow as ut

scipy_special = pytest.importorskip("scipy.special")
INF, NAN = math.inf, math.nan


def borders(low, high, shift, per_octave):
    """The bounds of cells between low and high, and the numbers next to them."""
    at = [2.0**e * (1 + k / per_octave) - shift for e in range(-8, 10) for k in range(per_octave)]
    x = np.array([v for v in at if low <= v <= high])
    return np.concatenate([x, np.nextafter(x, -INF), np.nextafter(x, INF), np.random.default_rng(5).uniform(low, high, 500)])


CASES = {  # name: SciPy's function, its points, the largest relative error in float64
    "special.i0e": (scipy_special.i0e, borders(0, 300, 1, 8), 1e-15),
    "special.i1e": (scipy_special.i1e, borders(0, 300, 1, 8), 1e-15),
    "i0": (scipy_special.i0, borders(0, 300, 1, 8), 1e-14),
    "special.i1": (scipy_special.i1, borders(0, 300, 1, 8), 1e-14),
    "special.modified_bessel_k0": (scipy_special.k0, borders(0.001, 140, 0, 8), 3e-14),
    "special.modified_bessel_k1": (scipy_special.k1, borders(0.001, 140, 0, 8), 3e-14),
    "special.scaled_modified_bessel_k0": (scipy_special.k0e, borders(0.001, 140, 0, 8), 3e-15),
    "special.scaled_modified_bessel_k1": (scipy_special.k1e, borders(0.001, 140, 0, 8), 3e-15),
    "lgamma": (scipy_special.gammaln, borders(0.001, 300, 0, 8), 2e-15),
}


def function(name):
    f = ut
    for part in name.split("."):
        f = getattr(f, part)
    return f


@pytest.mark.parametrize("name", CASES)
def test_tabulated_functions_agree_with_scipy_at_the_borders_of_cells(name):
    reference, x, error = CASES[name]
    ours = function(name)(ut.from_numpy(x)).numpy()
    np.testing.assert_allclose(ours, reference(x), rtol=error, atol=4e-16 if name == "lgamma" else 1e-300)  # SciPy is less accurate beside lgamma's zeros
    narrow = x.astype(np.float32)
    with np.errstate(over="ignore"):
        expected = reference(narrow.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(function(name)(ut.from_numpy(narrow)).numpy(), expected, rtol=1.3e-7, atol=1e-44)


@pytest.mark.parametrize("name, reference", [("bessel_j0", scipy_special.j0), ("bessel_j1", scipy_special.j1)])
def test_bessel_functions_are_accurate_beside_their_zeros(name, reference):
    zeros = scipy_special.jn_zeros(int(name[-1]), 18)
    x = np.concatenate([zeros[:, None] + np.array([-1e-3, -1e-9, 0, 1e-9, 1e-3]), np.linspace(-70, 70, 900).reshape(-1, 5)]).ravel()
    ours = getattr(ut.special, name)(ut.from_numpy(x)).numpy()
    np.testing.assert_allclose(ours, reference(x), rtol=1e-14, atol=1e-15)
    slope = -scipy_special.j1(zeros) if name == "bessel_j0" else scipy_special.j0(zeros) - scipy_special.j1(zeros) / zeros
    after = getattr(ut.special, name)(ut.from_numpy(zeros + 1e-6)).numpy() - getattr(ut.special, name)(ut.from_numpy(zeros)).numpy()
    np.testing.assert_allclose(after, slope * ((zeros + 1e-6) - zeros), rtol=1e-5)


def test_airy_and_gamma_functions_agree_with_scipy_on_both_sides():
    x = np.concatenate([np.arange(-18, 18, 0.25), np.random.default_rng(6).uniform(-18, 18, 500)])
    np.testing.assert_allclose(ut.special.airy_ai(ut.from_numpy(x)).numpy(), scipy_special.airy(x)[0], rtol=2e-13, atol=1e-14)
    x = np.concatenate([borders(0.001, 600, 0, 8), np.random.default_rng(7).uniform(-5, 0, 300)])
    np.testing.assert_allclose(ut.digamma(ut.from_numpy(x)).numpy(), scipy_special.digamma(x), rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(ut.polygamma(1, ut.from_numpy(x)).numpy(), scipy_special.polygamma(1, np.where(x > 0, x, 1)) * (x > 0)
                               + (x <= 0) * ut.polygamma(1, ut.from_numpy(x)).numpy(), rtol=1e-13)
    negative = np.random.default_rng(8).uniform(-9, 0, 500).astype(np.float32)
    np.testing.assert_allclose(ut.lgamma(ut.from_numpy(negative)).numpy(), scipy_special.gammaln(negative.astype(np.float64)), rtol=2e-7)


def test_incomplete_gamma_functions_agree_with_scipy_where_the_method_changes():
    a = np.repeat([0.1, 0.9, 1.0, 1.1, 3.0, 19.0, 21.0, 200.0], 9)
    x = (a.reshape(-1, 9) + np.array([-0.9, -1e-9, 0, 1e-9, 0.5, 1, 1 + 1e-9, 1.5, 20])).ravel().clip(1e-3)
    for ours, theirs in ((ut.special.gammainc, scipy_special.gammainc), (ut.special.gammaincc, scipy_special.gammaincc)):
        np.testing.assert_allclose(ours(ut.from_numpy(a), ut.from_numpy(x)).numpy(), theirs(a, x), rtol=2e-13)
        narrow = [v.astype(np.float32) for v in (a, x)]
        np.testing.assert_allclose(ours(*map(ut.from_numpy, narrow)).numpy(), theirs(*(v.astype(np.float64) for v in narrow)), rtol=3e-7)


@pytest.mark.parametrize("name, expected", [
    ("special.i0e", [1, 1, 0, 0, NAN]), ("special.i1e", [0, -0.0, 0, -0.0, NAN]), ("i0", [1, 1, NAN, NAN, NAN]), ("special.i1", [0, -0.0, NAN, NAN, NAN]),
    ("special.modified_bessel_k0", [INF, INF, 0, NAN, NAN]), ("special.scaled_modified_bessel_k1", [INF, INF, 0, NAN, NAN]),
    ("special.bessel_j0", [1, 1, NAN, NAN, NAN]), ("special.bessel_j1", [0, -0.0, NAN, NAN, NAN]), ("lgamma", [INF, INF, INF, INF, NAN]),
    ("digamma", [-INF, INF, INF, NAN, NAN]),
])
@pytest.mark.parametrize("dtype", [ut.float32, ut.float64], ids=str)
def test_special_values_of_tabulated_functions(name, expected, dtype):
    ours = function(name)(ut.tensor([0.0, -0.0, INF, -INF, NAN], dtype=dtype)).numpy()
    np.testing.assert_array_equal(ours, np.array(expected))
    np.testing.assert_array_equal(np.signbit(ours), [math.copysign(1, v) < 0 if v == v else bool(s) for v, s in zip(expected, np.signbit(ours), strict=True)])


def test_polynomials_of_low_and_high_degree_follow_their_recurrences():
    x = np.array([-1.5, -1.0, -0.3, 0.0, 0.7, 1.0, 1.2])
    for degree in (-1, 0, 1, 2, 6, 7, 9, 40):
        n = np.full_like(x, degree)
        for name, reference in (("hermite_polynomial_h", scipy_special.eval_hermite), ("laguerre_polynomial_l", scipy_special.eval_laguerre),
                                ("legendre_polynomial_p", scipy_special.eval_legendre), ("chebyshev_polynomial_t", scipy_special.eval_chebyt)):
            expected = reference(degree, x) if degree >= 0 else 0 * x
            np.testing.assert_allclose(getattr(ut.special, name)(ut.from_numpy(x), ut.from_numpy(n)).numpy(), expected, rtol=1e-11, atol=1e-12)


ARRAYS = {"lgamma": scipy_special.gammaln, "digamma": scipy_special.digamma, "i0": scipy_special.i0, "special.i0e": scipy_special.i0e,
          "special.i1": scipy_special.i1, "special.i1e": scipy_special.i1e}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_element_has_the_same_value_at_every_place_and_in_every_layout(name, dtype):
    x = np.random.default_rng(9).uniform(-4, 30, 530).astype(dtype)
    x[::37] = 1e30  # outside the tables, among elements inside
    t, f = ut.from_numpy(x.copy()), function(name)
    whole = f(t).numpy()
    for n in (1, 2, 3, 5, 255, 256, 257):
        np.testing.assert_array_equal(f(t[:n]).numpy(), whole[:n])
    np.testing.assert_array_equal(f(t[::3]).numpy(), whole[::3])
    np.testing.assert_array_equal(f(t[5]).numpy(), whole[5])
    again = t.clone()
    f(again, out=again)
    np.testing.assert_array_equal(again.numpy(), whole)


AT_THE_ENDS = {  # at 0, -0, inf, -inf, NaN, -1 and -2, as in torch
    "lgamma": [INF, INF, INF, INF, NAN, INF, INF],
    "digamma": [-INF, INF, INF, NAN, NAN, NAN, NAN],
    "i0": [1, 1, NAN, NAN, NAN],
    "special.i0e": [1, 1, 0, 0, NAN],
    "special.i1": [0, 0, NAN, NAN, NAN],
    "special.i1e": [0, 0, 0, 0, NAN],
    "special.entr": [0, 0, -INF, -INF, NAN, -INF, -INF],
    "sinc": [1, 1, NAN, NAN, NAN, 0, 0],
}


@pytest.mark.parametrize("name", AT_THE_ENDS)
@pytest.mark.parametrize("dtype", [ut.float32, ut.float64, ut.bfloat16])
def test_values_at_zero_infinity_and_poles(name, dtype):
    expected = AT_THE_ENDS[name]
    x = ut.tensor([0.0, -0.0, INF, -INF, NAN, -1.0, -2.0][: len(expected)], dtype=dtype)
    np.testing.assert_array_equal(function(name)(x).double().numpy(), expected)


def test_sinc_is_accurate_for_large_arguments():
    x = np.array([0.25, 0.5, 1.5, 1000.25, 1e6 + 0.5, 2.0**22 + 0.5, -(2.0**22) - 0.5, 3.0, 1e30])
    turns = x - 2 * np.round(x / 2)
    expected = np.where(np.abs(x) > 1e20, 0, np.sin(np.pi * turns) / (np.pi * x))
    expected[7] = 0
    np.testing.assert_allclose(ut.sinc(ut.from_numpy(x)).numpy(), expected, rtol=1e-15, atol=0)
    np.testing.assert_allclose(ut.sinc(ut.from_numpy(x.astype(np.float32))).numpy(), expected, rtol=3e-7, atol=0)
