"""Elementwise operators on a GPU in every layout that has a kernel of its own. test_operators.py has every operator."""
from __future__ import annotations

from collections.abc import Callable

import pytest

import undertow as ut
from tests.cuda.compare import close, numbers, same_on_both

pytestmark = pytest.mark.cuda
DTYPES = (ut.float32, ut.float64, ut.float16, ut.bfloat16, ut.int8, ut.uint8, ut.int64, ut.complex64, ut.complex128)
HALVES = (ut.float16, ut.bfloat16)


def values(*shape: int, dtype: ut.dtype = ut.float32, seed: int = 0) -> ut.Tensor:
    return (numbers(*shape, dtype=ut.float64, seed=seed) * 4).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", (1, 3, 2047, 2048, 2049, 9000))
def test_dense_operands_of_any_length(dtype: ut.dtype, n: int) -> None:
    a, b = values(n, dtype=dtype), values(n, dtype=dtype, seed=1)
    same_on_both(lambda a, b: a + b, a, b)
    same_on_both(lambda a, b: (a - 2) * b, a, b)
    same_on_both(lambda a, b: a == b, a, b)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dense_operands_at_any_address(dtype: ut.dtype) -> None:
    a, b = values(5001, dtype=dtype), values(5001, dtype=dtype, seed=1)
    for first in (1, 2, 3):
        same_on_both(lambda a, b: a[first:] + b[first:], a, b)
        same_on_both(lambda a, b: a[first:] * b[:-first], a, b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shapes", [((7, 64), (64,)), ((7, 64), (7, 1)), ((33, 5, 16), (5, 1)), ((3, 70, 31), (70, 1)), ((6, 1, 48), (1, 9, 1)), ((4, 3), (3,)),
                                    ((2, 64), ())])
