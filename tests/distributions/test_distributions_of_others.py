"""Distributions that libraries derive from ours: `expand` fills the instance it is given, and what is transformed says so."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import undertow as ut

MAKERS = {
    "Normal": lambda lib: lib.distributions.Normal(lib.zeros(3), lib.ones(3)),
    "LogNormal": lambda lib: lib.distributions.LogNormal(lib.zeros(3), lib.ones(3)),
    "HalfNormal": lambda lib: lib.distributions.HalfNormal(lib.ones(3)),
    "HalfCauchy": lambda lib: lib.distributions.HalfCauchy(lib.ones(3)),
    "Gamma": lambda lib: lib.distributions.Gamma(lib.ones(3), lib.ones(3)),
    "Bernoulli": lambda lib: lib.distributions.Bernoulli(lib.full((3,), 0.5)),
    "Categorical": lambda lib: lib.distributions.Categorical(lib.ones(3, 4)),
    "Weibull": lambda lib: lib.distributions.Weibull(lib.ones(3), lib.ones(3)),
    "MultivariateNormal": lambda lib: lib.distributions.MultivariateNormal(lib.zeros(3, 2), lib.eye(2)),
    "Independent": lambda lib: lib.distributions.Independent(lib.distributions.Normal(lib.zeros(3, 2), lib.ones(3, 2)), 1),
    "MixtureSameFamily": lambda lib: lib.distributions.MixtureSameFamily(
        lib.distributions.Categorical(lib.ones(3, 2)), lib.distributions.Normal(lib.zeros(3, 2), lib.ones(3, 2))
    ),
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("lib", [ut, torch], ids=["undertow", "torch"])
def test_expand_fills_the_instance_it_is_given(name, lib):
    made = MAKERS[name](lib)
    given = type(made).__new__(type(made))
    grown = made.expand((5, 3), _instance=given)
    assert grown is given and tuple(grown.batch_shape) == (5, 3) and grown.event_shape == made.event_shape
    assert grown.sample().shape[:2] == (5, 3)
    if name not in ("Independent",):
        assert grown.log_prob(made.sample()).shape == (5, 3)


def test_a_mixture_has_torchs_distribution_function():
    def value(lib):
        probs, loc = lib.tensor([0.2, 0.8]), lib.tensor([-1.0, 2.0])
        mixture = lib.distributions.MixtureSameFamily(lib.distributions.Categorical(probs), lib.distributions.Normal(loc, lib.ones(2)))
        return mixture.cdf(lib.tensor([0.0, 1.5])).tolist()

    assert value(ut) == pytest.approx(value(torch), rel=1e-5)


def test_a_class_with_another_init_must_say_how_it_expands():
    for lib in (ut, torch):
        class Mine(lib.distributions.Normal):
            def __init__(self, loc):
                super().__init__(loc, 1.0)

        with pytest.raises(NotImplementedError, match="must also define a custom .expand"):
            Mine(lib.zeros(2))._get_checked_instance(lib.distributions.Normal)
        given = object()
        assert Mine(lib.zeros(2))._get_checked_instance(lib.distributions.Normal, given) is given


@pytest.mark.parametrize("name", ["LogNormal", "HalfNormal", "HalfCauchy", "Weibull"])
def test_transformed_distributions_are_of_that_class(name):
    for lib in (ut, torch):
        made = MAKERS[name](lib)
        assert isinstance(made, lib.distributions.TransformedDistribution)
        assert made.transforms and made.base_dist.batch_shape == made.batch_shape
        assert made.expand((2, 3)).transforms == made.transforms


def test_a_parameter_whose_constraint_depends_on_others_is_not_checked():
    for lib in (ut, torch):
        class Delta(lib.distributions.Distribution):
            arg_constraints = {"v": lib.distributions.constraints.dependent}

            def __init__(self, v):
                self.v = v
                super().__init__(v.shape, validate_args=True)

        assert Delta(lib.ones(2)).v.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("name", ["HalfCauchy", "HalfNormal", "LogNormal", "Exponential"])
def test_a_parameter_that_a_base_holds_is_checked(name):
    for lib in (ut, torch):
        arguments = (lib.zeros(2), lib.tensor([1.0, -1.0])) if name == "LogNormal" else (lib.tensor([1.0, -1.0]),)
        with pytest.raises(ValueError, match="to satisfy the constraint"):
            getattr(lib.distributions, name)(*arguments, validate_args=True)
        getattr(lib.distributions, name)(*arguments, validate_args=False)


def test_the_public_constraints_are_torchs():
    assert sorted(ut.distributions.constraints.__all__) == sorted(torch.distributions.constraints.__all__)
    normal = ut.distributions.utils._standard_normal((2,), ut.float32, "cpu")
    assert normal.shape == (2,) and ut.distributions.utils._sum_rightmost(ut.ones(2, 3, 4), 2).tolist() == [12.0, 12.0]
