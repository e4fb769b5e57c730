"""Random numbers: generators and their states, versions and gradients of in-place draws, errors."""

import pytest

import undertow as ut


def test_a_seed_starts_the_same_stream():
    ut.manual_seed(3)
    first = ut.rand(5).tolist(), ut.randn(20).tolist(), ut.randint(0, 9, (4,)).tolist()
    ut.manual_seed(3)
    assert first == (ut.rand(5).tolist(), ut.randn(20).tolist(), ut.randint(0, 9, (4,)).tolist())
    assert ut.initial_seed() == 3


def test_a_state_is_restored():
    state = ut.get_rng_state()
    first = ut.rand(3).tolist()
    ut.set_rng_state(state)
    assert ut.rand(3).tolist() == first


def test_fork_rng_leaves_the_stream_where_it_was():
    ut.manual_seed(1)
    want = ut.rand(3).tolist()
    ut.manual_seed(1)
    with ut.random.fork_rng():
        ut.rand(100)
    assert ut.rand(3).tolist() == want


def test_generators_are_independent():
    a, b = ut.Generator().manual_seed(5), ut.Generator().manual_seed(5)
    ut.manual_seed(0)
    before = ut.get_rng_state().tolist()
    assert ut.rand(4, generator=a).tolist() == ut.rand(4, generator=b).tolist()
    assert ut.get_rng_state().tolist() == before
    c = a.clone_state()
    assert ut.randn(3, generator=a).tolist() == ut.randn(3, generator=c).tolist()


def test_seeds_wrap_and_overflow():
    assert ut.Generator().manual_seed(-1).initial_seed() == 2**64 - 1
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        ut.manual_seed(2**64)


def test_in_place_draws_bump_the_version_and_cut_the_gradient():
    x = ut.ones(3)
    for draw in (x.uniform_, x.normal_, x.exponential_, x.cauchy_, x.log_normal_, x.random_, x.bernoulli_):
        before = x._version
        draw()
        assert x._version == before + 1
    leaf = ut.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        leaf.normal_()
    copy = leaf.clone().uniform_()
    assert copy.grad_fn.name() == "UniformBackward0"
    copy.sum().backward()
    assert leaf.grad.tolist() == [0.0] * 3


def test_strided_memory_is_filled_once_and_nothing_else_is_written():
    base = ut.zeros(20)
    ut.as_strided(base, (3, 2), (6, 2)).uniform_(1, 2)
    touched = {0, 2, 6, 8, 12, 14}
    assert all((v >= 1) == (i in touched) for i, v in enumerate(base.tolist()))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda z: z.uniform_(1, 0), "uniform_ expects to return"),
        (lambda z: z.normal_(0, -1), "normal expects std >= 0.0"),
        (lambda z: z.bernoulli_(2.0), "bernoulli_ expects p to be in"),
        (lambda z: z.exponential_(0), "exponential_ expects lambda > 0.0"),
        (lambda z: z.geometric_(1.5), "geometric_ expects p to be in"),
        (lambda z: z.random_(3, 2), "random_ expects 'from' to be less than 'to'"),
        (lambda z: z.expand(2, 3).uniform_(), "more than one element of the written-to tensor"),
        (lambda z: ut.multinomial(z, 1), "invalid multinomial distribution"),
        (lambda z: ut.randint(0, 300, (2,), dtype=ut.uint8), "to - 1 is out of bounds for unsigned char"),
        (lambda z: ut.poisson(z - 1), "invalid Poisson rate"),
    ],
)
def test_errors_match_torch(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(ut.zeros(3))


def test_a_permutation_has_every_index_once():
    assert sorted(ut.randperm(100).tolist()) == list(range(100))


def test_multinomial_draws_only_indices_with_weight():
    picked = ut.multinomial(ut.tensor([0.0, 1.0, 0.0, 2.0]), 2)
    assert sorted(picked.tolist()) == [1, 3]
    assert set(ut.multinomial(ut.tensor([0.0, 1.0, 0.0, 2.0]), 50, replacement=True).tolist()) == {1, 3}


@pytest.mark.parametrize("shape", [(0,), (3, 0)])
def test_multinomial_of_no_categories_raises(shape):
    with pytest.raises(RuntimeError, match=r"sum of probabilities <= 0"):
        ut.rand(shape).multinomial(2, replacement=True)
