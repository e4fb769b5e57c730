"""Fourier transforms on a GPU agree with the CPU's."""
from __future__ import annotations

import pytest

import undertow as ut
from tests.cuda.compare import close, numbers

pytestmark = pytest.mark.cuda
TOLERANCES = {ut.float32: 1e-5, ut.float64: 1e-12}


def parts(t: ut.Tensor) -> ut.Tensor:
    t = t.cpu()
    return ut.view_as_real(t) if t.is_complex() else t


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("n", [1, 2, 7, 8, 30])
def test_transforms_along_each_dimension(dtype: ut.dtype, dim: int, n: int) -> None:
    shape = [3, 4, 5]
    shape[dim] = n
    x, y = numbers(*shape, dtype=dtype), numbers(*shape, dtype=dtype, seed=1)
    z = ut.complex(x, y)
    tol = TOLERANCES[dtype]
    for f, t in ((ut.fft.fft, z), (ut.fft.ifft, z), (ut.fft.fft, x), (ut.fft.rfft, x), (ut.fft.hfft, z)):
        if f is ut.fft.hfft and n == 1:
            continue  # its result would be empty
        close(parts(f(t.to("cuda"), dim=dim)), parts(f(t, dim=dim)), tol)
    half = ut.fft.rfft(x, dim=dim)
    close(ut.fft.irfft(half.to("cuda"), n=n, dim=dim), ut.fft.irfft(half, n=n, dim=dim), tol)


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_transforms_of_several_dimensions(norm: str) -> None:
    x = numbers(40, 6, 5, 3)
    for f in (ut.fft.fft2, ut.fft.fftn, ut.fft.rfft2, ut.fft.rfftn):
        close(parts(f(x.to("cuda"), norm=norm)), parts(f(x, norm=norm)), 1e-5)
    close(ut.fft.irfftn(ut.fft.rfftn(x.to("cuda"), norm=norm), s=x.shape, norm=norm), x, 1e-5)


def test_the_input_is_unchanged() -> None:
    z = ut.complex(numbers(4, 5), numbers(4, 5, seed=1))
    there = z.to("cuda")
    ut.fft.irfft(there)
    ut.fft.fft2(there)
    close(parts(there), parts(z))
