"""Fourier transforms by lanes and by squares: every layout of lines at the boundaries of vectors, threads, and nonfinite values."""

import numpy as np
import pytest

import undertow as ut

RNG = np.random.default_rng(5)
# Lines before and after the dimension: one, a few, about a vector of them, several vectors, cut by the ends of blocks.
LAYOUTS = [(1, 1), (3, 1), (7, 1), (16, 1), (33, 1), (1, 3), (5, 3), (2, 9), (3, 17), (1, 40)]
LENGTHS = [1, 2, 3, 4, 7, 10, 16, 22, 31, 34, 63, 64, 74, 96, 100, 194, 512]


def lines(outer, n, inner, dtype="complex128"):
    x = RNG.standard_normal((outer, n, inner))
    return (x + 1j * RNG.standard_normal(x.shape) if dtype.startswith("complex") else x).astype(dtype)


def close(ours, exact, eps):
    np.testing.assert_allclose(ours, exact, atol=eps * (1 + np.sqrt(np.mean(np.abs(exact) ** 2))), rtol=0)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("n", LENGTHS)
def test_lines_may_have_any_layout(layout: tuple[int, int], n: int):
    outer, inner = layout
    for complex_type, real_type, eps in (("complex128", "float64", 1e-14), ("complex64", "float32", 4e-6)):
        x = lines(outer, n, inner, complex_type)
        close(ut.fft.fft(ut.from_numpy(x), dim=1).numpy(), np.fft.fft(x, axis=1), eps)
        close(ut.fft.ifft(ut.from_numpy(x), dim=1).numpy(), np.fft.ifft(x, axis=1), eps)
        r = x.real.astype(real_type)
        close(ut.fft.rfft(ut.from_numpy(r), dim=1).numpy(), np.fft.rfft(r, axis=1), eps)
        close(ut.fft.fft(ut.from_numpy(r), dim=1).numpy(), np.fft.fft(r, axis=1), eps)
        half = x[:, : n // 2 + 1].copy()  # the first and last element need not be real: their imaginary parts do not count
        close(ut.fft.irfft(ut.from_numpy(half), n=n, dim=1).numpy(), np.fft.irfft(half, n=n, axis=1), eps)


@pytest.mark.parametrize("n", [4097, 6561, 8192, 10007, 50000, 65536])
@pytest.mark.parametrize("layout", [(1, 1), (9, 1), (1, 2), (2, 10)], ids=str)
def test_long_lines_split_into_squares_match_numpy(layout: tuple[int, int], n: int):
    outer, inner = layout
    x = lines(outer, n, inner)
    close(ut.fft.fft(ut.from_numpy(x), dim=1).numpy(), np.fft.fft(x, axis=1), 2e-14)
    close(ut.fft.ifft(ut.from_numpy(x), dim=1).numpy(), np.fft.ifft(x, axis=1), 2e-14)
    close(ut.fft.rfft(ut.from_numpy(x.real.copy()), dim=1).numpy(), np.fft.rfft(x.real, axis=1), 2e-14)
    half = np.fft.rfft(x.real, axis=1)
    close(ut.fft.irfft(ut.from_numpy(half), n=n, dim=1).numpy(), x.real, 2e-14)


@pytest.mark.parametrize("shape", [(300, 64), (40, 512), (2, 65536), (1, 10007), (64, 100, 3), (5000, 20)], ids=str)
@pytest.mark.parametrize("form", ["fft", "ifft", "rfft", "irfft"])
def test_results_are_bitwise_equal_for_any_number_of_threads(shape: tuple[int, ...], form: str):
    x = ut.from_numpy(RNG.standard_normal(shape).astype("float32"))
    if form != "rfft":
        x = ut.complex(x, x.flip(0))
    before = ut.get_num_threads()
    try:
        results = []
        for threads in (1, 2):
            ut.set_num_threads(threads)
            results.append([getattr(ut.fft, form)(x, dim=d).numpy().tobytes() for d in range(len(shape)) if shape[d] > 1])
    finally:
        ut.set_num_threads(before)
    assert results[0] == results[1]


def test_a_value_that_is_not_finite_stays_in_its_line():
    for n in (8, 97, 512):
        x = lines(20, n, 1)
        x[3, 1] = np.nan
        x[5, 2] = np.inf
        for ours in (ut.fft.fft(ut.from_numpy(x), dim=1).numpy(), ut.fft.rfft(ut.from_numpy(x.real.copy()), dim=1).numpy()):
            finite = np.isfinite(ours).all(axis=(1, 2))
            assert [i for i in range(20) if not finite[i]] == [3, 5]


def test_views_and_conjugates_are_transformed_correctly():
    x = lines(6, 12, 10)
    t = ut.from_numpy(x)
    close(ut.fft.fft(t[:, ::2, 1:], dim=1).numpy(), np.fft.fft(x[:, ::2, 1:], axis=1), 1e-14)
    close(ut.fft.fft(t.conj(), dim=1).numpy(), np.fft.fft(x.conj(), axis=1), 1e-14)
    close(ut.fft.fftn(t.transpose(0, 2)).numpy(), np.fft.fftn(x.transpose(2, 1, 0)), 1e-14)
    close(ut.fft.irfftn(ut.fft.rfftn(t.real)).numpy(), x.real, 1e-14)
    before = t.clone()
    ut.fft.fft(t), ut.fft.irfft2(t)
    assert ut.equal(t, before)
