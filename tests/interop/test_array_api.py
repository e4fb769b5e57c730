"""`undertow.array_api` has the standard's names, and matches NumPy's implementation of the same standard."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut

xp = ut.array_api
NAMES = str.split("""e inf nan newaxis pi arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros zeros_like bool
int8 int16 int32 int64 uint8 float32 float64 complex64 complex128 astype can_cast finfo iinfo isdtype result_type abs acos acosh add asin asinh atan atan2 atanh
bitwise_and bitwise_left_shift bitwise_invert bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor
floor_divide greater greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor
maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder round sign signbit sin sinh sqrt square subtract tan tanh trunc
take take_along_axis matmul matrix_transpose tensordot vecdot broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll
squeeze stack tile unstack argmax argmin count_nonzero nonzero searchsorted where unique_all unique_counts unique_inverse unique_values argsort sort
cumulative_sum cumulative_prod max mean min prod std sum var all any diff linalg __array_namespace_info__ __array_api_version__""")
LINALG = str.split("""cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose outer pinv qr slogdet solve svd svdvals
tensordot trace vecdot vector_norm""")


FFT = str.split("fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift")


def test_every_name_of_the_standard_is_there():
    assert [n for n in NAMES if not hasattr(xp, n)] == []
    assert [n for n in FFT if not hasattr(xp.fft, n)] == []
    assert [n for n in LINALG if not hasattr(xp.linalg, n)] == []


def test_tensors_lead_to_the_namespace():
    x = ut.ones(1)
    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2022.12") is xp
    with pytest.raises(ValueError, match="api_version must be one of"):
        x.__array_namespace__(api_version="1999.01")
    assert ut.__array_api_version__ == xp.__array_api_version__ == "2023.12"
    assert x.to_device("cpu") is x
    with pytest.raises(ValueError, match="streams"):
        x.to_device("cpu", stream=3)


A = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -0.75]])
P = np.abs(A) / 4 + 0.1
I = np.array([[3, 1, 2], [2, 2, 7]])
B = np.array([[True, False, True], [False, False, True]])
C = np.array([1 + 2j, -0.5j, 0])
M = np.array([[4.0, 1.0], [1.0, 3.0]])
S = np.float32([[0.5, 1.5]])
ONE = str.split("abs asin asinh atan atanh ceil cos cosh exp expm1 floor isfinite isinf isnan log log1p log2 log10 negative positive reciprocal round sign signbit sin sinh sqrt square tan tanh trunc acos")
TWO = str.split("add atan2 copysign divide floor_divide hypot logaddexp maximum minimum multiply nextafter pow remainder subtract equal not_equal less less_equal greater greater_equal")
BITS = str.split("bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor")
CASES = {
    **{name: lambda xp, n=name: getattr(xp, n)(xp.asarray(P)) for name in ONE},
    **{name: lambda xp, n=name: getattr(xp, n)(xp.asarray(P), xp.asarray(P[0])) for name in TWO},
    **{name: lambda xp, n=name: getattr(xp, n)(xp.asarray(I), xp.asarray(I[0])) for name in BITS},
    **{f"{name} of ints": lambda xp, n=name: getattr(xp, n)(xp.asarray(I), xp.asarray(I[0])) for name in ("add", "floor_divide", "remainder", "pow", "less", "maximum")},
    "acosh": lambda xp: xp.acosh(xp.asarray(P + 1)),
    "bitwise_invert": lambda xp: xp.bitwise_invert(xp.asarray(I)),
    "logical_not": lambda xp: xp.logical_not(xp.asarray(B)),
    "logical_and": lambda xp: xp.logical_and(xp.asarray(B), xp.asarray(B[0])),
    "logical_or": lambda xp: xp.logical_or(xp.asarray(B), xp.asarray(B[0])),
    "logical_xor": lambda xp: xp.logical_xor(xp.asarray(B), xp.asarray(B[0])),
    "conj": lambda xp: xp.conj(xp.asarray(C)),
    "real": lambda xp: xp.real(xp.asarray(C)),
    "imag": lambda xp: xp.imag(xp.asarray(C)),
    "sign of complex": lambda xp: xp.sign(xp.asarray(C)),
    "floor of ints": lambda xp: xp.floor(xp.asarray(I)),
    "clip": lambda xp: xp.clip(xp.asarray(A), -1.0, 1.0),
    "clip one side": lambda xp: xp.clip(xp.asarray(I), min=2),
    "promotes by dtype alone": lambda xp: xp.add(xp.asarray(S), xp.asarray(2.0, dtype=xp.float64)),
    "small ints promote": lambda xp: xp.add(xp.asarray([1], dtype=xp.int8), xp.asarray([1], dtype=xp.uint8)),
    "arange": lambda xp: xp.arange(1, 10, 3),
    "arange of nothing": lambda xp: xp.arange(3, 1),
    "arange downwards": lambda xp: xp.arange(5, 0, -2),
    "eye": lambda xp: xp.eye(3, 4, k=1, dtype=xp.int32),
    "full": lambda xp: xp.full((2, 3), 7),
    "full of bools": lambda xp: xp.full(2, True),
    "linspace": lambda xp: xp.linspace(0.0, 1.0, 5, dtype=xp.float64),
    "linspace open": lambda xp: xp.linspace(0.0, 1.0, 5, dtype=xp.float64, endpoint=False),
    "meshgrid": lambda xp: list(xp.meshgrid(xp.asarray([1, 2]), xp.asarray([3, 4, 5]))),
    "meshgrid ij": lambda xp: list(xp.meshgrid(xp.asarray([1, 2]), xp.asarray([3, 4, 5]), indexing="ij")),
    "tril": lambda xp: xp.tril(xp.asarray(A), k=-1),
    "triu": lambda xp: xp.triu(xp.asarray(A), k=1),
    "astype": lambda xp: xp.astype(xp.asarray(A), xp.int32),
    "sum": lambda xp: xp.sum(xp.asarray(A)),
    "sum axis": lambda xp: xp.sum(xp.asarray(I), axis=0, keepdims=True),
    "sum of bools": lambda xp: xp.sum(xp.asarray(B), axis=1),
    "sum small ints": lambda xp: xp.sum(xp.asarray([100, 100], dtype=xp.int8)),
    "sum dtype": lambda xp: xp.sum(xp.asarray(S), dtype=xp.float64),
    "sum of one": lambda xp: xp.sum(xp.asarray(3.0, dtype=xp.float64)),
    "prod": lambda xp: xp.prod(xp.asarray(A), axis=(0, 1)),
    "prod of ints": lambda xp: xp.prod(xp.asarray(I), axis=1),
    "mean": lambda xp: xp.mean(xp.asarray(A), axis=(0, 1)),
    "std": lambda xp: xp.std(xp.asarray(A), axis=1),
    "var": lambda xp: xp.var(xp.asarray(A), correction=1, keepdims=True),
    "max": lambda xp: xp.max(xp.asarray(A), axis=1),
    "min": lambda xp: xp.min(xp.asarray(I)),
    "all": lambda xp: xp.all(xp.asarray(B), axis=0),
    "any": lambda xp: xp.any(xp.asarray(I), axis=(0, 1), keepdims=True),
    "count_nonzero": lambda xp: xp.count_nonzero(xp.asarray(B), axis=1),
    "cumulative_sum": lambda xp: xp.cumulative_sum(xp.asarray(I), axis=1, include_initial=True),
    "cumulative_prod": lambda xp: xp.cumulative_prod(xp.asarray(A[0])),
    "diff": lambda xp: xp.diff(xp.asarray(I), n=2),
    "argmax": lambda xp: xp.argmax(xp.asarray(A)),
    "argmin": lambda xp: xp.argmin(xp.asarray(A), axis=1, keepdims=True),
    "nonzero": lambda xp: list(xp.nonzero(xp.asarray(B))),
    "searchsorted": lambda xp: xp.searchsorted(xp.asarray([1, 3, 5]), xp.asarray([3, 4]), side="right"),
    "where": lambda xp: xp.where(xp.asarray(B), xp.asarray(I), xp.asarray(A)),
    "sort": lambda xp: xp.sort(xp.asarray(A), axis=0),
    "argsort": lambda xp: xp.argsort(xp.asarray(I)),
    "take": lambda xp: xp.take(xp.asarray(A), xp.asarray([2, -3]), axis=1),
    "take flat": lambda xp: xp.take(xp.asarray(A[0]), xp.asarray([2, 0])),
    "take_along_axis": lambda xp: xp.take_along_axis(xp.asarray(A), xp.asarray([[0], [-1]]), axis=1),
    "broadcast_arrays": lambda xp: list(xp.broadcast_arrays(xp.asarray(A), xp.asarray(A[0]))),
    "broadcast_to": lambda xp: xp.broadcast_to(xp.asarray(A), (2, 2, 3)),
    "concat": lambda xp: xp.concat([xp.asarray(A), xp.asarray(I)], axis=1),
    "concat flat": lambda xp: xp.concat([xp.asarray(A), xp.asarray(A[0])], axis=None),
    "expand_dims": lambda xp: xp.expand_dims(xp.asarray(A), axis=-1),
    "flip": lambda xp: xp.flip(xp.asarray(A)),
    "flip axis": lambda xp: xp.flip(xp.asarray(A), axis=1),
    "moveaxis": lambda xp: xp.moveaxis(xp.asarray(A), 0, 1),
    "permute_dims": lambda xp: xp.permute_dims(xp.asarray(A), (1, 0)),
    "repeat": lambda xp: xp.repeat(xp.asarray(A), 2, axis=1),
    "repeat flat": lambda xp: xp.repeat(xp.asarray(I), 2),
    "reshape": lambda xp: xp.reshape(xp.asarray(A), (3, -1)),
    "roll": lambda xp: xp.roll(xp.asarray(A), 2),
    "roll axes": lambda xp: xp.roll(xp.asarray(A), (1, -1), axis=(0, 1)),
    "squeeze": lambda xp: xp.squeeze(xp.asarray(S), axis=0),
    "stack": lambda xp: xp.stack([xp.asarray(A), xp.asarray(I)], axis=1),
    "unstack": lambda xp: list(xp.unstack(xp.asarray(A), axis=1)),
    "tile": lambda xp: xp.tile(xp.asarray(A), (2, 2)),
    "unique_all": lambda xp: list(xp.unique_all(xp.asarray(I))),
    "unique_counts": lambda xp: list(xp.unique_counts(xp.asarray(I))),
    "unique_inverse": lambda xp: list(xp.unique_inverse(xp.asarray(I))),
    "unique_values": lambda xp: xp.sort(xp.unique_values(xp.asarray(I))),
    "matmul": lambda xp: xp.matmul(xp.asarray(A), xp.asarray(I.T)),
    "matrix_transpose": lambda xp: xp.matrix_transpose(xp.asarray(A)),
    "tensordot": lambda xp: xp.tensordot(xp.asarray(A), xp.asarray(A), axes=((1,), (1,))),
    "vecdot": lambda xp: xp.vecdot(xp.asarray(C), xp.asarray(C)),
    **{f"linalg.{name}": lambda xp, n=name: getattr(xp.linalg, n)(xp.asarray(M)) for name in ("cholesky", "det", "inv", "pinv", "eigvalsh", "svdvals", "matrix_norm", "vector_norm", "matrix_rank", "trace", "diagonal")},
    **{f"fft.{name}": lambda xp, n=name: getattr(xp.fft, n)(xp.asarray(A)) for name in ("fft", "ifft", "rfft", "ihfft", "fftn", "ifftn", "rfftn", "fftshift", "ifftshift")},
    **{f"fft.{name}": lambda xp, n=name: getattr(xp.fft, n)(xp.asarray(C), n=4) for name in ("irfft", "hfft")},
    "fft.fft axis": lambda xp: xp.fft.fft(xp.asarray(A), n=4, axis=0, norm="ortho"),
    "fft.fftn axes": lambda xp: xp.fft.fftn(xp.asarray(A), axes=(0,)),
    "fft.irfftn": lambda xp: xp.fft.irfftn(xp.asarray(A + 0j), axes=(0, 1)),
    "fft.fftfreq": lambda xp: xp.fft.fftfreq(4, d=0.5, **({} if xp is np else {"dtype": xp.float64})),
    "linalg.solve": lambda xp: xp.linalg.solve(xp.asarray(M), xp.asarray([1.0, 2.0])),
    "linalg.slogdet": lambda xp: list(xp.linalg.slogdet(xp.asarray(M))),
    "linalg.matrix_power": lambda xp: xp.linalg.matrix_power(xp.asarray(M), 3),
    "linalg.outer": lambda xp: xp.linalg.outer(xp.asarray(A[0]), xp.asarray(I[0])),
    "linalg.cross": lambda xp: xp.linalg.cross(xp.asarray(A), xp.asarray(A[::-1].copy())),
    "linalg.trace offset": lambda xp: xp.linalg.trace(xp.asarray(I), offset=1),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_functions_match_numpy(name):
    ours, numpys = CASES[name](xp), CASES[name](np)
    for a, b in zip(ours, numpys, strict=True) if isinstance(ours, list) else [(ours, numpys)]:
        assert isinstance(a, ut.Tensor)
        assert tuple(a.shape) == np.shape(b)
        if not name.startswith("linalg.matrix_rank"):
            assert str(a.dtype).partition(".")[2] == str(np.asarray(b).dtype)
        np.testing.assert_allclose(a.resolve_conj().numpy(), b, rtol=1e-10, atol=1e-12)


def test_factorizations_multiply_back_to_the_matrix():
    x = xp.asarray(A)
    q, r = xp.linalg.qr(x)
    assert ut.allclose(q @ r, x)
    svd = xp.linalg.svd(x, full_matrices=False)
    assert ut.allclose(svd.U @ ut.diag(svd.S) @ svd.Vh, x)
    values, vectors = xp.linalg.eigh(xp.asarray(M))
    assert ut.allclose(vectors @ ut.diag(values) @ vectors.mT, xp.asarray(M))


def test_dtypes_are_known_by_kind():
    assert xp.isdtype(xp.int8, "integral") and xp.isdtype(xp.float32, ("integral", "real floating")) and not xp.isdtype(xp.bool, "numeric")
    assert xp.isdtype(xp.int8, xp.int8)
    with pytest.raises(ValueError, match="unknown kind"):
        xp.isdtype(xp.int8, "whole")
    assert xp.result_type(xp.float32, xp.asarray(1.0, dtype=xp.float64), xp.int8) is xp.float64
    assert xp.result_type(xp.asarray([1], dtype=xp.int8), 3) is xp.int8
    assert xp.can_cast(xp.int8, xp.int16) and not xp.can_cast(xp.float64, xp.float32)
    info = xp.__array_namespace_info__()
    assert info.default_dtypes()["integral"] is xp.int64
    assert set(info.dtypes(kind="real floating")) == {"float32", "float64"}
    assert info.default_device() in info.devices()
    assert info.capabilities()["boolean indexing"]
    assert (xp.finfo(xp.float32).bits, xp.iinfo(xp.int8).max) == (32, 127)


def test_errors():
    for make in (
        lambda: xp.squeeze(xp.ones((2,)), axis=0),
        lambda: xp.take(xp.ones((2, 2)), xp.asarray([0])),
        lambda: xp.nonzero(xp.asarray(1)),
        lambda: xp.cumulative_sum(xp.ones((2, 2))),
        lambda: xp.matrix_transpose(xp.ones(2)),
        lambda: xp.result_type(3),
        lambda: xp.reshape(xp.permute_dims(xp.ones((2, 3)), (1, 0)), (6,), copy=False),
    ):
        with pytest.raises(ValueError):
            make()


def test_gradients_pass_through():
    x = ut.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=ut.float64, requires_grad=True)
    y = xp.sum(xp.multiply(xp.sort(x, axis=1), xp.linalg.inv(x)))
    y.backward()
    assert x.grad is not None
    assert ut.autograd.gradcheck(lambda x: xp.mean(xp.clip(xp.concat([x, xp.exp(x)]), 1.5, 10.0)), x.detach().add(0.1).requires_grad_())
