"""Copies, conversions and fills on a GPU."""
from __future__ import annotations

import pytest

import undertow as ut
from tests.cuda.compare import close, numbers, same_on_both

pytestmark = [pytest.mark.cuda, pytest.mark.filterwarnings("ignore:Casting complex")]
NUMBERS = (ut.bool, ut.uint8, ut.int8, ut.int16, ut.int32, ut.int64, ut.float16, ut.bfloat16, ut.float32, ut.float64, ut.complex64, ut.complex128)
STORED = (ut.uint16, ut.uint32, ut.uint64, ut.float8_e4m3fn, ut.float8_e5m2, ut.float8_e4m3fnuz, ut.float8_e5m2fnuz, ut.float8_e8m0fnu, ut.complex32)


def bits(t: ut.Tensor) -> ut.Tensor:
    return t.cpu().contiguous().view(ut.uint8)


def values(*shape: int, dtype: ut.dtype) -> ut.Tensor:
    return (numbers(*shape, dtype=ut.float64) * 50).to(dtype)


@pytest.mark.parametrize("source", (*NUMBERS, *STORED))
def test_conversion_to_every_dtype(source: ut.dtype) -> None:
    x = values(3000, dtype=source)
    there = x.cuda()
    assert ut.equal(bits(there), bits(x))
    for target in (*NUMBERS, *STORED):
        expected, got = x.to(target), there.to(target)
        assert got.dtype == target and got.device.type == "cuda"
        assert ut.equal(bits(got), bits(expected)), f"{source} to {target}"


@pytest.mark.parametrize("target", STORED)
def test_every_half_number_converts_to_a_storage_dtype(target: ut.dtype) -> None:
    x = ut.arange(65536, dtype=ut.int32).to(ut.int16).view(ut.float16)
    x = x[x.isfinite()]
    assert ut.equal(bits(x.cuda().to(target)), bits(x.to(target)))


@pytest.mark.parametrize("dtype", (ut.uint8, ut.float16, ut.float32, ut.float64, ut.complex128, ut.float8_e5m2))
@pytest.mark.parametrize("shape", [(64, 64), (65, 130), (17, 300), (300, 5), (3, 40, 50)])
def test_transposed_copies(dtype: ut.dtype, shape: tuple[int, ...]) -> None:
    x = values(*shape, dtype=dtype)
    there = x.cuda()
    assert ut.equal(bits(there.mT.contiguous()), bits(x.mT.contiguous()))
    assert ut.equal(bits(there.transpose(0, -1).contiguous()), bits(x.transpose(0, -1).contiguous()))
    if dtype != ut.float8_e5m2:
        close(there.mT.to(ut.float64, memory_format=ut.contiguous_format), x.mT.to(ut.float64, memory_format=ut.contiguous_format))


@pytest.mark.parametrize("dtype", (ut.uint8, ut.bfloat16, ut.float32, ut.complex64))
def test_copies_between_layouts(dtype: ut.dtype) -> None:
    x = values(8, 6, 10, 12, dtype=dtype)
    same_on_both(lambda x: x.contiguous(memory_format=ut.channels_last).clone(), x)
    same_on_both(lambda x: x[:, ::2, 1:].contiguous(), x)
    same_on_both(lambda x: x.permute(3, 1, 0, 2).contiguous(), x)
    same_on_both(lambda x: ut.zeros(8, 6, 10, 12, dtype=dtype, device=x.device)[:, 1:].copy_(x[:, :1].expand(8, 5, 10, 12)), x)


def test_copies_between_devices_keep_values_of_any_layout() -> None:
    x = values(7, 9, 11, dtype=ut.float32)
    assert ut.equal(x.permute(2, 0, 1).cuda().cpu(), x.permute(2, 0, 1))
    there = ut.empty(11, 9, dtype=ut.float64, device="cuda")
    there.t().copy_(x[0])
    assert ut.equal(there.t().cpu(), x[0].double())
    here = ut.empty(11, 9, dtype=ut.float16)
    here.t().copy_(x[1].cuda())
    assert ut.equal(here.t(), x[1].half())


@pytest.mark.parametrize("dtype", (*NUMBERS, ut.uint16, ut.float8_e4m3fn, ut.complex32))
def test_fills(dtype: ut.dtype) -> None:
    for fill in (lambda t: t.fill_(1), lambda t: t[1:].fill_(1), lambda t: t[::3].fill_(1), lambda t: t[3:4].expand(5).fill_(1), lambda t: t.zero_()):
        a, b = ut.zeros(1001, dtype=dtype), ut.zeros(1001, dtype=dtype, device="cuda")
        fill(a), fill(b)
        assert ut.equal(bits(b), bits(a))


def test_conjugates_and_negatives() -> None:
    z = (numbers(40, 6) + 1j * numbers(40, 6, seed=1)).to(ut.complex64)
    same_on_both(lambda z: z.conj().resolve_conj(), z)
    same_on_both(lambda z: z.conj().imag.resolve_neg(), z)
    same_on_both(lambda z: z.t().conj().contiguous() * 2, z)
    same_on_both(lambda z: z.conj() @ z.t() if z.device.type == "cpu" else (z.conj().cpu() @ z.t().cpu()).cuda(), z)


def test_items_and_assignments_of_single_elements() -> None:
    x = ut.zeros(3, 4, device="cuda", dtype=ut.int8)
    x[1, 2] = 7
    x[0] = ut.tensor(3, device="cuda")
    assert x[1, 2].item() == 7 and x.sum().item() == 19
    with pytest.raises(RuntimeError, match="without overflow"):
        x.fill_(ut.tensor(300, device="cuda"))
