"""Every public attribute of every distribution: it exists here as on PyTorch, and has the same value or raises the same error."""

from __future__ import annotations

import math

import pytest

import undertow as ut
import undertow.distributions as D

MAKERS = {
    "Bernoulli": lambda d, t: d.Bernoulli(t([0.2, 0.5, 0.3])),
    "Beta": lambda d, t: d.Beta(t([1.5, 2.0]), t([2.0, 3.0])),
    "Binomial": lambda d, t: d.Binomial(4, t([0.2, 0.5])),
    "Categorical": lambda d, t: d.Categorical(t([0.2, 0.5, 0.3])),
    "Cauchy": lambda d, t: d.Cauchy(t([0.0, 1.0]), t([1.0, 2.0])),
    "Chi2": lambda d, t: d.Chi2(t([3.0, 4.0])),
    "ContinuousBernoulli": lambda d, t: d.ContinuousBernoulli(t([0.2, 0.5])),
    "Dirichlet": lambda d, t: d.Dirichlet(t([1.5, 2.0, 3.0])),
    "Dirichlet, some below 1": lambda d, t: d.Dirichlet(t([[0.5, 0.6, 0.7], [1.0, 1.0, 1.0], [0.5, 0.5, 3.0]])),
    "Exponential": lambda d, t: d.Exponential(t([0.2, 0.5])),
    "FisherSnedecor": lambda d, t: d.FisherSnedecor(t([3.0, 5.0]), t([5.0, 7.0])),
    "Gamma": lambda d, t: d.Gamma(t([0.5, 2.0]), t([1.0, 2.0])),
    "GeneralizedPareto": lambda d, t: d.GeneralizedPareto(t(0.0), t(1.0), t(0.2)),
    "Geometric": lambda d, t: d.Geometric(t([0.2, 0.5])),
    "Gumbel": lambda d, t: d.Gumbel(t(0.0), t(2.0)),
    "HalfCauchy": lambda d, t: d.HalfCauchy(t(1.0)),
    "HalfNormal": lambda d, t: d.HalfNormal(t(2.0)),
    "Independent": lambda d, t: d.Independent(d.Bernoulli(t([[0.2, 0.5]])), 1),
    "Independent of nothing": lambda d, t: d.Independent(d.Bernoulli(t([[0.2, 0.5]])), 0),
    "InverseGamma": lambda d, t: d.InverseGamma(t([3.0, 4.0]), t([1.0, 2.0])),
    "Kumaraswamy": lambda d, t: d.Kumaraswamy(t([2.0, 0.5]), t([3.0, 0.7])),
    "LKJCholesky": lambda d, t: d.LKJCholesky(3, t(0.7)),
    "Laplace": lambda d, t: d.Laplace(t(0.0), t(2.0)),
    "LogNormal": lambda d, t: d.LogNormal(t(0.0), t(0.5)),
    "LogisticNormal": lambda d, t: d.LogisticNormal(t([0.0, 1.0]), t([1.0, 0.5])),
    "LowRankMultivariateNormal": lambda d, t: d.LowRankMultivariateNormal(t([0.0, 1.0]), t([[1.0], [0.5]]), t([1.0, 2.0])),
    "MixtureSameFamily": lambda d, t: d.MixtureSameFamily(d.Categorical(t([0.2, 0.8])), d.Normal(t([0.0, 1.0]), t([1.0, 2.0]))),
    "Multinomial": lambda d, t: d.Multinomial(5, t([[0.2, 0.5, 0.3], [0.3, 0.3, 0.4]])),
    "MultivariateNormal": lambda d, t: d.MultivariateNormal(t([0.0, 1.0]), t([[2.0, 0.3], [0.3, 1.0]])),
    "NegativeBinomial": lambda d, t: d.NegativeBinomial(t([3.0, 0.5]), t([0.2, 0.5])),
    "Normal": lambda d, t: d.Normal(t(0.0), t(2.0)),
    "OneHotCategorical": lambda d, t: d.OneHotCategorical(t([0.2, 0.5, 0.3])),
    "OneHotCategoricalStraightThrough": lambda d, t: d.OneHotCategoricalStraightThrough(t([0.2, 0.5, 0.3])),
    "Pareto": lambda d, t: d.Pareto(t(1.0), t(3.0)),
    "Poisson": lambda d, t: d.Poisson(t([1.0, 2.5])),
    "RelaxedBernoulli": lambda d, t: d.RelaxedBernoulli(t(0.5), t([0.2, 0.5])),
    "RelaxedOneHotCategorical": lambda d, t: d.RelaxedOneHotCategorical(t(0.5), t([0.2, 0.5, 0.3])),
    "StudentT": lambda d, t: d.StudentT(t([3.0, 1.5])),
    "TransformedDistribution": lambda d, t: d.TransformedDistribution(d.Normal(t(0.0), t(1.0)), [d.ExpTransform()]),
    "Uniform": lambda d, t: d.Uniform(t([0.0, 1.0]), t([2.0, 4.0])),
    "VonMises": lambda d, t: d.VonMises(t(0.5), t(2.0)),
    "Weibull": lambda d, t: d.Weibull(t(2.0), t(1.5)),
    "Wishart": lambda d, t: d.Wishart(t(4.0), t([[2.0, 0.3], [0.3, 1.0]])),
}
CALLED = ("entropy", "enumerate_support", "perplexity")  # those that need no argument and draw nothing
DIFFERENT = {
    ("Kumaraswamy", "mode"),  # torch takes the logarithm of a negative number there, and gives NaN where a mode exists
    ("Geometric", "param_shape"),  # here as in the other families of probabilities
}


