"""bfloat16 and float16: loops that keep values in registers, sums, and lines that are converted to float a few at a time."""

from __future__ import annotations

import pytest

import undertow as ut

F = ut.nn.functional
HALVES = [ut.bfloat16, ut.float16]
SIZES = [1, 7, 15, 16, 17, 31, 32, 33, 64, 100, 1025]  # around a run of 16 or 32
SPECIAL = [0.0, -0.0, 1.0, -2.5, float("inf"), float("-inf"), float("nan"), 1e-40, 6e-8, 3e-5, 65504.0, 70000.0, 3.3e38]

UNARY = {
    "neg": lambda x: -x, "abs": ut.abs, "relu": ut.relu, "sqrt": ut.sqrt, "rsqrt": ut.rsqrt, "exp": ut.exp, "tanh": ut.tanh, "sigmoid": ut.sigmoid,
    "silu": F.silu, "square": ut.square, "reciprocal": ut.reciprocal, "leaky_relu": lambda x: F.leaky_relu(x, 0.1),
}
BINARY = {
    "add": lambda x, y: ut.add(x, y, alpha=3), "sub": lambda x, y: x - y, "rsub": lambda x, y: ut.rsub(x, y), "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
}


def bits(t: ut.Tensor) -> list[int]:
    return t.contiguous().view(ut.int16).flatten().tolist()


def same(a: ut.Tensor, b: ut.Tensor) -> bool:
    """Bit for bit, except for the payload of a NaN."""
    return a.dtype == b.dtype and bool(((a == b) | (a.isnan() & b.isnan())).all()) and ut.signbit(a[~a.isnan()]).tolist() == ut.signbit(b[~b.isnan()]).tolist()


@pytest.fixture
def both_thread_counts():
    before = ut.get_num_threads()
    yield (1, 2)
    ut.set_num_threads(before)


