"""uint16 to uint64, complex32 and the floats of 8 bits: stored, moved, compared and converted, with few operators."""

from __future__ import annotations

import copy
import io
import math
import pickle

import numpy as np
import pytest

import undertow as ut

pytestmark = pytest.mark.filterwarnings("ignore:Casting complex values to real")

UNSIGNED = ["uint16", "uint32", "uint64"]
# mantissa bits, bias, code of the greatest number, code of what is greater, one zero and no infinity
FLOAT8 = {
    "float8_e4m3fn": (3, 7, 0x7E, 0x7E, False),
    "float8_e5m2": (2, 15, 0x7B, 0x7C, False),
    "float8_e4m3fnuz": (3, 8, 0x7F, 0x80, True),
    "float8_e5m2fnuz": (2, 16, 0x7F, 0x80, True),
}
ALL_FLOAT8 = [*FLOAT8, "float8_e8m0fnu"]
STORAGE = [*UNSIGNED, "complex32", *ALL_FLOAT8]
OTHERS = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]


def dtype(name: str) -> ut.dtype:
    return getattr(ut, name)


def some(name: str) -> ut.Tensor:
    return ut.tensor([[1.0, 2.0, 4.0], [8.0, 1.0, 16.0]]).to(dtype(name))


@pytest.mark.parametrize("name", STORAGE)
def test_a_storage_dtype_has_a_name_a_size_and_a_kind(name):
    d = dtype(name)
    assert repr(d) == f"undertow.{name}" and pickle.loads(pickle.dumps(d)) is d and copy.deepcopy(d) is d
    assert d.itemsize == ut.empty(1, dtype=d).element_size() == {"uint16": 2, "uint32": 4, "uint64": 8, "complex32": 4}.get(name, 1)
    assert d.is_floating_point == name.startswith("float8") and d.is_complex == (name == "complex32")
    assert d.is_signed == (name not in (*UNSIGNED, "float8_e8m0fnu"))


def test_chalf_is_complex32_and_its_parts_are_float16():
    assert ut.chalf is ut.complex32 and ut.complex32.to_real() is ut.float16 and ut.float16.to_complex() is ut.complex32
    with pytest.raises(RuntimeError, match="Unknown Complex ScalarType for UInt16"):
        ut.uint16.to_complex()


# ---- creation ----


@pytest.mark.parametrize("name", STORAGE)
def test_zeros_ones_full_and_empty(name):
    d = dtype(name)
    assert ut.ones(2, dtype=d).float().tolist() == [1.0, 1.0]
    assert ut.full((2,), 2, dtype=d).float().tolist() == [2.0, 2.0]
    assert ut.zeros(2, dtype=d).view(ut.uint8).tolist() == [0] * (2 * d.itemsize)
    assert ut.empty(3, dtype=d).dtype is d and ut.zeros_like(some(name)).dtype is d
    assert ut.empty(2, 2, dtype=d, device="meta").dtype is d


@pytest.mark.parametrize("name", UNSIGNED)
def test_unsigned_tensors_from_numbers(name):
    most = 2 ** (8 * dtype(name).itemsize) - 1
    assert ut.iinfo(dtype(name)).max == most and ut.iinfo(dtype(name)).min == 0
    x = ut.tensor([0, 1, most], dtype=dtype(name))
    assert x.tolist() == [0, 1, most] and x[2].item() == most and int(x[1]) == 1
    assert ut.full((2,), most, dtype=dtype(name)).tolist() == [most, most]
    assert ut.full((2,), -1, dtype=dtype(name)).tolist() == [most, most]
    with pytest.raises((RuntimeError, OverflowError), match="without overflow|too (big|large) to convert"):
        ut.tensor([most + 1], dtype=dtype(name))
    with pytest.raises((RuntimeError, OverflowError), match="without overflow|too (big|large) to convert"):
        ut.full((2,), most + 1, dtype=dtype(name))
    if name == "uint64":
        with pytest.raises(TypeError, match="an integer is required"):
            ut.tensor([1.5], dtype=dtype(name))
        return
    assert ut.tensor([1.5, 2.9], dtype=dtype(name)).tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="without overflow"):
        ut.tensor([-1.5], dtype=dtype(name))


