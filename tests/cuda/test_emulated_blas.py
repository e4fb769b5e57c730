"""The emulated cuBLASLt: products of all types, with transposes, batches, factors and epilogues, against NumPy."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_int, c_int64, c_uint64, c_void_p

import numpy as np
import pytest
from emulated_cuda import CudaError, Driver

NOT_SUPPORTED, INVALID_VALUE = 15, 7
FLOAT32, FLOAT32_FAST_TF32, FLOAT64 = 68, 77, 70
TYPES = {"f4": 0, "f8": 1, "f2": 2, "c8": 4, "c16": 5}
TRANSPOSE_A, TRANSPOSE_B, EPILOGUE, BIAS = 3, 4, 7, 8
RELU, RELU_AUX, ADD_BIAS = 2, 130, 4
BATCH_COUNT, BATCH_STRIDE = 5, 6


@pytest.fixture(scope="module")
def cuda():
    return Driver()


class Blas:
    """Column-major products by cuBLASLt."""

    def __init__(self, cuda: Driver) -> None:
        self.cuda = cuda
        self.context = cuda.handle("cublasLtCreate")
        self.preference = cuda.handle("cublasLtMatmulPreferenceCreate")

    def layout(self, array: np.ndarray) -> int:
        """Of an array whose last two dimensions are columns and rows, as they lie in memory."""
        batch, columns, rows = array.shape
        layout = self.cuda.handle("cublasLtMatrixLayoutCreate", c_int(TYPES[array.dtype.str[1:]]), rows, columns, c_int64(rows))
        for attribute, value in ((BATCH_COUNT, c_int(batch)), (BATCH_STRIDE, c_int64(rows * columns))):
            self.cuda.cublasLtMatrixLayoutSetAttribute(layout, c_int(attribute), byref(value), ctypes.sizeof(value))
        return layout

    def multiply(self, a, b, c, *, compute=FLOAT32, alpha=1, beta=0, settings=()):
        """d = alpha op(a) op(b) + beta c, in the layouts of `layout`."""
        cuda = self.cuda
        scale = np.dtype("f4") if c.dtype == np.float16 else c.dtype
        description = cuda.handle("cublasLtMatmulDescCreate", c_int(compute), c_int(TYPES[scale.str[1:]]))
        for attribute, value in settings:
            cuda.cublasLtMatmulDescSetAttribute(description, c_int(attribute), byref(value), ctypes.sizeof(value))
        layouts = [self.layout(x) for x in (a, b, c, c)]
        result, count = (c_uint64 * 12)(), c_int()
        cuda.cublasLtMatmulAlgoGetHeuristic(self.context, description, *layouts, self.preference, c_int(1), result, byref(count))
        assert count.value == 1
        factors = [np.array([x], scale) for x in (alpha, beta)]
        pa, pb, pc = (cuda.put(x) for x in (a, b, c))
        d = cuda.put(np.zeros_like(c))
        alpha_at, beta_at = (c_void_p(x.ctypes.data) for x in factors)
        cuda.cublasLtMatmul(
            self.context, description, alpha_at, pa, layouts[0], pb, layouts[1], beta_at, pc, layouts[2], d, layouts[3], result, None, 0, 0
        )
        for layout in layouts:
            cuda.cublasLtMatrixLayoutDestroy(layout)
        cuda.cublasLtMatmulDescDestroy(description)
        return cuda.get(d, c)


def _random(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    random = np.random.default_rng(0)
    real = random.integers(-4, 5, shape).astype(dtype)
    return real + 1j * random.integers(-4, 5, shape).astype(real.real.dtype) if dtype.startswith("c") else real


def _columns(x: np.ndarray) -> np.ndarray:
    """The same matrices stored column after column."""
    return np.ascontiguousarray(x.swapaxes(-1, -2))


@pytest.mark.parametrize("dtype", list(TYPES))
@pytest.mark.parametrize("transposed", [(0, 0), (1, 0), (0, 1)])
def test_products_of_batches_match_numpy(cuda, dtype, transposed):
    a, b, c = _random((3, 5, 4), dtype), _random((3, 4, 6), dtype), _random((3, 5, 6), dtype)
    stored = [x if t else _columns(x) for x, t in zip((a, b), transposed, strict=True)]
    settings = [(name, c_int(t)) for name, t in zip((TRANSPOSE_A, TRANSPOSE_B), transposed, strict=True)]
    compute = FLOAT64 if dtype in ("f8", "c16") else FLOAT32
    d = Blas(cuda).multiply(*stored, _columns(c), compute=compute, alpha=2, beta=3, settings=settings)
    assert np.array_equal(d, _columns(2 * (a @ b) + 3 * c))


def test_the_conjugate_transpose_conjugates(cuda):
    a, b = _random((1, 4, 4), "c8"), _random((1, 4, 4), "c8")
    d = Blas(cuda).multiply(_columns(a), _columns(b), np.zeros((1, 4, 4), "c8"), settings=[(TRANSPOSE_A, c_int(2))])
    assert np.array_equal(d, _columns(a.conj().swapaxes(1, 2) @ b))


def test_epilogues_add_a_bias_and_cut_negative_values(cuda):
    a, b, bias = _random((1, 5, 4), "f4"), _random((1, 4, 6), "f4"), np.arange(5, dtype="f4") - 2
    settings = [(EPILOGUE, c_int(RELU | ADD_BIAS)), (BIAS, c_uint64(cuda.put(bias)))]
    d = Blas(cuda).multiply(_columns(a), _columns(b), np.zeros((1, 6, 5), "f4"), settings=settings)
    assert np.array_equal(d, _columns(np.maximum(a @ b + bias[:, None], 0)))


def test_tf32_rounds_the_factors(cuda):
    a, b, c = np.full((1, 1, 1), 1 + 2**-12, "f4"), np.ones((1, 1, 1), "f4"), np.zeros((1, 1, 1), "f4")
    assert Blas(cuda).multiply(a, b, c)[0, 0, 0] == np.float32(1 + 2**-12)
    assert Blas(cuda).multiply(a, b, c, compute=FLOAT32_FAST_TF32)[0, 0, 0] == 1


def test_what_does_not_fit_is_refused(cuda):
    matrix = _random((1, 4, 4), "f4")
    with pytest.raises(CudaError) as error:
        Blas(cuda).multiply(_random((1, 3, 4), "f4"), matrix, matrix)
    assert error.value.code == INVALID_VALUE
    with pytest.raises(CudaError) as error:
        Blas(cuda).multiply(matrix, matrix, matrix, settings=[(EPILOGUE, c_int(RELU_AUX))])
    assert error.value.code == NOT_SUPPORTED