def test_broadcast_operands(dtype: ut.dtype, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = values(*shapes[0], dtype=dtype), values(*shapes[1], dtype=dtype, seed=1)
    same_on_both(lambda a, b: a + b, a, b)
    same_on_both(lambda a, b: b - a, a, b)


@pytest.mark.parametrize("dtype", (ut.float32, ut.bfloat16, ut.complex128, ut.uint8))
def test_strided_operands(dtype: ut.dtype) -> None:
    a, b = values(24, 40, dtype=dtype), values(40, 24, dtype=dtype, seed=1)
    same_on_both(lambda a, b: a + b.t(), a, b)
    same_on_both(lambda a, b: a[::2, :39:3] * b.t()[1::2, 1::3], a, b)
    same_on_both(lambda a, b: a.t() + b, a, b)
    same_on_both(lambda a, b: a[:, 8:24] + a[:, 16:32], a, b)
    same_on_both(lambda a, b: (a[:, None].expand(24, 3, 40) + b[:3, :, None].expand(3, 24, 40).transpose(0, 1)), a, b)


def test_more_dimensions_than_one_kernel_handles() -> None:
    a = values(2 ** 14).reshape([2] * 14)
    order = [*range(1, 14, 2), *range(0, 14, 2)]
    same_on_both(lambda a: a + a.permute(order), a)
    same_on_both(lambda a: a.permute(order).contiguous(), a)


@pytest.mark.parametrize("dtype", (ut.float32, ut.float16, ut.int32))
def test_numbers_from_both_devices_mix_with_tensors(dtype: ut.dtype) -> None:
    a, c = values(100, dtype=dtype), ut.tensor(3, dtype=dtype)
    same_on_both(lambda a: a * c, a)  # c stays on the CPU
    same_on_both(lambda a: c - a, a)
    same_on_both(lambda a, c: a * c, a, c)
    same_on_both(lambda a, c: ut.lerp(a.float(), 2 * a.float(), c.float()), a, c)
    assert (c.cuda() * 2).item() == 6


@pytest.mark.parametrize("dtype", DTYPES)
def test_writes_in_place_and_into_views(dtype: ut.dtype) -> None:
    def steps(a: ut.Tensor, b: ut.Tensor) -> ut.Tensor:
        a = a.clone()
        a += b
        a[:, 3:7] *= b[:, :4]
        a.t()[::2] -= b.t()[1::2]
        return a
    same_on_both(steps, values(12, 18, dtype=dtype), values(12, 18, dtype=dtype, seed=1))


def test_parameters_reach_the_kernel() -> None:
    a, b = numbers(300, grad=True), numbers(300, seed=1, grad=True)
    same_on_both(lambda a, b: ut.add(a, b, alpha=2.5), a, b)
    same_on_both(lambda a, b: ut.nn.functional.elu(a, alpha=1.5) + ut.nn.functional.softplus(b, beta=2, threshold=1), a, b)
    same_on_both(lambda a, b: ut.addcdiv(a, b, b * b + 1, value=-0.5), a, b)
    same_on_both(lambda a, b: ut.clamp(a, -0.5, 0.5) + ut.nan_to_num(b / 0.0, nan=1.0, posinf=2.0, neginf=3.0), a, b, grads=False)
    same_on_both(lambda a: ut.round(a, decimals=2), a)
    same_on_both(lambda a: ut.add(a, a, alpha=3), values(50, dtype=ut.int8))


@pytest.mark.parametrize("dtype", (ut.bool, ut.uint8, ut.int16, ut.float16, ut.float32, ut.float64, ut.complex128))
def test_where(dtype: ut.dtype) -> None:
    a, b, c = values(30, 32, dtype=dtype), values(30, 32, dtype=dtype, seed=1), values(30, 32, seed=2) > 0
    same_on_both(ut.where, c, a, b)
    same_on_both(lambda c, a, b: ut.where(c[:, :1], a, b[0]), c, a, b)
    same_on_both(lambda c, a, b: ut.where(c.t(), a.t(), b.t()), c, a, b)


def test_operators_with_several_dtypes_or_results() -> None:
    a, b = values(1000), values(1000, seed=1)
    same_on_both(ut.frexp, ut.cat([a, ut.tensor([0.0, float("inf"), 1e-40])]))
    same_on_both(lambda a: ut.frexp(a.reshape(20, 50).t()), a.half())
    same_on_both(ut.complex, a, b)
    same_on_both(ut.polar, a.abs(), b)
    for half in HALVES:
        same_on_both(ut.nextafter, ut.tensor([0.0, 1.0, -1.0, 0.0, float("nan"), 2.0], dtype=half), ut.tensor([1.0, 2.0, 1.0, -1.0, 0.0, 2.0], dtype=half))


FUNCTIONS = ("airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1",
             "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0")
POLYNOMIALS = ("chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he",
               "laguerre_polynomial_l", "legendre_polynomial_p", "shifted_chebyshev_polynomial_t")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_functions_by_name(name: str) -> None:
    x = ut.cat([ut.linspace(-20, 20, 81, dtype=ut.float64), ut.tensor([0.0, float("inf"), float("nan")], dtype=ut.float64)])
    same_on_both(getattr(ut.special, name), x, tol=1e-9)


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_special_polynomials_by_name(name: str) -> None:
    x = ut.linspace(-2, 2, 41, dtype=ut.float64)
    f: Callable[..., ut.Tensor] = getattr(ut.special, name)
    for degree in (-1, 0, 1, 5, 12):
        same_on_both(lambda x: f(x, degree), x, tol=1e-9)


@pytest.mark.parametrize("dtype", (ut.float32, ut.float64))
def test_functions_of_extreme_numbers(dtype: ut.dtype) -> None:
    x = ut.tensor([0.0, -0.0, 1e-30, -1e-30, 0.5, -0.5, 1.0, -1.0, 20.0, -20.0, 90.0, -90.0, 1e6, float("inf"), -float("inf"), float("nan")], dtype=dtype)
    for name in ("sigmoid", "tanh", "exp", "expm1", "log1p", "erf", "erfc", "sqrt", "rsqrt", "sin", "cos", "sign", "abs", "floor", "round", "reciprocal", "lgamma", "digamma"):
        same_on_both(getattr(ut, name), x)
    for name in ("softplus", "gelu", "silu", "mish", "logsigmoid", "elu", "hardswish"):
        same_on_both(getattr(ut.nn.functional, name), x)


def test_quotients_of_integers() -> None:
    a = ut.tensor([7, -7, 7, -7, 0, -128, 127], dtype=ut.int8)
    b = ut.tensor([2, 2, -2, -2, 3, -1, -1], dtype=ut.int8)
    for f in (ut.floor_divide, ut.remainder, ut.fmod, lambda a, b: ut.div(a, b, rounding_mode="trunc")):
        same_on_both(f, a, b)
    close(ut.gcd(a.cuda(), b.cuda()), ut.gcd(a, b))
