"""Distributions that libraries derive from ours: `expand` fills the given instance, and transformed distributions are of that class."""

from __future__ import annotations

import pytest

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
def test_expand_fills_the_instance_it_is_given(name):
    made = MAKERS[name](ut)
    given = type(made).__new__(type(made))
    grown = made.expand((5, 3), _instance=given)
    assert grown is given and tuple(grown.batch_shape) == (5, 3) and grown.event_shape == made.event_shape
    assert grown.sample().shape[:2] == (5, 3)
    if name not in ("Independent",):
        assert grown.log_prob(made.sample()).shape == (5, 3)


def test_a_class_with_another_init_must_say_how_it_expands():
    class Mine(ut.distributions.Normal):
        def __init__(self, loc):
            super().__init__(loc, 1.0)

    with pytest.raises(NotImplementedError, match="must also define a custom .expand"):
        Mine(ut.zeros(2))._get_checked_instance(ut.distributions.Normal)
    given = object()
    assert Mine(ut.zeros(2))._get_checked_instance(ut.distributions.Normal, given) is given


@pytest.mark.parametrize("name", ["LogNormal", "HalfNormal", "HalfCauchy", "Weibull"])
def test_a_transformed_distribution_is_an_instance_of_its_class(name):
    made = MAKERS[name](ut)
    assert isinstance(made, ut.distributions.TransformedDistribution)
    assert made.transforms and made.base_dist.batch_shape == made.batch_shape
    assert made.expand((2, 3)).transforms == made.transforms


def test_a_parameter_whose_constraint_depends_on_others_is_not_checked():
    class Delta(ut.distributions.Distribution):
        arg_constraints = {"v": ut.distributions.constraints.dependent}

        def __init__(self, v):
            self.v = v
            super().__init__(v.shape, validate_args=True)

    assert Delta(ut.ones(2)).v.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("name", ["HalfCauchy", "HalfNormal", "LogNormal", "Exponential"])
def test_a_parameter_that_a_base_holds_is_checked(name):
    arguments = (ut.zeros(2), ut.tensor([1.0, -1.0])) if name == "LogNormal" else (ut.tensor([1.0, -1.0]),)
    with pytest.raises(ValueError, match="to satisfy the constraint"):
        getattr(ut.distributions, name)(*arguments, validate_args=True)
    getattr(ut.distributions, name)(*arguments, validate_args=False)


def test_the_public_constraints_match_torch(same_as_torch):
    same_as_torch(lambda L: sorted(L.distributions.constraints.__all__))


def test_helpers_that_libraries_import():
    normal = ut.distributions.utils._standard_normal((2,), ut.float32, "cpu")
    assert normal.shape == (2,) and ut.distributions.utils._sum_rightmost(ut.ones(2, 3, 4), 2).tolist() == [12.0, 12.0]


def test_values_out_of_range_raise():
    with pytest.raises(ValueError, match="within the support"):
        ut.distributions.Bernoulli(0.5).log_prob(ut.tensor(0.5))
    with pytest.raises(ValueError, match="not broadcastable"):
        ut.distributions.Normal(ut.zeros(3), 1.0).log_prob(ut.zeros(2))
    with pytest.raises(ValueError, match="Either `probs` or `logits`"):
        ut.distributions.Categorical()
    assert ut.distributions.Normal(0.0, 1.0, validate_args=False).log_prob(ut.tensor(float("nan"))).isnan().item()
    with pytest.raises(NotImplementedError, match="Poisson"):
        ut.distributions.Poisson(1.0).rsample()


@pytest.mark.parametrize("name", ["Gumbel", "HalfCauchy", "HalfNormal", "LogNormal", "Weibull"])
def test_transformed_distributions_are_subclasses(name):
    assert issubclass(getattr(ut.distributions, name), ut.distributions.TransformedDistribution)


