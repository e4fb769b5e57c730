"""Random numbers equal torch's for the same seed, for many shapes, dtypes and layouts; and so do the generator states afterwards."""

import pytest

torch = pytest.importorskip("torch")
import undertow as ut  # noqa: E402

SHAPES = [(), (1,), (15,), (16,), (17,), (7, 9), (3, 4, 5), (1000,)]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTS = ["uint8", "int8", "int16", "int32", "int64"]


def draws(m, kind, shape, dtype):
    t = getattr(m, dtype)
    zeros = lambda: m.zeros(shape, dtype=t)  # noqa: E731
    return {
        "rand": lambda: m.rand(shape, dtype=t),
        "randn": lambda: m.randn(shape, dtype=t),
        "randint": lambda: m.randint(2, 9, shape, dtype=t),
        "uniform_": lambda: zeros().uniform_(-2, 3),
        "normal_": lambda: zeros().normal_(1, 2),
        "random_": lambda: zeros().random_(),
        "random_to": lambda: zeros().random_(7),
        "bernoulli_": lambda: zeros().bernoulli_(0.3),
        "bernoulli": lambda: m.bernoulli(m.rand(shape, dtype=t)),
        "exponential_": lambda: zeros().exponential_(2.0),
        "geometric_": lambda: zeros().geometric_(0.3),
        "cauchy_": lambda: zeros().cauchy_(),
        "log_normal_": lambda: zeros().log_normal_(),
        "poisson": lambda: m.poisson(m.rand(shape, dtype=t) * 30),
        "normal_each": lambda: m.normal(m.rand(shape, dtype=t), m.rand(shape)),
        "rand_like": lambda: m.rand_like(zeros()),
        "randn_like": lambda: m.randn_like(zeros()),
    }[kind]()


def check(make):
    torch.manual_seed(7)
    ut.manual_seed(7)
    want, got = make(torch), make(ut)
    assert got.stride() == want.stride()
    assert got.tolist() == pytest.approx(want.tolist(), rel=1e-6) if want.dim() < 2 else got.flatten().tolist() == pytest.approx(want.flatten().tolist(), rel=1e-6)
    assert ut.get_rng_state().tolist() == torch.get_rng_state().tolist()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", ["rand", "randn", "randint", "uniform_", "normal_", "random_", "random_to", "bernoulli_", "bernoulli", "exponential_",
                                  "geometric_", "cauchy_", "log_normal_", "poisson", "normal_each", "rand_like", "randn_like"])
def test_floats(kind, dtype):
    for shape in SHAPES:
        check(lambda m, shape=shape: draws(m, kind, shape, dtype))


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("kind", ["randint", "random_", "random_to", "bernoulli_", "geometric_"])
def test_integers(kind, dtype):
    for shape in SHAPES:
        check(lambda m, shape=shape: draws(m, kind, shape, dtype))


@pytest.mark.parametrize("kind", ["rand", "randn"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex(kind, dtype):
    for shape in SHAPES:
        torch.manual_seed(7)
        ut.manual_seed(7)
        want, got = draws(torch, kind, shape, dtype), draws(ut, kind, shape, dtype)
        assert torch.view_as_real(want).flatten().tolist() == pytest.approx(ut.view_as_real(got).flatten().tolist(), rel=1e-6)


@pytest.mark.parametrize("geometry", [((4, 5), (1, 4)), ((6, 7), (14, 2)), ((3, 4, 5), (1, 15, 3)), ((17,), (2,)), ((3, 1, 4), (4, 100, 1))])
@pytest.mark.parametrize("draw", ["uniform_", "normal_", "exponential_", "bernoulli_", "random_"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_strided_memory(draw, geometry, dtype):
    check(lambda m: getattr(m.as_strided(m.zeros(500, dtype=getattr(m, dtype)), *geometry), draw)())


@pytest.mark.parametrize("n", [0, 1, 5, 100, 1000])
def test_permutations(n):
    for dtype in ["int64", "int32", "float32"]:
        check(lambda m, dtype=dtype: m.randperm(n, dtype=getattr(m, dtype)))


@pytest.mark.parametrize("bounds", [(0, 1), (-100, 100), (0, 2**27), (0, 2**28), (0, 2**40), (-(2**62), 2**62)])
def test_ranges_of_integers(bounds):
    check(lambda m: m.randint(*bounds, (50,)))


def test_multinomial():
    for shape in [(9,), (4, 9)]:
        check(lambda m, shape=shape: m.multinomial(m.rand(shape), 3))
        check(lambda m, shape=shape: m.multinomial(m.rand(shape), 5, replacement=True))
