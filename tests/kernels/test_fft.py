"""Fourier transforms: every length, norm and form compared with NumPy; inverses; derivatives; short-time transforms and windows."""

import numpy as np
import pytest

import undertow as ut
from undertow import signal

RNG = np.random.default_rng(2)
LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 31, 37, 49, 60, 61, 64, 97, 100, 120, 121, 127, 128, 143, 210, 256, 331, 1000, 1009, 1024]


def numbers(*shape, dtype="complex128"):
    x = RNG.standard_normal(shape)
    return (x + 1j * RNG.standard_normal(shape) if dtype.startswith("complex") else x).astype(dtype)


@pytest.mark.parametrize("n", LENGTHS)
def test_a_transform_of_any_length_is_exact_to_rounding(n: int):
    x = numbers(3, n)
    size = np.abs(np.fft.fft(x)).max()
    np.testing.assert_allclose(ut.fft.fft(ut.from_numpy(x)).numpy(), np.fft.fft(x), atol=size * 1e-14)
    np.testing.assert_allclose(ut.fft.ifft(ut.from_numpy(x)).numpy(), np.fft.ifft(x), atol=size / n * 1e-14)
    single = ut.fft.fft(ut.from_numpy(x.astype("complex64"))).numpy()
    assert single.dtype == "complex64"
    np.testing.assert_allclose(single, np.fft.fft(x), atol=size * 2e-6)


