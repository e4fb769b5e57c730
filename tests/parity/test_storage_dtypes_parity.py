"""uint16 to uint64, complex32 and the floats of 8 bits beside torch: conversions bit by bit, and what is computed or raises."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch, the oracle, is not installed")

import undertow as ut

UNSIGNED = ("uint16", "uint32", "uint64")
FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
STORAGE = (*UNSIGNED, "complex32", *FLOAT8)
OTHERS = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128")

pytestmark = pytest.mark.filterwarnings("ignore:ComplexHalf support", "ignore:Casting complex values")


def bytes_of(library, t) -> list[int]:
    return t.contiguous().reshape(-1).view(library.uint8).tolist() if t.numel() else []


def floats() -> np.ndarray:
    """Random bit patterns, and the neighbourhoods of ties, limits and special numbers."""
    rng = np.random.default_rng(7)
    bits = rng.integers(0, 2**32, 40000, dtype=np.uint32)
    near = (np.arange(256, dtype=np.uint32) << 24)[:, None] + np.array([0, 1, 0x80000, 0x7FFFF, 0x80001, 0x100000, 0x180000, 0x200000, 0x400000, 0x600000], dtype=np.uint32)
    ties = np.arange(-140, 20)[:, None] + np.zeros(64, dtype=int)
    exact = np.ldexp(1 + np.arange(64) / 64, ties).astype(np.float32)
    values = np.concatenate([bits.view(np.float32), near.ravel().view(np.float32), exact.ravel(), -exact.ravel(), np.array([0.0, -0.0, np.inf, -np.inf, np.nan], np.float32)])
    return values[: len(values) // 64 * 64]  # whole vectors: what does not fit an unsigned integer depends on the instructions


@pytest.mark.parametrize("name", FLOAT8)
def test_all_codes_and_many_numbers_bit_by_bit(name):
    codes = torch.arange(256).to(torch.uint8)
    want = codes.view(getattr(torch, name)).float()
    got = ut.from_numpy(codes.numpy()).view(getattr(ut, name)).float()
    assert np.array_equal(want.numpy().view(np.uint32), got.numpy().view(np.uint32))
    values = floats()
    theirs = torch.from_numpy(values).to(getattr(torch, name)).view(torch.uint8).numpy()
    ours = ut.from_numpy(values).to(getattr(ut, name)).view(ut.uint8).numpy()
    wrong = np.nonzero(theirs != ours)[0]
    assert not len(wrong), [(values[i], hex(theirs[i]), hex(ours[i])) for i in wrong[:5]]


@pytest.mark.parametrize("target", STORAGE)
@pytest.mark.parametrize("source", [*OTHERS, *STORAGE])
def test_conversions_between_every_two_dtypes(source, target):
    with np.errstate(all="ignore"):
        raw = torch.from_numpy(floats().astype(np.float64)) if source.startswith("float") or "complex" in source else torch.arange(-512, 512) * 12345677
    start = raw.to(getattr(torch, source))
    if target in UNSIGNED and (source.startswith(("float", "bfloat", "complex"))):
        start = start[raw.abs() < 2**30]  # beyond, the result is undefined in torch
        start = start[: len(start) // 64 * 64]
        wide = start.to(torch.complex64 if start.is_complex() else torch.float32)
        start = torch.nan_to_num(wide, posinf=1, neginf=1).to(getattr(torch, source)) if source not in UNSIGNED else start
    mine = ut.from_torch(start.clone())
    want, got = start.to(getattr(torch, target)), mine.to(getattr(ut, target))
    a, b = np.array(bytes_of(torch, want)), np.array(bytes_of(ut, got))
    if target == "complex32":  # a NaN is a NaN
        a, b = (np.array(x, dtype=np.uint8).view(np.float16) for x in (a, b))
        assert np.array_equal(a, b, equal_nan=True)
    else:
        assert np.array_equal(a, b)
    back_to = "complex64" if source.startswith("complex") else "float32"
    assert np.array_equal(want.to(getattr(torch, back_to)).numpy(), got.to(getattr(ut, back_to)).numpy(), equal_nan=True)


# Called with the library, a 2 x 3 tensor of small numbers, and its dtype.
CALLS = {
    "add": lambda L, x, d: x + x, "sub": lambda L, x, d: x - x, "mul": lambda L, x, d: x * x, "div": lambda L, x, d: x / x,
    "mul by a float": lambda L, x, d: x * 1.5, "div by a number": lambda L, x, d: x / 2,
    "floor_divide": lambda L, x, d: x // x, "remainder": lambda L, x, d: x % x, "pow": lambda L, x, d: x.pow(2), "neg": lambda L, x, d: -x,
    "abs": lambda L, x, d: x.abs(), "eq": lambda L, x, d: x == x, "ne": lambda L, x, d: x != x.roll(1), "lt": lambda L, x, d: x < x, "ge": lambda L, x, d: x >= x,
    "eq a number": lambda L, x, d: x == 2, "and": lambda L, x, d: x & x, "or": lambda L, x, d: x | 1, "xor": lambda L, x, d: x ^ x.roll(1),
    "not": lambda L, x, d: ~x, "lshift": lambda L, x, d: x << 1, "logical_not": lambda L, x, d: x.logical_not(), "logical_and": lambda L, x, d: L.logical_and(x, x),
    "floor": lambda L, x, d: x.floor(), "ceil": lambda L, x, d: x.ceil(), "round": lambda L, x, d: x.round(), "trunc": lambda L, x, d: x.trunc(),
    "sign": lambda L, x, d: x.sign(), "sgn": lambda L, x, d: x.sgn(), "signbit": lambda L, x, d: x.signbit(), "isnan": lambda L, x, d: x.isnan(),
    "isposinf": lambda L, x, d: x.isposinf(), "sqrt": lambda L, x, d: x.sqrt(), "exp": lambda L, x, d: x.exp(), "sin": lambda L, x, d: x.sin(),
    "sigmoid": lambda L, x, d: x.sigmoid(), "erf": lambda L, x, d: x.erf(), "log1p": lambda L, x, d: x.log1p(), "atan2": lambda L, x, d: L.atan2(x, x),
    "reciprocal": lambda L, x, d: x.reciprocal(), "square": lambda L, x, d: x.square(), "relu": lambda L, x, d: x.relu(), "clamp": lambda L, x, d: x.clamp(1, 2),
    "maximum": lambda L, x, d: L.maximum(x, x), "lerp": lambda L, x, d: L.lerp(x, x, 0.5), "addcmul": lambda L, x, d: L.addcmul(x, x, x),
    "sum": lambda L, x, d: x.sum(), "sum of dim": lambda L, x, d: x.sum(0), "mean": lambda L, x, d: x.mean(), "prod": lambda L, x, d: x.prod(),
    "nansum": lambda L, x, d: x.nansum(), "max": lambda L, x, d: x.max(), "amax": lambda L, x, d: x.amax(0), "argmax": lambda L, x, d: x.argmax(),
    "max of dim": lambda L, x, d: x.max(0).values, "aminmax": lambda L, x, d: x.aminmax().min, "any": lambda L, x, d: x.any(), "all": lambda L, x, d: x.all(0),
    "count_nonzero": lambda L, x, d: x.count_nonzero(), "nonzero": lambda L, x, d: x.nonzero(), "median": lambda L, x, d: x.median(), "mode": lambda L, x, d: x.mode().values,
    "var": lambda L, x, d: x.var(), "std": lambda L, x, d: x.std(0), "norm": lambda L, x, d: L.linalg.vector_norm(x), "cumsum": lambda L, x, d: x.cumsum(0),
    "cumprod": lambda L, x, d: x.cumprod(1), "cummax": lambda L, x, d: x.cummax(0).values, "sort": lambda L, x, d: x.sort().values, "argsort": lambda L, x, d: x.argsort(),
    "topk": lambda L, x, d: x.topk(1).values, "kthvalue": lambda L, x, d: x.kthvalue(1).values, "unique": lambda L, x, d: x.unique(),
    "unique_consecutive": lambda L, x, d: x.unique_consecutive(), "isin": lambda L, x, d: L.isin(x, x[0]), "flip": lambda L, x, d: x.flip(0), "flip rows": lambda L, x, d: x.flip(1), "roll": lambda L, x, d: x.roll(1, 1),
    "tril": lambda L, x, d: x.tril(), "cat": lambda L, x, d: L.cat([x, x]), "stack": lambda L, x, d: L.stack([x, x]), "index": lambda L, x, d: x[:, [0, 2]],
    "index by mask": lambda L, x, d: x[L.tensor([True, False])], "index_select": lambda L, x, d: x.index_select(0, L.tensor([1])),
    "gather": lambda L, x, d: x.gather(1, L.tensor([[0], [1]])), "take": lambda L, x, d: x.take(L.tensor([0, 3])), "masked_select": lambda L, x, d: x.masked_select(L.ones(2, 3).bool()),
    "masked_fill": lambda L, x, d: x.masked_fill(L.ones(2, 3).bool(), 1), "masked_scatter": lambda L, x, d: x.masked_scatter(L.ones(2, 3).bool(), x),
    "scatter": lambda L, x, d: x.scatter(0, L.zeros(1, 3).long(), x), "index_add": lambda L, x, d: x.index_add(0, L.tensor([0]), x[:1]),
    "index_fill": lambda L, x, d: x.index_fill(0, L.tensor([0]), 1), "index_copy": lambda L, x, d: x.index_copy(0, L.tensor([0]), x[1:]),
    "index_put": lambda L, x, d: x.index_put((L.tensor([0]),), x[1]), "where": lambda L, x, d: L.where(L.tensor([True, False, True]), x, x.roll(1)),
    "where a number": lambda L, x, d: L.where(L.tensor([True, False, True]), x, 1), "repeat_interleave": lambda L, x, d: x.repeat_interleave(2, 0), "fill": lambda L, x, d: x.clone().fill_(2),
    "pad": lambda L, x, d: L.nn.functional.pad(x, (1, 0), value=1), "reflect": lambda L, x, d: L.nn.functional.pad(x, (1, 0), mode="reflect"),
    "circular": lambda L, x, d: L.nn.functional.pad(x, (1, 0), mode="circular"), "mm": lambda L, x, d: x @ x.t(), "bmm": lambda L, x, d: L.bmm(x[None], x.t()[None]),
    "mv": lambda L, x, d: x @ x[0], "dot": lambda L, x, d: x[0].dot(x[0]), "addmm": lambda L, x, d: L.addmm(x[:, :2], x, x.t()), "outer": lambda L, x, d: L.outer(x[0], x[1]),
    "kron": lambda L, x, d: L.kron(x, x), "softmax": lambda L, x, d: x.softmax(0), "dist": lambda L, x, d: L.dist(x, x), "trace": lambda L, x, d: x.trace(),
    "diag": lambda L, x, d: x.diag(), "diff": lambda L, x, d: x.diff(), "conj": lambda L, x, d: x.conj().resolve_conj(), "real": lambda L, x, d: x.real, "angle": lambda L, x, d: x.angle(),
    "imag": lambda L, x, d: x.imag, "view_as_real": lambda L, x, d: L.view_as_real(x), "equal": lambda L, x, d: L.tensor(L.equal(x, x.clone())), "isclose": lambda L, x, d: L.isclose(x, x),
    "float_power": lambda L, x, d: x.float_power(2), "bincount": lambda L, x, d: x.flatten().bincount(), "eye": lambda L, x, d: L.eye(2, dtype=d),
    "arange": lambda L, x, d: L.arange(3, dtype=d), "linspace": lambda L, x, d: L.linspace(0, 2, 3, dtype=d), "full": lambda L, x, d: L.full((2,), 2, dtype=d),
    "tensor": lambda L, x, d: L.tensor([1, 2], dtype=d), "ones": lambda L, x, d: L.ones(2, dtype=d), "randperm": lambda L, x, d: L.randperm(3, dtype=d),
    "copy_": lambda L, x, d: x.clone().copy_(L.tensor([1.0, 2.0, 4.0])), "view": lambda L, x, d: x.view(L.uint8), "mul_": lambda L, x, d: x.clone().mul_(x), "add_": lambda L, x, d: x.clone().add_(1),
    "sum with dtype": lambda L, x, d: x.sum(dtype=L.float32), "fft": lambda L, x, d: L.fft.fft(x), "embedding": lambda L, x, d: L.nn.functional.embedding(L.tensor([0, 1]), x),
    "searchsorted": lambda L, x, d: L.searchsorted(x[0], x[1]), "histc": lambda L, x, d: x.histc(3, 0, 4), "zero_": lambda L, x, d: x.clone().zero_(), "cross": lambda L, x, d: L.linalg.cross(x, x),
    "promoted with float32": lambda L, x, d: x * L.ones(3), "promoted with int32": lambda L, x, d: x * L.ones(3, dtype=L.int32), "logsumexp": lambda L, x, d: x.logsumexp(0),
    "std_mean": lambda L, x, d: L.std_mean(x)[0], "nan_to_num": lambda L, x, d: x.nan_to_num(), "repeat": lambda L, x, d: x.repeat(2, 2), "unfold": lambda L, x, d: x.unfold(1, 2, 1),
    "conv1d": lambda L, x, d: L.nn.functional.conv1d(x[None], x[:, :2].reshape(1, 2, 2)), "conj_physical": lambda L, x, d: x.conj_physical(), "isreal": lambda L, x, d: x.isreal(),
    "conv_transpose1d": lambda L, x, d: L.nn.functional.conv_transpose1d(x[None], x[:, :2].reshape(2, 1, 2)), "nonzero_static": lambda L, x, d: x.nonzero_static(size=2),
    "index_put accumulated": lambda L, x, d: x.index_put((L.tensor([0, 0]),), x[1], accumulate=True), "cholesky": lambda L, x, d: L.linalg.cholesky(x[:, :2]),
    "embedding_bag": lambda L, x, d: L.nn.functional.embedding_bag(L.tensor([[0, 1]]), x), "bce": lambda L, x, d: L.nn.functional.binary_cross_entropy(x, x),
    "gcd": lambda L, x, d: L.gcd(x, x), "hypot": lambda L, x, d: L.hypot(x, x), "block_diag": lambda L, x, d: L.block_diag(x, x), "cov": lambda L, x, d: x.cov(),
}

# What differs, and why: per call, the dtypes.
KNOWN: dict[str, tuple[tuple[str, ...], str]] = {}


def outcome(library, name: str, call) -> tuple:
    d = getattr(library, name)
    x = library.tensor([[1.0, 2.0, 4.0], [2.0, 1.0, 2.0]]).to(d)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = call(library, x, d)
    except (NotImplementedError, RuntimeError, TypeError, IndexError, ValueError) as error:
        return ("error", type(error))
    short = str(result.dtype).rpartition(".")[2]
    wide = library.complex64 if result.dtype.is_complex else library.float64
    return (short, tuple(result.shape), np.round(np.array(result.to(wide).tolist()), 3).tolist())


@pytest.mark.parametrize("name", STORAGE)
def test_the_same_is_computed_and_the_same_refused(name):
    wrong = []
    for title, call in CALLS.items():
        want, got = outcome(torch, name, call), outcome(ut, name, call)
        same = want == got or (want[0] == got[0] == "error" and issubclass(got[1], want[1]))
        if same == (name in KNOWN.get(title, ((), ""))[0]):
            wrong.append(f"{title}: torch {want}, here {got}")
    assert not wrong, "\n".join(wrong)


EXPRESSIONS = """
L.ones(2) * np.uint16(3)
L.ones(2, dtype=L.uint16) * np.int64(3)
L.tensor([np.uint16(1), np.uint16(2)])
L.tensor([np.uint16(1), 2])
L.asarray(np.uint32(7))
L.ones(2, dtype=L.uint16, device="meta") * 2
L.tensor([1, 2, 3], dtype=L.uint16)[L.tensor(1)]
L.ones(2, 3)[L.tensor(1, dtype=L.uint16)]
L.ones(2, 3)[L.tensor([1], dtype=L.uint16)]
L.ones(3, dtype=L.uint16).sum(dtype=L.uint16)
L.ones(3, dtype=L.float8_e5m2).sum(dtype=L.float32)
L.ones(3, dtype=L.uint32).mean(dtype=L.float32)
L.full((2,), 3.7, dtype=L.uint16)
L.full((2,), True, dtype=L.uint16)
L.ones(2, dtype=L.bool) * L.tensor(3, dtype=L.uint16)
L.ones(2, dtype=L.uint16) * L.tensor(3)
L.ones(2, dtype=L.uint16) * L.tensor(3.5)
L.tensor(3, dtype=L.uint16) * L.tensor(3)
L.ones(2, dtype=L.uint16).bitwise_and_(1)
L.where(L.tensor([True, False]), L.tensor([1, 2], dtype=L.uint16), L.tensor([1, 2]))
L.cat([L.ones(1, dtype=L.uint16), L.ones(1)])
L.cat([L.ones(1, dtype=L.uint16), L.ones(1, dtype=L.int32)])
L.ones(2, dtype=L.float8_e4m3fn).copy_(L.tensor([1e9, -0.0]))
L.set_default_dtype(L.float8_e5m2)
L.ones(2, dtype=L.half) + 1j
L.ones(2, dtype=L.half) / 1j
L.complex(L.ones(2).half(), L.ones(2).half())
L.complex(L.ones(2), L.ones(2).half())
L.polar(L.ones(2).half(), L.ones(2).half())
L.view_as_complex(L.ones(2, 2, dtype=L.bfloat16))
L.frombuffer(bytearray(b"abcd"), dtype=L.uint16)
L.ones(2, dtype=L.uint16).requires_grad_()
L.ones(2, dtype=L.complex32, requires_grad=True)
L.nn.Linear(2, 2).to(L.float8_e5m2).weight.dtype
L.ones(2).chalf()
L.ones(2, dtype=L.uint32) / L.ones(2, dtype=L.uint32)
5 in L.tensor([5, 6], dtype=L.uint16)
range(10)[L.tensor(3, dtype=L.uint16)]
L.tensor(2**63, dtype=L.uint64) * 1
L.ones(2, dtype=L.uint16).type("torch.FloatTensor")
""".strip().splitlines()


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions(text):
    results = []
    for library in (torch, ut):
        try:
            results.append(repr(eval(text, {"L": library, "np": np})).replace("undertow", "torch"))
        except (NotImplementedError, RuntimeError, TypeError, IndexError, ValueError) as error:
            results.append(type(error).__name__)
    assert results[0] == results[1]


@pytest.mark.parametrize("name", STORAGE)
def test_files_of_both_libraries(name):
    theirs = torch.tensor([[1.0, 2.0], [4.0, 8.0]]).to(getattr(torch, name))
    file = io.BytesIO()
    torch.save({"x": theirs, "t": theirs.t(), "d": theirs.dtype}, file)
    file.seek(0)
    read = ut.load(file)
    assert read["d"] is getattr(ut, name) and bytes_of(ut, read["x"]) == bytes_of(torch, theirs) and read["t"].stride() == (1, 2)
    file = io.BytesIO()
    ut.save({"x": read["x"], "t": read["t"], "d": read["d"]}, file)
    file.seek(0)
    back = torch.load(file, weights_only=True)
    assert back["d"] is getattr(torch, name) and bytes_of(torch, back["x"]) == bytes_of(torch, theirs) and back["t"].stride() == (1, 2)


@pytest.mark.parametrize("name", STORAGE)
def test_the_bridge_and_printing(name):
    theirs = torch.tensor([[1.0, 2.0], [4.0, 8.0]]).to(getattr(torch, name))
    ours = ut.from_torch(theirs)
    assert ours.dtype is getattr(ut, name) and ours.data_ptr() == theirs.data_ptr()
    assert repr(ours).replace("undertow", "torch") == repr(theirs)
    assert repr(ours[0, 1]).replace("undertow", "torch") == repr(theirs[0, 1])
    assert ut.to_torch(ours).dtype is theirs.dtype
    info = "finfo" if name.startswith("float") or name == "complex32" else "iinfo"
    assert repr(getattr(ut, info)(ours.dtype)) == repr(getattr(torch, info)(theirs.dtype))


def test_promotion_of_every_pair():
    for a in (*OTHERS, *STORAGE):
        for b in (*OTHERS, *STORAGE):
            results = []
            for library in (torch, ut):
                try:
                    results.append(str(library.promote_types(getattr(library, a), getattr(library, b))).rpartition(".")[2])
                except RuntimeError as error:
                    results.append(str(error))
            assert results[0] == results[1], (a, b)
            assert torch.can_cast(getattr(torch, a), getattr(torch, b)) == ut.can_cast(getattr(ut, a), getattr(ut, b))


@pytest.mark.parametrize("number", [-1, 2, 2**63, 2**64 - 1, 2**64, -(2**63) - 1, 1.5, 70000, 1e10, -1.5])
@pytest.mark.parametrize("name", UNSIGNED)
def test_numbers_in_unsigned_tensors(name, number):
    for make in (lambda L: L.tensor([number], dtype=getattr(L, name)), lambda L: L.full((1,), number, dtype=getattr(L, name)),
                 lambda L: L.ones(1, dtype=getattr(L, name)) * number, lambda L: L.ones(1, dtype=getattr(L, name)) == number,
                 lambda L: L.zeros(1, dtype=getattr(L, name)).fill_(number), lambda L: L.ones(1) * number, lambda L: L.ones(1, dtype=L.int64) * number):
        results = []
        for library in (torch, ut):
            try:
                results.append(make(library).tolist())
            except (RuntimeError, OverflowError, ValueError, TypeError) as error:
                results.append(type(error).__name__)
        assert results[0] == results[1], number