@pytest.mark.parametrize("half", HALVES, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_a_loop_over_halves_is_the_float_loop_rounded_once(name, half):
    f = UNARY[name]
    for n in SIZES:
        x = (ut.randn(n) * 3).to(half)
        assert same(f(x), f(x.float()).to(half)), n
    x = ut.tensor(SPECIAL * 5).to(half)
    assert same(f(x), f(x.float()).to(half))


@pytest.mark.parametrize("half", HALVES, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_two_operands_of_halves_are_computed_in_float(name, half):
    f = BINARY[name]
    for n in SIZES:
        x, y = (ut.randn(n) * 3).to(half), (ut.randn(n) + 5).to(half)
        assert same(f(x, y), f(x.float(), y.float()).to(half)), n
        one = y[0]  # broadcast on either side
        assert same(f(x, one), f(x.float(), one.float()).to(half)), n
        assert same(f(one, x + 7), f(one.float(), (x + 7).float()).to(half)), n
    x = ut.tensor([a for a in SPECIAL for _ in SPECIAL]).to(half)
    y = ut.tensor([b for _ in SPECIAL for b in SPECIAL]).to(half)
    assert same(f(x, y), f(x.float(), y.float()).to(half))


@pytest.mark.parametrize("half", HALVES, ids=str)
def test_strides_views_and_in_place_forms_give_the_same_halves(half):
    x, y = ut.randn(70, 66).to(half), ut.randn(70, 66).to(half)
    want = (x.float() * y.float()).to(half)
    assert same(x.t() * y.t(), want.t().contiguous())
    assert same(x[:, ::2] * y[:, ::2], want[:, ::2].contiguous())
    assert same(x[1:, 3:] * y[1:, 3:], want[1:, 3:].contiguous())
    z = x.clone()
    z.mul_(y)
    assert same(z, want)
    z = x.clone()
    z.mul_(z)
    assert same(z, (x.float() * x.float()).to(half))
    out = ut.empty(66, 70, dtype=half).t()
    ut.mul(x, y, out=out)
    assert same(out.contiguous(), want)


@pytest.mark.parametrize("half", HALVES, ids=str)
@pytest.mark.parametrize("shape", [(1,), (4095,), (4097,), (70000,), (3, 5000), (5000, 3), (600, 513), (40, 30, 50), (0, 4)], ids=str)
def test_sums_of_halves_are_sums_of_floats_rounded(half, shape, both_thread_counts):
    x = (ut.rand(shape) + 0.5).to(half)
    for t in (x, x.transpose(0, -1), x[..., 1:], x[::2], x.unsqueeze(0).expand(3, *shape)):
        for dim in (None, *range(t.dim())):
            want = t.double().sum() if dim is None else t.double().sum(dim)
            results = []
            for threads in both_thread_counts:
                ut.set_num_threads(threads)
                results.append(t.sum() if dim is None else t.sum(dim))
            assert bits(results[0]) == bits(results[1])
            fits = want.abs() < ut.finfo(half).max
            spacing = want[fits].abs() * ut.finfo(half).eps
            assert bool(((results[0].double()[fits] - want[fits]).abs() <= spacing).all())


@pytest.mark.parametrize("half", HALVES, ids=str)
@pytest.mark.parametrize("shape", [(3, 4), (600, 513), (9000, 2)], ids=str)
def test_other_folds_of_halves_are_those_of_floats(half, shape):
    x = ut.randn(shape).to(half)
    for t in (x, x.t(), x[:, 1:]):
        for dim in (0, 1):
            assert same(t.amax(dim), t.float().amax(dim).to(half))
            assert same(t.amin(dim), t.float().amin(dim).to(half))
            norm = t.double().norm(dim=dim)
            assert bool(((t.norm(dim=dim).double() - norm).abs() <= norm * ut.finfo(half).eps).all())
    x[1, 0] = float("nan")
    assert bool(x.amax(0)[0].isnan()) and bool(x.sum(1)[1].isnan())


@pytest.mark.parametrize("half", HALVES, ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (130, 64), (3, 5000), (70, 513)], ids=str)
def test_lines_of_halves_are_normalized_as_floats(half, shape, both_thread_counts):
    weight = ut.randn(shape[1]).to(half)
    functions = {
        "softmax": lambda t, w: F.softmax(t, -1),
        "log_softmax": lambda t, w: F.log_softmax(t, -1),
        "layer_norm": lambda t, w: F.layer_norm(t, (shape[1],), w, w),
        "rms_norm": lambda t, w: F.rms_norm(t, (shape[1],), w, 1e-5),  # by default it depends on the dtype
    }
    for name, f in functions.items():
        x = (ut.randn(shape) * 2).to(half)
        g = ut.randn(shape).to(half)
        results = []
        for threads in both_thread_counts:
            ut.set_num_threads(threads)
            a, w = x.clone().requires_grad_(), weight.clone().requires_grad_()
            y = f(a, w)
            y.backward(g)
            results.append((y.detach(), a.grad, w.grad))
        for one, two in zip(*results, strict=True):
            assert (one is None) == (two is None) and (one is None or bits(one) == bits(two)), name
        assert same(results[0][0], f(x.float(), weight.float()).to(half)), name
        a, w = x.double().requires_grad_(), weight.double().requires_grad_()
        f(a, w).backward(g.double())
        allowed = 0.03 * a.grad.abs().max() + 1e-3  # the gradient of a softmax starts from its rounded result
        assert bool(((results[0][1].double() - a.grad).abs() <= allowed).all()), name


def test_normalizing_halves_along_an_empty_dimension_gives_an_empty_result():
    for half in HALVES:
        assert F.softmax(ut.empty(3, 0, dtype=half), -1).shape == (3, 0)
        assert F.softmax(ut.empty(0, 3, dtype=half), -1).shape == (0, 3)
        assert F.layer_norm(ut.empty(0, 3, dtype=half), (3,)).shape == (0, 3)


def test_floor_division_of_integers_rounds_down_at_the_ends_of_their_range():
    for dtype in (ut.int8, ut.int16, ut.int32, ut.int64):
        low, high = ut.iinfo(dtype).min, ut.iinfo(dtype).max
        a = ut.tensor([low, low, high, high, -7, 7, -7, 7, 0, low, low], dtype=dtype)
        b = ut.tensor([1, 2, -1, -2, 2, -2, -2, 2, 5, low, high], dtype=dtype)
        assert (a // b).tolist() == [x // y for x, y in zip(a.tolist(), b.tolist(), strict=True)]
        assert (ut.tensor([low], dtype=dtype) // ut.tensor([-1], dtype=dtype)).tolist() == [low]  # wraps


@pytest.mark.parametrize("dtype", [ut.float32, ut.float64], ids=str)
def test_long_functions_do_not_depend_on_strides(dtype):
    x, y = ut.rand(61, 67, dtype=dtype) + 0.5, ut.rand(61, 67, dtype=dtype) + 0.5

    def agree(a, b):  # the last elements of a run may be rounded differently from those in vectors
        return ut.allclose(a, b, rtol=8 * ut.finfo(dtype).eps, atol=ut.finfo(dtype).eps)

    for f in (ut.pow, ut.atan2, ut.logaddexp, ut.xlogy):
        want = f(x, y)
        assert agree(f(x.t(), y.t()), want.t())
        assert agree(f(x[:, ::3], y[:, ::3]), want[:, ::3])
        assert agree(f(x, y[3]), f(x, y[3].expand(61, 67).contiguous()))
        assert agree(f(x, y[:, :1]), f(x, y[:, :1].expand(61, 67).contiguous()))
        assert agree(f(x[3], y), f(x[3].expand(61, 67).contiguous(), y))
    for f in (ut.erf, F.gelu, F.mish, ut.asinh, F.softplus):
        want = f(x)
        assert agree(f(x.t()), want.t())
        assert agree(f(x[:, ::3]), want[:, ::3])
        out = ut.empty(67, 61, dtype=dtype).t()
        if f in (ut.erf, ut.asinh):
            f(x, out=out)
            assert agree(out, want)
