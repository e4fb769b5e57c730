"""Random operators under vmap: an error, the same numbers for every sample, or different ones. Also runs on torch."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow import vmap

X = ut.zeros(3, 4)

FACTORIES = {
    "rand": lambda a: ut.rand(4),
    "randn": lambda a: ut.randn(2, 4),
    "randint": lambda a: ut.randint(0, 1000000, (4,)),
    "randperm": lambda a: ut.randperm(50),
    "normal": lambda a: ut.normal(0.0, 1.0, (4,)),
    "rand_like": lambda a: ut.rand_like(a),
    "randint_like": lambda a: ut.randint_like(a, 1000000),
    "uniform_": lambda a: a.clone().uniform_(),
    "normal_": lambda a: a.clone().normal_(),
}
FROM_SAMPLES = {
    "bernoulli": lambda a: (a + 0.5).expand(40, 4).bernoulli(),
    "multinomial": lambda a: ut.multinomial(a + 1.0, 30, replacement=True),
    "normal of tensors": lambda a: ut.normal(a, ut.ones(4)),
    "poisson": lambda a: ut.poisson((a + 3.0).expand(10, 4)),
}


@pytest.mark.parametrize("name", {**FACTORIES, **FROM_SAMPLES})
def test_random_operators_raise_by_default(name):
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        vmap({**FACTORIES, **FROM_SAMPLES}[name])(X)


@pytest.mark.parametrize("name", FACTORIES)
def test_the_same_randomness_draws_once(name):
    got = vmap(FACTORIES[name], randomness="same")(X)
    assert bool((got == got[0]).all())


@pytest.mark.parametrize("name", {**FACTORIES, **FROM_SAMPLES})
def test_different_randomness_draws_for_each_sample(name):
    ut.manual_seed(3)
    got = vmap({**FACTORIES, **FROM_SAMPLES}[name], randomness="different")(X)
    assert got.shape[0] == 3
    assert not bool((got[0] == got[1]).all()) and not bool((got[1] == got[2]).all())


@pytest.mark.parametrize("name", ["bernoulli", "multinomial", "poisson"])
def test_the_same_randomness_cannot_draw_from_different_distributions(name):
    with pytest.raises(RuntimeError, match="same randomness with a batched tensor input"):
        vmap(FROM_SAMPLES[name], randomness="same")(X)


def test_different_randomness_cannot_be_written_to_one_place():
    with pytest.raises(RuntimeError, match="Cannot ask for different inplace randomness on an unbatched tensor"):
        vmap(lambda a: ut.zeros(2).uniform_(), randomness="different")(X)


def test_an_outer_map_decides_for_what_an_inner_one_shares():
    got = vmap(vmap(lambda a: ut.rand(2) + a * 0, randomness="same"), randomness="different")(ut.zeros(2, 3, 2))
    assert bool((got == got[:, :1]).all()) and not bool((got[0] == got[1]).all())
    got = vmap(vmap(lambda a: ut.rand(2) + a * 0, randomness="different"), randomness="same")(ut.zeros(2, 3, 2))
    assert bool((got == got[:1]).all()) and not bool((got[0, 0] == got[0, 1]).all())


def test_chunks_with_the_same_randomness_draw_the_same():
    got = vmap(lambda a: ut.rand(4) + a, randomness="same", chunk_size=2)(X)
    assert bool((got == got[0]).all())


def test_a_given_generator_is_used():
    g, h = ut.Generator(), ut.Generator()
    g.manual_seed(5)
    h.manual_seed(5)
    got = vmap(lambda a: ut.rand(4, generator=g), randomness="different")(X)
    assert bool((got == ut.rand(3, 4, generator=h)).all())
