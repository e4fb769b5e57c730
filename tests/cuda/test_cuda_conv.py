"""Convolutions on a GPU agree with the CPU's."""
from __future__ import annotations

from typing import Any

import pytest

import undertow as ut
from tests.cuda.compare import HALF, numbers, same_on_both

pytestmark = pytest.mark.cuda
F = ut.nn.functional
# float32 convolutions may use TF32, as torch's do.
TOLERANCES = {ut.float32: 4e-3, ut.float64: 1e-10, ut.float16: 1e-2, ut.bfloat16: 4e-2}
CASES: list[tuple[Any, tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    (F.conv1d, (2, 4, 9), (6, 4, 3), {"padding": 1}),
    (F.conv2d, (2, 8, 7, 6), (16, 8, 1, 1), {}),
    (F.conv2d, (2, 4, 7, 6), (6, 4, 3, 2), {"stride": 2, "padding": 1}),
    (F.conv2d, (2, 4, 7, 6), (6, 2, 3, 2), {"groups": 2, "dilation": 2, "padding": 2}),
    (F.conv2d, (2, 4, 7, 6), (4, 1, 3, 3), {"groups": 4, "padding": 1}),
    (F.conv3d, (2, 2, 4, 5, 4), (3, 2, 2, 3, 2), {"padding": 1, "stride": 2}),
    (F.conv_transpose1d, (2, 4, 5), (4, 3, 3), {"stride": 2}),
    (F.conv_transpose2d, (2, 4, 5, 6), (4, 3, 3, 2), {"stride": 2, "padding": 1, "output_padding": 1}),
]


@pytest.mark.parametrize("dtype", [ut.float32, ut.float64, *HALF])
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0].__name__}-{c[3]}")
@pytest.mark.parametrize("layout", ["row-major", "channels-last"])
def test_convolutions_and_their_gradients(dtype: ut.dtype, case: tuple[Any, tuple[int, ...], tuple[int, ...], dict[str, Any]], layout: str) -> None:
    f, image, weight, options = case
    channels = weight[1] if "transpose" in f.__name__ else weight[0]
    x, w, b = numbers(*image, dtype=dtype), numbers(*weight, dtype=dtype, seed=1), numbers(channels, dtype=dtype, seed=2)
    if layout == "channels-last":
        if x.dim() == 3:
            pytest.skip("signals have no channels-last format")
        order = ut.channels_last if x.dim() == 4 else ut.channels_last_3d
        x, w = x.contiguous(memory_format=order), w.contiguous(memory_format=order)
    inputs = [t.requires_grad_() for t in (x, w, b)]
    same_on_both(lambda *t: f(*t, **options), *inputs, tol=TOLERANCES[dtype])
    expected, got = f(x, w, b, **options), f(x.to("cuda"), w.to("cuda"), b.to("cuda"), **options)
    assert got.stride() == expected.stride()


@pytest.mark.parametrize("switches", [{"allow_tf32": False}, {"benchmark": True}, {"deterministic": True}, {"enabled": False}], ids=str)
@pytest.mark.parametrize("dtype", [ut.float32, ut.bfloat16])
def test_switches_of_cudnn(switches: dict[str, bool], dtype: ut.dtype) -> None:
    exact = dtype == ut.float32 and not switches.get("allow_tf32", switches.get("enabled", True))
    x, w = numbers(3, 16, 12, 11, dtype=dtype, grad=True), numbers(8, 16, 3, 3, dtype=dtype, grad=True, seed=1)
    with ut.backends.cudnn.flags(**switches):
        same_on_both(lambda a, b: F.conv2d(a, b, padding=1, stride=2), x, w, tol=1e-5 if exact else TOLERANCES[dtype])


def test_a_deterministic_convolution_repeats_its_bits() -> None:
    x, w = numbers(4, 16, 20, 20).to("cuda").requires_grad_(), numbers(8, 16, 3, 3, seed=1).to("cuda").requires_grad_()
    with ut.backends.cudnn.flags(deterministic=True):
        first, second = (ut.autograd.grad(F.conv2d(x, w).square().sum(), (x, w)) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        assert ut.equal(a, b)


def test_complex_numbers_and_integers() -> None:
    parts = [numbers(2, 3, 6, 5, seed=i) for i in range(2)]
    x, w = ut.complex(*parts), ut.complex(numbers(4, 3, 2, 2), numbers(4, 3, 2, 2, seed=1))
    same_on_both(lambda a, b: ut.view_as_real(F.conv2d(a, b, padding=1)), x, w)
    same_on_both(F.conv2d, (parts[0] * 10).to(ut.int32), (numbers(4, 3, 2, 2) * 10).to(ut.int32))


def test_an_empty_batch() -> None:
    same_on_both(F.conv2d, numbers(0, 3, 5, 5, grad=True), numbers(4, 3, 2, 2, grad=True))


@pytest.mark.parametrize("dtype", [ut.float32, ut.float64, *HALF])
def test_unfold_and_fold(dtype: ut.dtype) -> None:
    options = {"kernel_size": (3, 2), "dilation": (1, 2), "padding": (1, 2), "stride": (2, 1)}
    x = numbers(2, 3, 8, 9, dtype=dtype, grad=True)
    same_on_both(lambda t: F.unfold(t, **options), x)
    columns = F.unfold(x, **options).detach().requires_grad_()
    same_on_both(lambda t: F.fold(t, (8, 9), **options), columns)