@pytest.mark.parametrize("norm", [None, "forward", "backward", "ortho"])
@pytest.mark.parametrize("form", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2"])
def test_every_form_and_norm_matches_numpy(form: str, norm: str | None):
    x = numbers(4, 5, 6, dtype="float64" if form.startswith(("rfft", "ihfft")) else "complex128")
    ours = getattr(ut.fft, form)(ut.from_numpy(x), norm=norm).resolve_conj().numpy()
    np.testing.assert_allclose(ours, getattr(np.fft, form)(x, norm=norm), atol=1e-10)


@pytest.mark.parametrize("n", [3, 6, 9])
def test_a_length_cuts_or_fills_with_zeros(n: int):
    x = numbers(2, 6)
    np.testing.assert_allclose(ut.fft.fft(ut.from_numpy(x), n).numpy(), np.fft.fft(x, n), atol=1e-12)
    np.testing.assert_allclose(ut.fft.irfft(ut.from_numpy(x), n).numpy(), np.fft.irfft(x, n), atol=1e-12)
    np.testing.assert_allclose(ut.fft.fft(ut.from_numpy(x), n, dim=0).numpy(), np.fft.fft(x, n, axis=0), atol=1e-12)


def test_halves_of_hermitian_signals_are_inverted():
    x = ut.from_numpy(numbers(3, 4, 7, dtype="float64"))
    back = ut.fft.hfftn(ut.fft.ihfftn(x), s=x.shape)
    np.testing.assert_allclose(back.numpy(), x.numpy(), atol=1e-12)
    np.testing.assert_allclose(ut.fft.hfft2(ut.fft.ihfft2(x), s=(4, 7)).numpy(), x.numpy(), atol=1e-12)


def test_integers_become_floating_and_half_types_raise():
    assert ut.fft.fft(ut.arange(4)).dtype == ut.complex64
    with pytest.raises(RuntimeError, match="Unsupported dtype Half"):
        ut.fft.fft(ut.ones(4, dtype=ut.float16))


def test_frequencies_and_shifts_match_numpy():
    for n in (0, 1, 4, 5):
        np.testing.assert_allclose(ut.fft.rfftfreq(n, 0.5).numpy(), np.fft.rfftfreq(n, 0.5) if n else [0.0], atol=1e-7)
        x = np.arange(n * 3).reshape(n, 3)
        np.testing.assert_array_equal(ut.fft.fftshift(ut.from_numpy(x)).numpy(), np.fft.fftshift(x))
        np.testing.assert_array_equal(ut.fft.ifftshift(ut.from_numpy(x), 1).numpy(), np.fft.ifftshift(x, 1))
        if n:
            np.testing.assert_allclose(ut.fft.fftfreq(n, 0.5).numpy(), np.fft.fftfreq(n, 0.5), atol=1e-7)


@pytest.mark.parametrize("n", [1, 2, 5, 6, 37])
def test_derivatives_of_real_transforms_pass_gradcheck(n: int):
    x = ut.from_numpy(numbers(2, n, dtype="float64")).requires_grad_()
    z = ut.from_numpy(numbers(2, n // 2 + 1)).requires_grad_()
    for f, at in ((ut.fft.rfft, x), (ut.fft.fft, x), (ut.fft.ihfft, x), (lambda t: ut.fft.irfft(t, n), z), (lambda t: ut.fft.hfft(t, n), z)):
        assert ut.autograd.gradcheck(f, (at,), check_forward_ad=True)
        assert ut.autograd.gradgradcheck(f, (at,))


def test_a_transform_of_samples_is_the_samples_transform():
    x = ut.from_numpy(numbers(5, 3, 4))
    np.testing.assert_array_equal(ut.vmap(lambda t: ut.fft.fftn(t))(x).numpy(), ut.fft.fftn(x, dim=(1, 2)).numpy())
    np.testing.assert_array_equal(ut.vmap(lambda t: ut.fft.irfft(t, 6, dim=0), in_dims=1)(x).numpy(), ut.fft.irfft(x.transpose(0, 1), 6, dim=1).numpy())


def test_the_result_can_be_written_to_out():
    x, out = ut.from_numpy(numbers(4)), ut.empty(0, dtype=ut.complex128)
    assert ut.fft.fft(x, out=out) is out
    np.testing.assert_allclose(out.numpy(), np.fft.fft(x.numpy()), atol=1e-12)


@pytest.mark.parametrize("threads", [2, 4])
def test_results_are_bitwise_equal_for_any_number_of_threads(threads: int):
    x = ut.from_numpy(numbers(200, 97))
    before = ut.get_num_threads()
    try:
        ut.set_num_threads(1)
        one = ut.fft.fft2(x).numpy()
        ut.set_num_threads(threads)
        assert (ut.fft.fft2(x).numpy() == one).all()
    finally:
        ut.set_num_threads(before)


@pytest.mark.parametrize("window", [None, 12, 16])
def test_istft_inverts_stft(window: int | None):
    x = ut.from_numpy(numbers(2, 80, dtype="float64"))
    options = {} if window is None else {"win_length": window, "window": ut.hann_window(window, dtype=ut.float64)}
    spectrum = x.stft(16, hop_length=4, return_complex=True, **options)
    assert spectrum.shape == (2, 9, 21)
    np.testing.assert_allclose(spectrum.istft(16, hop_length=4, length=80, **options).numpy(), x.numpy(), atol=1e-12)


def test_a_window_that_leaves_gaps_raises():
    spectrum = ut.stft(ut.ones(40), 8, return_complex=True)
    with pytest.raises(RuntimeError, match="window overlap add min"):
        ut.istft(spectrum, 8, window=ut.zeros(8))


@pytest.mark.parametrize("name", ["hann", "hamming", "blackman", "bartlett"])
def test_symmetric_windows_match_numpy(name: str):
    made = getattr(signal.windows, name)(9, dtype=ut.float64).numpy()
    np.testing.assert_allclose(made, getattr(np, {"hann": "hanning"}.get(name, name))(9), atol=1e-15)
    periodic = getattr(ut, f"{name}_window")(8, dtype=ut.float64).numpy()
    np.testing.assert_allclose(periodic, made[:-1], atol=1e-15)


def test_a_kaiser_window_matches_numpy():
    np.testing.assert_allclose(signal.windows.kaiser(9, beta=5.0, dtype=ut.float64).numpy(), np.kaiser(9, 5.0), atol=1e-12)


@pytest.mark.parametrize("name", signal.windows.__all__)
def test_windows_of_no_and_one_element(name: str):
    options = {"a": [0.5, 0.5]} if name == "general_cosine" else {}
    for periodic in (True, False):
        assert getattr(signal.windows, name)(0, sym=not periodic, **options).shape == (0,)
        np.testing.assert_allclose(getattr(signal.windows, name)(1, sym=not periodic, **options).numpy(), [1.0], atol=1e-6)


def test_a_transform_of_two_elements_multiplies_nothing():
    z = ut.complex(ut.tensor([1.0, 2.0]), ut.full((2,), float("nan")))
    assert ut.fft.fft(z).real.tolist() == [3, -1]
    assert ut.fft.ifft(z).real.tolist() == [1.5, -0.5]