def test_numbers_from_two_to_the_63_on():
    assert (ut.ones(1, dtype=ut.int64) * 2**63).tolist() == [-(2**63)]
    assert (ut.ones(1) * 2**63).tolist() == [2.0**63]
    assert (ut.tensor([2**64 - 1], dtype=ut.uint64) == 2**64 - 1).tolist() == [True]
    with pytest.raises(OverflowError):
        ut.ones(1) * 2**64
    with pytest.raises(RuntimeError, match="without overflow"):
        ut.full((1,), 2**63)
    with pytest.raises(OverflowError):
        ut.tensor([-1], dtype=ut.uint64)


@pytest.mark.parametrize("name", UNSIGNED)
def test_randint_draws_unsigned_numbers_as_others(name):
    ut.manual_seed(3)
    want = ut.randint(0, 1000, (20,)).tolist()
    ut.manual_seed(3)
    assert ut.randint(0, 1000, (20,), dtype=dtype(name)).tolist() == want


@pytest.mark.parametrize("name", STORAGE)
def test_sequences_are_not_implemented(name):
    for make in (lambda d: ut.arange(4, dtype=d), lambda d: ut.linspace(0, 3, 4, dtype=d), lambda d: ut.randperm(4, dtype=d)):
        with pytest.raises(NotImplementedError, match="not implemented for"):
            make(dtype(name))
    assert ut.rand(3, dtype=ut.complex32).dtype is ut.complex32 and ut.randn(3, dtype=ut.complex32).dtype is ut.complex32


def test_numbers_that_do_not_fit():
    for name, number in (("float8_e4m3fn", 1e9), ("float8_e8m0fnu", -1.0), ("float8_e4m3fn", math.inf), ("complex32", 1e6)):
        with pytest.raises(RuntimeError, match="without overflow"):
            ut.full((2,), number, dtype=dtype(name))
    assert ut.full((1,), math.inf, dtype=ut.float8_e5m2).item() == math.inf


# ---- conversion ----


@pytest.mark.parametrize("name", UNSIGNED)
def test_unsigned_to_and_from_every_dtype(name):
    values = [0, 1, 5, 100, 127]
    x = ut.tensor(values, dtype=dtype(name))
    for other in [*OTHERS, *UNSIGNED, "complex32", "float8_e5m2"]:
        if other == "bool":
            assert x.bool().tolist() == [False, True, True, True, True]
            continue
        there = x.to(dtype(other))
        assert there.dtype is dtype(other)
        want = ut.tensor(values, dtype=ut.int64).to(dtype(other))
        assert there.tolist() == want.tolist()
        assert want.to(dtype(name)).tolist() == there.to(ut.float64 if other != "complex32" else ut.complex64).real.to(ut.int64).tolist()