def told(value):
    """What can be compared between libraries: objects by their class or their text, without the digits of tensors."""
    if isinstance(value, dict):
        return {k: type(v).__name__.strip("_") for k, v in value.items()}
    if isinstance(value, (list, bool, int, float, str)) or value is None or (hasattr(value, "detach") and hasattr(value, "dtype")):
        return [type(v).__name__ for v in value] if isinstance(value, list) else value
    return list(value) if isinstance(value, tuple) else type(value).__name__.strip("_")


def attributes(library, name: str) -> dict:
    made = MAKERS[name](library.distributions, lambda v: library.tensor(v, dtype=library.float64))
    found = {}
    for attribute in sorted(dir(made)):
        if attribute.startswith("_") or (name, attribute) in DIFFERENT:
            continue
        try:
            value = getattr(made, attribute)
            found[attribute] = told(value() if attribute in CALLED else value)
        except NotImplementedError:
            found[attribute] = "not implemented"
    return found


@pytest.mark.parametrize("name", MAKERS)
def test_every_attribute_is_torchs(name, same_as_torch):
    same_as_torch(lambda L: attributes(L, name))


def test_every_distribution_is_compared():
    d = ut.distributions
    concrete = {n for n in d.__all__ if isinstance(getattr(d, n), type) and issubclass(getattr(d, n), d.Distribution)}
    assert concrete - {"Distribution", "ExponentialFamily"} == {n.split(",")[0].split(" ")[0] for n in MAKERS}


def test_the_entropy_of_counts_has_the_precision_of_its_dtype():
    p = [0.2, 0.5, 0.3]
    exact = -sum(
        w * math.log(w)
        for a in range(6)
        for b in range(6 - a)
        for w in [math.factorial(5) / (math.factorial(a) * math.factorial(b) * math.factorial(5 - a - b)) * p[0] ** a * p[1] ** b * p[2] ** (5 - a - b)]
    )
    found = ut.distributions.Multinomial(5, ut.tensor(p, dtype=ut.float64)).entropy().item()
    assert abs(found - exact) < 1e-13


def test_a_mixture_rejects_values_outside_its_support(same_as_torch):
    def rejected(L):
        d = L.distributions
        mixed = d.MixtureSameFamily(d.Categorical(logits=L.zeros(2)), d.Exponential(L.ones(2)))
        with pytest.raises(ValueError, match="within the support") as caught:
            mixed.log_prob(L.tensor(-1.0))
        return [repr(mixed), repr(mixed.support), caught.type.__name__, mixed.log_prob(x=L.tensor(1.0)), mixed.cdf(x=L.tensor(1.0))]

    same_as_torch(rejected)


