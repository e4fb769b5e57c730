"""Divergences are E_p[log p - log q]: by quadrature of SciPy's densities, by sums over outcomes, or by matrices in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as st

import undertow as ut
import undertow.distributions as d

t = lambda v: ut.tensor(np.asarray(v, dtype="float64"))
MATRIX = np.array([[2.0, 0.3], [0.3, 1.0]])


class ContinuousBernoulli:
    """What SciPy lacks: the density, and its support."""

    def __init__(self, p):
        self.p, self.constant = p, 2 * np.arctanh(1 - 2 * p) / (1 - 2 * p)

    def support(self):
        return 0.0, 1.0

    def logpdf(self, x):
        inside = (x >= 0) & (x <= 1)
        return np.where(inside, np.log(self.constant) + x * np.log(self.p) + (1 - x) * np.log(1 - self.p), -np.inf)


# Ours with two elements, and SciPy's, for the first element.
FAMILIES = {
    "Bernoulli": (d.Bernoulli(t([0.3, 0.6])), st.bernoulli(0.3)),
    "Beta": (d.Beta(t([0.5, 2.0]), t([1.5, 3.0])), st.beta(0.5, 1.5)),
    "Binomial": (d.Binomial(5, t([0.3, 0.6])), st.binom(5, 0.3)),
    "Cauchy": (d.Cauchy(t([0.0, 1.0]), t([1.0, 2.0])), st.cauchy(0.0, 1.0)),
    "ContinuousBernoulli": (d.ContinuousBernoulli(t([0.3, 0.6])), ContinuousBernoulli(0.3)),
    "Exponential": (d.Exponential(t([0.5, 2.0])), st.expon(scale=2.0)),
    "Gamma": (d.Gamma(t([0.5, 2.0]), t([1.5, 3.0])), st.gamma(0.5, scale=1 / 1.5)),
    "Geometric": (d.Geometric(t([0.3, 0.6])), st.geom(0.3, loc=-1)),
    "Gumbel": (d.Gumbel(t([0.0, 1.0]), t([1.0, 2.0])), st.gumbel_r(0.0, 1.0)),
    "HalfNormal": (d.HalfNormal(t([0.5, 2.0])), st.halfnorm(scale=0.5)),
    "Laplace": (d.Laplace(t([0.0, 1.0]), t([1.0, 2.0])), st.laplace(0.0, 1.0)),
    "Normal": (d.Normal(t([0.1, 0.6]), t([1.5, 2.0])), st.norm(0.1, 1.5)),
    "Pareto": (d.Pareto(t([1.0, 2.0]), t([3.0, 4.0])), st.pareto(3.0, scale=1.0)),
    "Poisson": (d.Poisson(t([0.5, 2.0])), st.poisson(0.5)),
    "Uniform": (d.Uniform(t([0.1, 1.2]), t([0.9, 1.9])), st.uniform(0.1, 0.8)),
}
# A second member of each family, to diverge from.
OTHERS = {
    "Bernoulli": (d.Bernoulli(t([0.2])), st.bernoulli(0.2)),
    "Beta": (d.Beta(t([1.2]), t([0.8])), st.beta(1.2, 0.8)),
    "Binomial": (d.Binomial(5, t([0.4])), st.binom(5, 0.4)),
    "Cauchy": (d.Cauchy(t([0.5]), t([2.0])), st.cauchy(0.5, 2.0)),
    "ContinuousBernoulli": (d.ContinuousBernoulli(t([0.7])), ContinuousBernoulli(0.7)),
    "Exponential": (d.Exponential(t([1.25])), st.expon(scale=0.8)),
    "Gamma": (d.Gamma(t([1.2]), t([0.7])), st.gamma(1.2, scale=1 / 0.7)),
    "Geometric": (d.Geometric(t([0.5])), st.geom(0.5, loc=-1)),
    "Gumbel": (d.Gumbel(t([0.4]), t([1.5])), st.gumbel_r(0.4, 1.5)),
    "HalfNormal": (d.HalfNormal(t([1.5])), st.halfnorm(scale=1.5)),
    "Laplace": (d.Laplace(t([0.7]), t([1.5])), st.laplace(0.7, 1.5)),
    "Normal": (d.Normal(t([-0.4]), t([1.1])), st.norm(-0.4, 1.1)),
    "Pareto": (d.Pareto(t([0.8]), t([2.5])), st.pareto(2.5, scale=0.8)),
    "Poisson": (d.Poisson(t([1.25])), st.poisson(1.25)),
    "Uniform": (d.Uniform(t([0.0]), t([1.5])), st.uniform(0.0, 1.5)),
}


def outcomes(q) -> np.ndarray:
    low, high = q.support()
    return np.arange(low, min(high, 400) + 1)


def divergence(p, q) -> float:
    """E_p[log p - log q]; infinite where q gives no weight to something that p does, and None where one is discrete and one is not."""
    discrete = [hasattr(x, "logpmf") and hasattr(x.dist, "pmf") for x in (p, q) if not isinstance(x, ContinuousBernoulli)] or [False]
    if any(discrete):
        if not (len(discrete) == 2 and all(discrete)):
            return None
        x = outcomes(p)
        weight = p.pmf(x)
        with np.errstate(divide="ignore"):
            gap = p.logpmf(x) - q.logpmf(x)
        return float("inf") if np.isinf(gap[weight > 1e-300]).any() else float(np.sum(weight[weight > 0] * gap[weight > 0]))
    (low, high), (other_low, other_high) = p.support(), q.support()
    if low < other_low - 1e-12 or high > other_high + 1e-12:
        return float("inf")

    # Gauss and Legendre on pieces that are finer towards an end where a density may be infinite.
    if np.isfinite(low) and np.isfinite(high):
        edges = np.concatenate([low + (high - low) * np.geomspace(1e-22, 0.5, 60), high - (high - low) * np.geomspace(0.5, 1e-14, 40)[1:]])
    elif np.isfinite(low):
        edges = low + np.concatenate([np.geomspace(1e-22, 1.0, 50), np.geomspace(1.0, 1e6, 60)[1:]])
    else:
        edges = np.concatenate([-np.geomspace(1e7, 1e-3, 120), np.geomspace(1e-3, 1e7, 120)])
    nodes, weights = np.polynomial.legendre.leggauss(30)
    half = np.diff(edges)[:, None] / 2
    x = (edges[:-1, None] + half * (1 + nodes)).ravel()
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        log_p = p.logpdf(x)
        f = np.exp(log_p) * (log_p - q.logpdf(x))
    return float(((half * weights).ravel() * np.where(np.isfinite(f), f, 0.0)).sum())


def check(ours_p, ours_q, p, q) -> bool:
    """Whether there is a formula; if there is one, it must be right."""
    try:
        value = d.kl_divergence(ours_p, ours_q)[0].item()
    except NotImplementedError:
        return False
    assert value == pytest.approx(divergence(p, q), rel=2e-5, abs=1e-8)
    return True


@pytest.mark.parametrize("name", FAMILIES)
def test_divergences_within_a_family_are_integrals(name):
    (a, p), (b, q) = FAMILIES[name], OTHERS[name]
    assert check(a, b, p, q)
    assert d.kl_divergence(a, a).abs().max() < 1e-10


# Pairs with a formula, by the first of them; all others must raise.
PAIRS = {
    "Bernoulli": ["Poisson"],
    "Beta": ["ContinuousBernoulli", "Exponential", "Gamma", "Normal", "Pareto", "Uniform"],
    "Binomial": [],
    "Cauchy": [],
    "ContinuousBernoulli": ["Exponential", "Normal", "Pareto", "Uniform"],
    "Exponential": ["Beta", "ContinuousBernoulli", "Gamma", "Gumbel", "Normal", "Pareto", "Uniform"],
    "Gamma": ["Beta", "ContinuousBernoulli", "Exponential", "Gumbel", "Normal", "Pareto", "Uniform"],
    "Geometric": [],
    "Gumbel": ["Beta", "ContinuousBernoulli", "Exponential", "Gamma", "Normal", "Pareto", "Uniform"],
    "HalfNormal": [],
    "Laplace": ["Beta", "ContinuousBernoulli", "Exponential", "Gamma", "Normal", "Pareto", "Uniform"],
    "Normal": ["Beta", "ContinuousBernoulli", "Exponential", "Gamma", "Gumbel", "Laplace", "Pareto", "Uniform"],
    "Pareto": ["Beta", "ContinuousBernoulli", "Exponential", "Gamma", "Normal", "Uniform"],
    "Poisson": ["Bernoulli", "Binomial"],
    "Uniform": ["Beta", "ContinuousBernoulli", "Exponential", "Gamma", "Gumbel", "Normal", "Pareto"],
}


@pytest.mark.parametrize("first", FAMILIES)
def test_divergences_between_families_are_integrals(first):
    a, p = FAMILIES[first]
    known = [second for second, (b, q) in FAMILIES.items() if second != first and check(a, b, p, q)]
    assert known == PAIRS[first]


def test_divergences_of_vectors_are_those_of_their_matrices():
    loc, other = np.array([0.5, 0.0]), np.array([0.0, 1.0])
    factor, diagonal = np.array([[1.0], [0.5]]), np.array([0.5, 2.0])
    low_rank = factor @ factor.T + np.diag(diagonal)

    def wanted(a, A, b, B):
        inverse = np.linalg.inv(B)
        return 0.5 * (np.trace(inverse @ A) + (b - a) @ inverse @ (b - a) - 2 + np.log(np.linalg.det(B) / np.linalg.det(A)))

    full, low = d.MultivariateNormal(t(loc), t(MATRIX)), d.LowRankMultivariateNormal(t(other), t(factor), t(diagonal))
    sides = {"full": (full, loc, MATRIX), "low": (low, other, low_rank)}
    for p, a, A in sides.values():
        for q, b, B in sides.values():
            assert d.kl_divergence(p, q).item() == pytest.approx(wanted(a, A, b, B), rel=1e-9, abs=1e-9)


def test_divergences_of_categories_and_of_their_probabilities():
    rows, others = np.array([[0.3, 0.7], [0.6, 0.4]]), np.array([[0.5, 0.5], [0.1, 0.9]])
    for kind in (d.Categorical, d.OneHotCategorical):
        np.testing.assert_allclose(d.kl_divergence(kind(t(rows)), kind(t(others))).numpy(), (rows * np.log(rows / others)).sum(-1), rtol=1e-12)
    assert d.kl_divergence(d.Categorical(t([0.5, 0.5])), d.Categorical(t([1.0, 0.0]))).item() == float("inf")
    # Two Dirichlet vectors of two elements are two beta variables.
    p, q = d.Dirichlet(t([0.5, 1.5])), d.Dirichlet(t([1.2, 0.8]))
    assert d.kl_divergence(p, q).item() == pytest.approx(d.kl_divergence(d.Beta(t(0.5), t(1.5)), d.Beta(t(1.2), t(0.8))).item(), rel=1e-10)


def test_the_divergence_of_wishart_matrices_of_dimension_one_is_that_of_gammas():
    # A 1 x 1 Wishart variable with df degrees of freedom and scale V is a gamma variable: shape df / 2, rate 1 / (2 V).
    wishart = [d.Wishart(t(df), t([[v]])) for df, v in ((3.0, 2.0), (4.5, 0.7))]
    gamma = [d.Gamma(t(df / 2), t(1 / (2 * v))) for df, v in ((3.0, 2.0), (4.5, 0.7))]
    assert d.kl_divergence(*wishart).item() == pytest.approx(d.kl_divergence(*gamma).item(), rel=1e-9)


@pytest.mark.parametrize("name", ["Normal", "Gamma", "Beta", "Laplace", "Gumbel", "Exponential"])
def test_divergences_have_derivatives(name):
    shapes = {"Normal": 2, "Gamma": 2, "Beta": 2, "Laplace": 2, "Gumbel": 2, "Exponential": 1}[name]
    given = [t([0.5 + 0.3 * i, 2.0 + 0.1 * i]).requires_grad_() for i in range(2 * shapes)]
    family = getattr(d, name)
    assert ut.autograd.gradcheck(lambda *p: d.kl_divergence(family(*p[:shapes]), family(*p[shapes:])), given)


def test_divergence_within_an_exponential_family_uses_the_log_normalizers():
    class Wait(d.Exponential):
        pass

    p, q = (Wait(t(v).requires_grad_()) for v in ([0.5, 2.0], [1.0, 3.0]))
    wanted = [divergence(st.expon(scale=2.0), st.expon(scale=1.0)), divergence(st.expon(scale=0.5), st.expon(scale=1 / 3))]
    np.testing.assert_allclose(d.kl_divergence(p, q).detach().numpy(), wanted, rtol=1e-5)
    by_family = d._kl_pairs._families
    np.testing.assert_allclose(by_family(p, q).detach().numpy(), wanted, rtol=1e-5)
    with pytest.raises(NotImplementedError, match="different exponential families"):
        by_family(p, d.Poisson(1.0))


def test_a_registered_formula_is_found():
    class Coin(d.Bernoulli):
        pass

    @d.register_kl(Coin, Coin)
    def _(p, q):
        return ut.full((), 7.0)

    assert d.kl_divergence(Coin(0.5), Coin(0.1)).item() == 7.0 and d.kl_divergence(d.Bernoulli(0.5), d.Bernoulli(0.5)).item() == 0.0
