"""Densities, moments, entropies and distribution functions match SciPy; their derivatives agree with finite differences."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.stats as st
from scipy_families import CONTINUOUS, DISCRETE, Integrated, build, oracle, ours, parameters

import undertow as ut

LEVELS = np.array([[0.02], [0.2], [0.5], [0.77], [0.98]])


def points(name: str) -> np.ndarray:
    """Values from the whole support, spaced by probability."""
    x = oracle(name).ppf(LEVELS)
    if name == "VonMises":
        x = (x + np.pi) % (2 * np.pi) - np.pi
    return np.maximum(x, 1e-12) if name in ("Gamma", "Chi2") else x


def log_density(name: str, x: np.ndarray) -> np.ndarray:
    return oracle(name).logpdf(x) if name in CONTINUOUS else oracle(name).logpmf(x)


@pytest.mark.parametrize("name", [*CONTINUOUS, *DISCRETE])
def test_log_prob_matches_scipy(name):
    x = points(name)
    np.testing.assert_allclose(ours(name).log_prob(ut.tensor(x)).numpy(), log_density(name, x), rtol=1e-8, atol=1e-9)
    single = ours(name, ut.float32).log_prob(ut.tensor(x.astype("float32")))
    assert single.dtype is ut.float32
    np.testing.assert_allclose(single.numpy(), log_density(name, x.astype("float32").astype("float64")), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("name", [n for n in (*CONTINUOUS, *DISCRETE) if n not in ("VonMises", "RelaxedBernoulli")])
def test_mean_and_variance_match_scipy(name):
    p, q = ours(name), oracle(name)
    mean, variance = q.mean(), q.var()
    if name in ("Cauchy", "HalfCauchy"):  # the integrals diverge: the mean's at both ends, or at one
        mean, variance = np.full(3, np.nan if name == "Cauchy" else np.inf), np.full(3, np.inf)
    if name == "StudentT":
        variance = np.array([q.var()[0], q.var()[1], np.inf])  # 2 > df > 1
    np.testing.assert_allclose(p.mean.numpy(), mean, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(p.variance.numpy(), variance, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(p.stddev.numpy(), np.sqrt(variance), rtol=1e-7, atol=1e-10)


def test_moments_on_the_circle():
    p = ours("VonMises")
    assert p.mean.tolist() == [-1.0, 0.0, 2.0]
    from scipy import special

    kappa = np.array([0.3, 1.5, 2.0])
    np.testing.assert_allclose(p.variance.numpy(), 1 - special.i1(kappa) / special.i0(kappa), rtol=1e-5)


WITHOUT_ENTROPY = ("Poisson", "NegativeBinomial", "FisherSnedecor", "VonMises", "RelaxedBernoulli", "Binomial of many")


@pytest.mark.parametrize("name", [n for n in (*CONTINUOUS, *DISCRETE) if n not in WITHOUT_ENTROPY])
def test_entropy_matches_scipy(name):
    np.testing.assert_allclose(ours(name).entropy().numpy(), oracle(name).entropy(), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", ["Poisson", "NegativeBinomial", "FisherSnedecor", "VonMises", "RelaxedBernoulli"])
def test_entropy_without_a_closed_form_is_not_offered(name):
    with pytest.raises(NotImplementedError):
        ours(name).entropy()


WITH_CDF = [n for n in CONTINUOUS if n not in ("StudentT", "Chi2", "Beta", "FisherSnedecor", "VonMises", "InverseGamma", "RelaxedBernoulli")]


@pytest.mark.parametrize("name", ["Chi2", *WITH_CDF])
def test_the_cdf_matches_scipy(name):
    x = points(name)
    np.testing.assert_allclose(ours(name).cdf(ut.tensor(x)).numpy(), LEVELS + np.zeros(3), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", [n for n in WITH_CDF if n not in ("Gamma", "Chi2")])
def test_the_quantile_function_matches_scipy(name):
    u = ut.tensor(LEVELS + np.zeros(3))
    np.testing.assert_allclose(ours(name).icdf(u).numpy(), points(name), rtol=1e-7, atol=1e-8)


MODES = ["Normal", "Exponential", "Laplace", "LogNormal", "HalfNormal", "HalfCauchy", "Cauchy", "Gumbel", "StudentT", "GeneralizedPareto", "InverseGamma",
         "Pareto", "VonMises", "Binomial", "Geometric", "Poisson", "NegativeBinomial"]  # fmt: skip


@pytest.mark.parametrize("name", MODES)
def test_nothing_is_more_likely_than_the_mode(name):
    p = ours(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        at_mode = log_density(name, p.mode.numpy())
    assert np.isfinite(at_mode).all()
    assert (log_density(name, points(name)) <= at_mode + 1e-9).all()


@pytest.mark.parametrize("name", [*CONTINUOUS, *DISCRETE])
def test_the_derivative_of_log_prob_agrees_with_differences(name):
    given = parameters(name, requires_grad=True)
    tensors = [v for v in (given.values() if isinstance(given, dict) else given) if isinstance(v, ut.Tensor)]
    x = ut.tensor(points(name))
    if name in ("Uniform", "Pareto", "GeneralizedPareto"):  # their support depends on the parameters: stay away from its ends
        x = x[1:4]

    def f(*tensors):
        left = iter(tensors)
        if isinstance(given, dict):
            return build(name, {k: next(left) for k in given}).log_prob(x)
        return build(name, [next(left) if isinstance(v, ut.Tensor) else v for v in given]).log_prob(x)

    if name == "GeneralizedPareto":  # the formula for a concentration of zero does not depend on it
        tensors[2] = tensors[2].detach()
    assert ut.autograd.gradcheck(f, tensors, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["Normal", "Laplace", "Gamma", "Beta", "Exponential", "Gumbel", "Weibull", "InverseGamma", "Bernoulli", "Geometric"])
def test_the_derivative_of_entropy_agrees_with_differences(name):
    assert ut.autograd.gradcheck(lambda *p: build(name, p).entropy(), parameters(name, requires_grad=True))


@pytest.mark.parametrize("name", ["Normal", "LogNormal", "Exponential", "Laplace", "Cauchy", "Gumbel", "Weibull", "Kumaraswamy"])
def test_densities_can_be_differentiated_twice(name):
    x = ut.tensor(points(name)[[1, 3]])  # not the median, where Laplace has a corner
    assert ut.autograd.gradgradcheck(lambda *p: build(name, p).log_prob(x), parameters(name, requires_grad=True), atol=1e-4)


def test_a_mixture_weighs_the_distribution_functions_of_its_parts():
    import undertow.distributions as d

    weights, loc = ut.tensor([0.2, 0.8]).double(), ut.tensor([-1.0, 2.0]).double()
    mixture = d.MixtureSameFamily(d.Categorical(weights), d.Normal(loc, ut.ones(2).double()))
    x = np.array([0.0, 1.5])
    parts = lambda f: 0.2 * f(x, -1.0) + 0.8 * f(x, 2.0)
    np.testing.assert_allclose(mixture.cdf(ut.tensor(x)).numpy(), parts(st.norm.cdf), rtol=1e-10)
    np.testing.assert_allclose(mixture.log_prob(ut.tensor(x)).numpy(), np.log(parts(st.norm.pdf)), rtol=1e-10)
    assert mixture.mean.item() == pytest.approx(0.2 * -1 + 0.8 * 2) and mixture.variance.item() == pytest.approx(1 + 0.16 * 9)


def test_the_integrated_oracle_agrees_with_one_that_is_known():
    known, q = st.beta(2.0, 3.0), Integrated([st.beta(2.0, 3.0).pdf])
    assert q.mean()[0] == pytest.approx(known.mean()) and q.var()[0] == pytest.approx(known.var()) and q.entropy()[0] == pytest.approx(known.entropy())
    assert q.ppf(np.array([[0.3]]))[0, 0] == pytest.approx(known.ppf(0.3))