@pytest.mark.parametrize("name", [n for n in MAKERS if n not in ("VonMises", "Wishart")])  # these look at elements
def test_draws_and_densities_are_on_the_device_of_the_parameters(name, monkeypatch):
    monkeypatch.setattr(ut.distributions.Distribution, "_validate_args", False)  # which would look at elements too
    made = MAKERS[name](ut.distributions, lambda v: ut.tensor(v, dtype=ut.float64, device="meta"))
    drawn = made.rsample((2,)) if made.has_rsample else made.sample((2,))
    assert drawn.is_meta and drawn.shape == (2, *made.batch_shape, *made.event_shape)
    assert made.log_prob(drawn).is_meta


def test_arguments_are_checked_inside_vmap_for_all_samples():
    D = ut.distributions
    x = ut.tensor([[0.2, 0.5], [0.3, 0.4]])
    assert ut.vmap(lambda s: D.Normal(s, s).log_prob(s))(x).equal(D.Normal(x, x).log_prob(x))
    assert ut.vmap(ut.vmap(lambda s: D.Geometric(s).log_prob(ut.tensor(1.0))))(x).equal(D.Geometric(x).log_prob(ut.tensor(1.0)))
    covariance = ut.vmap(lambda s: D.MultivariateNormal(s, ut.diag(s)).log_prob(s))(x)
    assert ut.allclose(covariance, D.MultivariateNormal(x, ut.diag_embed(x)).log_prob(x))
    wishart = ut.vmap(lambda s: D.Wishart(s[0] + 2, ut.diag(s)).log_prob(ut.diag(s)))(x)
    assert ut.allclose(wishart, D.Wishart(x[:, 0] + 2, ut.diag_embed(x)).log_prob(ut.diag_embed(x)))
    with pytest.raises(ValueError, match="Expected parameter scale"):
        ut.vmap(lambda s: D.Normal(0.0, s).loc)(ut.tensor([1.0, -1.0]))
    with pytest.raises(ValueError, match="within the support"):
        ut.vmap(lambda s: D.Exponential(1.0).log_prob(s))(ut.tensor([1.0, -1.0]))


def test_the_mode_of_beta_where_concentrations_are_below_one():
    found = [D.Beta(ut.tensor(a), ut.tensor(b)).mode.item() for a, b in [(0.5, 0.5), (2.0, 0.5), (0.5, 2.0), (2.0, 3.0)]]
    assert found == pytest.approx([1.0, 1.0, 0.0, 1 / 3])


def test_what_depends_on_the_parameters_is_not_known_on_the_class():
    for name in ("is_discrete", "event_dim"):
        with pytest.raises(NotImplementedError, match="cannot be determined statically"):
            getattr(D.constraints.dependent, name)
    assert D.constraints.dependent(event_dim=1).event_dim == 1


def test_parts_of_composed_distributions_are_checked():
    components = D.Normal(ut.zeros(2), ut.ones(2))
    with pytest.raises(ValueError, match="needs to be an  instance of torch.distributions.Categorical"):
        D.MixtureSameFamily(components, components)
    with pytest.raises(ValueError, match="transforms must be a Transform or list, but was 3"):
        D.TransformedDistribution(components, 3)


@pytest.mark.parametrize(("family", "event_dim", "is_discrete"), [("Categorical", 0, True), ("Uniform", 0, False), ("Independent", None, None)])
def test_the_support_of_a_family_says_what_does_not_depend_on_parameters(family, event_dim, is_discrete):
    support = getattr(D, family).support
    if event_dim is None:
        with pytest.raises(NotImplementedError, match="cannot be determined statically"):
            support.event_dim  # noqa: B018
    else:
        assert (support.event_dim, support.is_discrete) == (event_dim, is_discrete)