OUT_OF_RANGE = {
    "Normal": ([0.0], [-1.0]), "Bernoulli": ([1.5],), "Categorical": ([-1.0, 2.0],), "Uniform": ([1.0], [0.0]), "Exponential": ([0.0],), "Dirichlet": ([-1.0, 1.0],),
}  # fmt: skip


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_parameters_out_of_range_raise_as_in_torch(name, same_as_torch):
    def kind(L):
        with pytest.raises(ValueError, match="Expected parameter|Uniform is not defined") as caught:
            getattr(L.distributions, name)(*(L.tensor(v) for v in OUT_OF_RANGE[name]))
        return caught.type.__name__

    same_as_torch(kind)


MATRIX = [[2.0, 0.3], [0.3, 1.0]]
BAD = {
    "no probabilities": lambda d, t: d.Binomial(3),
    "a negative count": lambda d, t: d.Binomial(-1, t([0.5])),
    "more than the count": lambda d, t: d.Binomial(3, t([0.5])).log_prob(t([4.0])),
    "a negative scale": lambda d, t: d.Weibull(t([-1.0]), t([1.0])),
    "one dimension of correlations": lambda d, t: d.LKJCholesky(1),
    "too few degrees of freedom": lambda d, t: d.Wishart(t(0.5), t(MATRIX)),
    "negative counts": lambda d, t: d.Multinomial(3, t([0.5, 0.5])).log_prob(t([-1.0, 4.0])),
    "below the scale": lambda d, t: d.Pareto(t([1.0]), t([2.0])).log_prob(t([0.5])),
    "a number for a vector": lambda d, t: d.LowRankMultivariateNormal(t(0.0), t([[1.0]]), t([1.0])),
    "an object that is not a constraint": lambda d, t: d.transform_to.register(3, d.ExpTransform),
    "shapes of other sizes": lambda d, t: d.ReshapeTransform((2,), (3,)),
    "a dependent constraint": lambda d, t: d.constraints.dependent.check(t([1.0])),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_arguments_raise_as_in_torch(what, same_as_torch):
    def error(L):
        with pytest.raises((ValueError, TypeError, NotImplementedError)) as caught:
            BAD[what](L.distributions, lambda v: L.tensor(v, dtype=L.float64))
        return caught.type.__name__, str(caught.value)[:24]

    same_as_torch(error)


def test_printed_as_torch_prints_it(same_as_torch):
    same_as_torch(lambda L: [repr(L.distributions.Normal(0.0, 1.0)), repr(L.distributions.Normal(L.zeros(2), 1.0))])


def test_a_subclass_of_the_exponential_family_has_its_entropy():
    class Wait(ut.distributions.ExponentialFamily):
        arg_constraints = {}
        _mean_carrier_measure = 0

        def __init__(self, rate):
            self.rate = rate
            super().__init__(rate.shape, validate_args=False)

        _natural_params = property(lambda self: (-self.rate,))

        def _log_normalizer(self, x):
            return -ut.log(-x)

    rate = ut.tensor([0.5, 2.0], dtype=ut.float64)
    ut.testing.assert_close(Wait(rate).entropy(), 1 - rate.log())


FAMILIES = {
    "Bernoulli": ([0.2, 0.7],),
    "Beta": ([0.5, 2.0], [1.5, 3.0]),
    "ContinuousBernoulli": ([0.2, 0.7],),
    "Dirichlet": ([0.5, 2.0],),
    "Exponential": ([0.5, 2.0],),
    "Gamma": ([0.5, 2.0], [1.5, 3.0]),
    "Normal": ([0.5, 2.0], [1.5, 3.0]),
    "Poisson": ([0.5, 2.0],),
    "Wishart": ([4.0, 5.0], MATRIX),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_members_of_the_exponential_family_have_natural_parameters(name, same_as_torch):
    def scenario(L):
        p = getattr(L.distributions, name)(*(L.tensor(v, dtype=L.float64) for v in FAMILIES[name]))
        assert isinstance(p, L.distributions.ExponentialFamily)
        return [*p._natural_params, p._log_normalizer(*p._natural_params)]

    same_as_torch(scenario, rtol=1e-7, atol=1e-9)