@pytest.mark.parametrize("name", UNSIGNED)
@pytest.mark.parametrize("other", ["uint8", "int8", "int16", "int32", "int64", *UNSIGNED])
def test_integers_wrap_as_in_numpy(name, other):
    info = np.iinfo(other)
    values = np.array([0, 1, info.max, info.min, info.max - 1, info.max // 3], dtype=other)
    assert ut.from_numpy(values).to(dtype(name)).tolist() == values.astype(name).tolist()
    big = np.array([0, 1, np.iinfo(name).max, np.iinfo(name).max - 5], dtype=name)
    assert ut.from_numpy(big).to(dtype(other)).tolist() == big.astype(other).tolist()


@pytest.mark.parametrize("other", ["float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("name", UNSIGNED)
def test_unsigned_to_floats_rounds_once(name, other):
    rng = np.random.default_rng(0)
    values = rng.integers(0, np.iinfo(name).max, 300, dtype=name, endpoint=True)
    with np.errstate(over="ignore"):
        want = values.astype(other)
        if other == "float16":
            want = values.astype("float32").astype("float16")
    assert np.array_equal(ut.from_numpy(values).to(dtype(other)).numpy(), want)


@pytest.mark.parametrize("name", UNSIGNED)
def test_floats_to_unsigned(name):
    values = np.array([0.0, 0.9, 1.0, 100.7, 60000.0])
    for other in ("float32", "float64", "float16"):
        assert ut.from_numpy(values.astype(other)).to(dtype(name)).tolist() == values.astype(other).astype(name).tolist()
    most = np.iinfo(name).max
    assert ut.tensor([-1.0, -2.5]).to(dtype(name)).tolist() == [most, most - 1]
    assert ut.tensor([2.0 ** (8 * dtype(name).itemsize - 1)], dtype=ut.float64).to(dtype(name)).tolist() == [most // 2 + 1]


def decoded(name: str) -> list[float]:
    """The 256 values by their definition."""
    if name == "float8_e8m0fnu":
        return [math.ldexp(1.0, code - 127) for code in range(255)] + [math.nan]
    bits, bias, greatest, overflow, fnuz = FLOAT8[name]
    values = []
    for code in range(256):
        magnitude = code & 0x7F
        exponent, mantissa = magnitude >> bits, magnitude & (1 << bits) - 1
        v = math.ldexp(mantissa + ((1 << bits) if exponent else 0), max(exponent, 1) - bias - bits)
        if magnitude > greatest:
            v = math.inf if overflow == magnitude else math.nan
        if fnuz and code == 0x80:
            v = math.nan
        values.append(-v if code & 0x80 else v)
    return values


@pytest.mark.parametrize("name", ALL_FLOAT8)
def test_all_codes_of_a_float_of_8_bits(name):
    x = ut.arange(256).to(ut.uint8).view(dtype(name))
    got, want = x.float().numpy(), np.array(decoded(name), dtype=np.float32)
    assert np.array_equal(np.isnan(got), np.isnan(want))
    numbers = ~np.isnan(want)
    assert np.array_equal(got[numbers].view(np.uint32), want[numbers].view(np.uint32))
    back = x.float().to(dtype(name)).view(ut.uint8).numpy()
    assert np.array_equal(back[numbers], np.arange(256, dtype=np.uint8)[numbers])


@pytest.mark.parametrize("name", FLOAT8)
def test_rounding_to_a_float_of_8_bits_is_to_nearest_even(name):
    _, _, greatest, overflow, fnuz = FLOAT8[name]
    values = np.array(decoded(name)[: greatest + 1])
    middle = (values[1:] + values[:-1]) / 2
    step = values[-1] - values[-2]
    samples = np.concatenate([values, middle, np.nextafter(middle, 0), np.nextafter(middle, np.inf), [values[-1] + step / 4]])
    samples = np.concatenate([samples, np.geomspace(1e-7, values[-1], 500)]).astype(np.float32)

    def nearest(v: float) -> int:
        at = int(np.searchsorted(values, v))
        if at == len(values):
            return greatest
        if values[at] == v or at == 0:
            return at
        low, high = v - values[at - 1], values[at] - v
        return at - 1 if low < high or (low == high and (at - 1) % 2 == 0) else at

    got = ut.from_numpy(samples).to(dtype(name)).view(ut.uint8).tolist()
    want = [nearest(float(v)) for v in samples]
    assert got == want
    negative = ut.from_numpy(-samples).to(dtype(name)).view(ut.uint8).tolist()
    assert negative == [0 if fnuz and w == 0 else w | 0x80 for w in want]
    # Beyond the greatest number, infinity and NaN.
    beyond = ut.tensor([values[-1] + step, 1e30, math.inf, -math.inf]).to(dtype(name)).view(ut.uint8).tolist()
    assert beyond == [overflow] * 3 + [overflow if fnuz else overflow | 0x80]
    assert ut.tensor([math.nan]).to(dtype(name)).view(ut.uint8).tolist() == [0x80 if fnuz else 0x7F]


def test_a_bare_exponent_rounds_ties_up():
    x = ut.tensor([1.0, 1.25, 1.5, 1.75, 3.0, -3.0, math.nan, math.inf, 0.0])
    assert x.to(ut.float8_e8m0fnu).view(ut.uint8).tolist() == [127, 127, 128, 128, 129, 129, 255, 255, 0]


def test_complex32_rounds_both_parts():
    z = ut.tensor([1 + 2j, 3.14159 - 1e6j, complex(math.nan, 65520)])
    half = z.to(ut.complex32)
    assert ut.view_as_real(half).dtype is ut.float16
    assert np.array_equal(ut.view_as_real(half).numpy(), ut.view_as_real(z).half().numpy(), equal_nan=True)
    assert half.real.dtype is ut.float16 and half.imag.tolist()[:1] == [2.0]
    assert ut.view_as_complex(ut.view_as_real(half)).tolist()[0] == half.tolist()[0] == 1 + 2j
    assert half[:2].to(ut.complex64).tolist()[0] == 1 + 2j
    assert ut.complex(ut.ones(2).half(), ut.zeros(2).half()).dtype is ut.complex32
    assert (ut.ones(2, dtype=ut.float16) * 1j).dtype is ut.complex32


@pytest.mark.parametrize("name", STORAGE)
def test_strided_and_long_conversions(name):
    x = ut.ones(40, 30).mul(3).to(dtype(name))
    assert x.t()[::3, 1::2].float().sum().item() == 10 * 20 * x[0, 0].item().real
    y = ut.zeros(30, 40, dtype=dtype(name))
    y.t()[:, ::2].copy_(ut.full((40, 15), 2.0))
    assert y.float().sum().item() == 2.0 * 600


# ---- movement ----


@pytest.mark.parametrize("name", STORAGE)
def test_views_copies_joins_and_indexing(name):
    x = some(name)
    plain = x.to(ut.complex64 if name == "complex32" else ut.float32)

    def same(a: ut.Tensor, b: ut.Tensor) -> bool:
        return a.dtype is dtype(name) and a.to(b.dtype).tolist() == b.tolist() and a.shape == b.shape

    for f in (
        lambda t: t.clone(),
        lambda t: t.t().contiguous(),
        lambda t: t[1],
        lambda t: t[:, 1:],
        lambda t: t[..., None].expand(2, 3, 2),
        lambda t: ut.cat([t, t], 1),
        lambda t: ut.stack([t, t]),
        lambda t: t[ut.tensor([1, 0])],
        lambda t: t[ut.tensor([True, False])],
        lambda t: t.repeat(2, 1),
        lambda t: t.roll(1, 0),
        lambda t: ut.where(ut.tensor([True, False, True]), t, t[0]),
        lambda t: ut.nn.functional.pad(t, (1, 1)) if name != "float8_e8m0fnu" else t,
        lambda t: copy.deepcopy(t),
        lambda t: pickle.loads(pickle.dumps(t)),
        lambda t: t.reshape(3, 2).flatten().unflatten(0, (2, 3)),
    ):
        assert same(f(x), f(plain))
    x[0, 1] = 4
    x[1] = x[0]
    x[:, 2:].fill_(2)
    assert x.to(plain.dtype).tolist() == [[1, 4, 2], [1, 4, 2]]


@pytest.mark.parametrize("name", STORAGE)
def test_reinterpreted_bytes(name):
    width = dtype(name).itemsize
    signed = {1: ut.int8, 2: ut.int16, 4: ut.int32, 8: ut.int64}[width]
    raw = ut.arange(1, 13).to(signed)
    there = raw.view(dtype(name))
    assert there.dtype is dtype(name) and there.shape == (12,) and there.data_ptr() == raw.data_ptr()
    assert there.view(signed).tolist() == raw.tolist() and there.view(ut.uint8).numel() == 12 * width


def test_conjugates_and_negatives_of_complex32():
    z = ut.tensor([1 + 2j, -3 + 4j]).to(ut.complex32)
    assert z.conj().is_conj() and z.conj().resolve_conj().tolist() == [1 - 2j, -3 - 4j]
    assert z.conj().imag.tolist() == [-2.0, -4.0] and (-z).tolist() == [-1 - 2j, 3 - 4j]
    w = ut.zeros(2, dtype=ut.complex32)
    w.conj().copy_(z)
    assert w.tolist() == [1 - 2j, -3 - 4j]


# ---- arithmetic and comparison ----


@pytest.mark.parametrize("name", UNSIGNED)
def test_what_unsigned_integers_compute(name):
    most = np.iinfo(name).max
    x, y = ut.tensor([1, 2, most], dtype=dtype(name)), ut.tensor([1, 3, most - 1], dtype=dtype(name))
    a, b = x.numpy(), y.numpy()
    assert (x == y).tolist() == (a == b).tolist() and (x != y).tolist() == (a != b).tolist()
    assert (x * y).numpy().tolist() == (a * b).tolist() and (x * y).dtype is dtype(name)
    assert (x & y).numpy().tolist() == (a & b).tolist() and (x | y).numpy().tolist() == (a | b).tolist()
    assert (x ^ y).numpy().tolist() == (a ^ b).tolist()
    assert (x * 3).tolist() == (a * a.dtype.type(3)).tolist() and (x == 2).tolist() == [False, True, False]
    assert (x == -1).tolist() == [False, False, True]
    z = x.clone()
    z.mul_(2)
    assert z.tolist() == (a * a.dtype.type(2)).tolist()
    assert x.signbit().tolist() == [False] * 3 and x.isfinite().tolist() == [True] * 3 and x.floor().tolist() == x.tolist()
    assert x.any().item() is True and x.all().item() is True
    assert ut.tensor([1, 2, 3], dtype=dtype(name)).sum().item() == 6 and x.sum().dtype is ut.int64
    assert x.cumsum(0).dtype is ut.int64 and ut.tensor([2, 3], dtype=dtype(name)).prod().item() == 6
    shuffled = ut.tensor([5, most, 0, 7, 7], dtype=dtype(name))
    values, where = shuffled.sort()
    assert values.tolist() == [0, 5, 7, 7, most] and values.dtype is dtype(name) and where.tolist() == [2, 0, 3, 4, 1]
    assert shuffled.unique().tolist() == [0, 5, 7, most] and shuffled.sort(descending=True).values[0].item() == most
    assert np.allclose(ut.tensor([1, 4], dtype=dtype(name)).sqrt().numpy(), [1.0, 2.0]) and (x / 2).dtype is ut.float32
    assert (x * 1.5).dtype is ut.float32 and (x + 1.5).dtype is ut.float32
    assert bool(x[0]) and list(x[:2]) == [1, 2]


@pytest.mark.parametrize("name", [*UNSIGNED, *ALL_FLOAT8])
def test_what_torch_does_not_compute_raises(name):
    x = some(name)
    for f in (
        lambda t: t + t,
        lambda t: t - t,
        lambda t: -t,
        lambda t: t < t,
        lambda t: t.max(),
        lambda t: t.argmax(),
        lambda t: t.flip(1),
        lambda t: t.gather(0, ut.zeros(1, 3, dtype=ut.int64)),
        lambda t: t.scatter(0, ut.zeros(1, 3, dtype=ut.int64), t),
        lambda t: t.masked_fill(ut.ones(2, 3, dtype=ut.bool), 1),
        lambda t: t.tril(),
        lambda t: t.nonzero(),
        lambda t: t.clamp(0, 1),
        lambda t: t.topk(1),
        lambda t: t.cummax(0),
        lambda t: t.median(),
        lambda t: ut.bmm(t[None], t.t()[None]),
        lambda t: ut.maximum(t, t),
        lambda t: ut.nn.functional.embedding_bag(ut.tensor([[0, 1]]), t),
        lambda t: ut.nn.functional.layer_norm(ut.ones(2, 3), (3,), t[0]),
        lambda t: t.pow(2),
        lambda t: t // t,
        lambda t: ut.nn.functional.pad(t[None], (1, 1), mode="reflect"),
        lambda t: ut.fft.rfft(t) if name not in UNSIGNED else t.flip(1),
    ):
        with pytest.raises((NotImplementedError, RuntimeError), match="not implemented for|Unsupported|Expected|mixed dtype"):
            f(x)


@pytest.mark.parametrize("name", FLOAT8)
def test_what_floats_of_8_bits_compute(name):
    x = some(name)
    assert (x == x).all().item() and not (x != x).any().item() and (x == 2).sum().item() == 1
    assert (x * x).dtype is dtype(name) and (x * x)[0].tolist() == [1.0, 4.0, 16.0]
    assert ut.tensor([-2.0, 1.0]).to(dtype(name)).abs().tolist() == [2.0, 1.0]
    assert ut.tensor([math.nan, 1.0]).to(dtype(name)).isnan().tolist() == [True, False]
    assert (x[:, :2] @ x[:, :2]).tolist() == [[16.0, 4.0], [16.0, 16.0]]  # 17 is a tie
    with pytest.raises(RuntimeError, match="Promotion for Float8 Types"):
        x.eq(ut.ones(3))
    with pytest.raises(TypeError, match="floating-point|default"):
        ut.set_default_dtype(dtype(name))


def test_what_complex32_computes():
    z = ut.tensor([1 + 2j, 3 - 4j]).to(ut.complex32)
    assert (z + z).tolist() == [2 + 4j, 6 - 8j] and (z * z).tolist() == [-3 + 4j, -7 - 24j] and (z - 1).tolist() == [2j, 2 - 4j]
    assert z.abs().dtype is ut.float16 and z.abs().tolist()[1] == 5.0 and (z == z).tolist() == [True, True]
    assert (z + ut.ones(2)).dtype is ut.complex64 and (z * ut.ones(2, dtype=ut.float64)).dtype is ut.complex128
    assert z.masked_fill(ut.tensor([True, False]), 7).tolist() == [7, 3 - 4j]
    assert z.index_add(0, ut.tensor([0, 0]), z).tolist() == [5 + 0j, 3 - 4j]
    assert ut.linalg.vector_norm(z).dtype is ut.float16
    for f in (lambda t: t / t, lambda t: t.sum(), lambda t: t.sin(), lambda t: t.angle(), lambda t: t @ t):
        with pytest.raises(NotImplementedError, match="not implemented for"):
            f(z)


def test_promotion_of_storage_dtypes():
    assert ut.promote_types(ut.uint16, ut.float16) is ut.float16 and ut.promote_types(ut.complex32, ut.float16) is ut.complex32
    assert ut.promote_types(ut.complex32, ut.bfloat16) is ut.complex64 and ut.promote_types(ut.int64, ut.complex32) is ut.complex32
    for a, b in (("uint16", "int64"), ("uint16", "uint32"), ("uint64", "bool"), ("uint32", "complex64")):
        with pytest.raises(RuntimeError, match="Promotion for uint16, uint32, uint64 types is not supported"):
            ut.promote_types(dtype(a), dtype(b))
    with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported, attempted to promote Float8_e5m2 and Float"):
        ut.promote_types(ut.float8_e5m2, ut.float32)
    with pytest.raises(IndexError, match="must be long, int, byte or bool"):
        ut.ones(3)[ut.tensor([0], dtype=ut.uint16)]


@pytest.mark.parametrize("name", ["complex32", "float8_e4m3fn", "float8_e5m2"])
def test_gradients_pass_through_conversions(name):
    x = ut.tensor([1.0, 2.0], requires_grad=True)
    y = x.to(dtype(name)).to(ut.complex64 if name == "complex32" else ut.float32)
    (y * 3).sum().abs().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    leaf = ut.ones(2, dtype=dtype(name), requires_grad=True)
    leaf.to(ut.float32).sum().backward() if name != "complex32" else leaf.to(ut.complex64).real.sum().backward()
    assert leaf.grad.dtype is dtype(name) and leaf.grad.float().tolist() == [1.0, 1.0]


# ---- printing, exchange and files ----


def test_printing():
    assert repr(ut.tensor([1, 65535], dtype=ut.uint16)) == "tensor([    1, 65535], dtype=undertow.uint16)"
    assert repr(ut.tensor([2**64 - 1, 5], dtype=ut.uint64)) == "tensor([18446744073709551615,                    5], dtype=undertow.uint64)"
    assert repr(ut.tensor([1.5, 2], dtype=ut.float8_e5m2)) == "tensor([1.5000, 2.0000], dtype=undertow.float8_e5m2)"
    assert repr(ut.tensor([1 + 2j, 3]).to(ut.complex32)) == "tensor([1.+2.j, 3.+0.j], dtype=undertow.complex32)"
    assert repr(ut.zeros(0, dtype=ut.uint32)) == "tensor([], dtype=undertow.uint32)"
    assert ut.ones(1, dtype=ut.uint16).type() == "undertow.UInt16Tensor"


@pytest.mark.parametrize("name", UNSIGNED)
def test_numpy_arrays_share_memory(name):
    array = np.arange(6, dtype=name).reshape(2, 3)
    t = ut.from_numpy(array)
    assert t.dtype is dtype(name) and t.tolist() == array.tolist()
    t[0, 0] = 9
    assert array[0, 0] == 9 and t.numpy().dtype == name and np.asarray(t).dtype == name
    assert ut.tensor(array).dtype is dtype(name) and ut.tensor(np.dtype(name).type(3)).dtype is dtype(name)
    assert np.from_dlpack(t).dtype == name and ut.from_dlpack(array).dtype is dtype(name)


@pytest.mark.parametrize("name", ["complex32", *ALL_FLOAT8])
def test_dtypes_that_numpy_lacks(name):
    with pytest.raises(TypeError, match="Got unsupported ScalarType"):
        some(name).numpy()
    assert ut.from_dlpack(some(name)).dtype is dtype(name)


@pytest.mark.parametrize("name", STORAGE)
@pytest.mark.parametrize("legacy", [False, True])
def test_saved_tensors(name, legacy):
    file, x = io.BytesIO(), some(name)
    ut.save({"x": x, "view": x.t(), "dtype": x.dtype}, file, _use_new_zipfile_serialization=not legacy)
    file.seek(0)
    loaded = ut.load(file)
    assert loaded["dtype"] is dtype(name) and loaded["x"].dtype is dtype(name)
    assert loaded["x"].tolist() == x.tolist() and loaded["view"].tolist() == x.t().tolist()
    assert loaded["view"].data_ptr() == loaded["x"].data_ptr()


@pytest.mark.parametrize("name", [n for n in STORAGE if n != "complex32"])
def test_safetensors(name, tmp_path):
    x = some(name)
    path = tmp_path / "x.safetensors"
    ut.save({"x": x}, path)
    loaded = ut.load(path)
    assert loaded["x"].dtype is dtype(name) and loaded["x"].tolist() == x.tolist()


@pytest.mark.parametrize("name", ALL_FLOAT8)
def test_limits_of_floats_of_8_bits(name):
    info, values = ut.finfo(dtype(name)), [v for v in decoded(name) if math.isfinite(v)]
    assert info.max == max(values) and info.min == min(values) and info.bits == 8 and info.dtype == name
    assert ut.finfo(ut.complex32).max == 65504.0
