"""Distributions of vectors and matrices: densities, moments and entropies by SciPy, by quadrature, or by their definition in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as st
from scipy import special

import undertow as ut
import undertow.distributions as d

LOC, MATRIX = np.array([0.3, 1.5, 2.0]), np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.5]])
ROWS = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
RNG = np.random.default_rng(3)
X = RNG.normal(size=(5, 3))
t = lambda v: ut.tensor(np.asarray(v, dtype="float64"))


def close(ours, wanted, **more):
    np.testing.assert_allclose(ours.numpy(), wanted, **{"rtol": 1e-9, "atol": 1e-11, **more})


@pytest.mark.parametrize(
    "given",
    [{"covariance_matrix": MATRIX}, {"precision_matrix": np.linalg.inv(MATRIX)}, {"scale_tril": np.linalg.cholesky(MATRIX)}],
    ids=lambda g: next(iter(g)),
)
def test_a_normal_vector_matches_scipy(given):
    p, q = d.MultivariateNormal(t(LOC), **{k: t(v) for k, v in given.items()}), st.multivariate_normal(LOC, MATRIX)
    close(p.log_prob(t(X)), q.logpdf(X))
    close(p.entropy(), q.entropy())
    close(p.mean, LOC)
    close(p.variance, np.diag(MATRIX))
    close(p.covariance_matrix, MATRIX)
    close(p.precision_matrix, np.linalg.inv(MATRIX))
    close(p.scale_tril, np.linalg.cholesky(MATRIX))


def test_a_normal_vector_of_low_rank_is_the_full_one():
    factor, diagonal = RNG.normal(size=(3, 2)), np.array([0.5, 2.0, 1.0])
    covariance = factor @ factor.T + np.diag(diagonal)
    p, q = d.LowRankMultivariateNormal(t(LOC), t(factor), t(diagonal)), st.multivariate_normal(LOC, covariance)
    close(p.log_prob(t(X)), q.logpdf(X))
    close(p.entropy(), q.entropy())
    close(p.covariance_matrix, covariance)
    close(p.precision_matrix, np.linalg.inv(covariance))
    close(p.variance, np.diag(covariance))


def test_a_dirichlet_vector_matches_scipy():
    alpha = np.array([0.3, 1.5, 2.0])
    p, q = d.Dirichlet(t(alpha)), st.dirichlet(alpha)
    x = np.array([[0.2, 0.3, 0.5], [0.01, 0.9, 0.09]])
    close(p.log_prob(t(x)), [q.logpdf(row) for row in x])
    close(p.entropy(), q.entropy())
    close(p.mean, q.mean())
    close(p.variance, q.var())


@pytest.mark.parametrize("kind", ["Categorical", "OneHotCategorical", "OneHotCategoricalStraightThrough"])
def test_categories_have_the_probabilities_given(kind):
    for p in (getattr(d, kind)(t(ROWS)), getattr(d, kind)(logits=t(np.log(ROWS) + 3.0))):
        for k in range(3):
            value = ut.tensor([k, k]) if kind == "Categorical" else t([np.eye(3)[k]] * 2)
            close(p.log_prob(value), np.log(ROWS[:, k]))
        close(p.entropy(), st.entropy(ROWS, axis=1))
        close(p.probs, ROWS)
    if kind == "Categorical":
        assert p.mean.isnan().all() and p.mode.tolist() == [2, 2]
        assert p.enumerate_support().tolist() == [[0, 0], [1, 1], [2, 2]]
    else:
        close(p.mean, ROWS)
        close(p.variance, ROWS * (1 - ROWS))
        assert p.mode.tolist() == [[0, 0, 1], [0, 0, 1]]


def test_counts_of_categories_match_scipy():
    p = d.Multinomial(7, t(ROWS))
    x = np.array([[1, 2, 4], [0, 0, 7]])
    close(p.log_prob(t(x)), [st.multinomial(7, row).logpmf(counts) for row, counts in zip(ROWS, x, strict=True)])
    close(p.mean, 7 * ROWS)
    close(p.variance, 7 * ROWS * (1 - ROWS))
    close(p.entropy(), [st.multinomial(7, row).entropy() for row in ROWS])


def test_a_wishart_matrix_matches_scipy():
    scale = np.array([[2.0, 0.3], [0.3, 1.0]])
    x = np.array([[3.0, 0.5], [0.5, 2.0]])
    for p in (d.Wishart(t(4.0), t(scale)), d.Wishart(t(4.0), scale_tril=t(np.linalg.cholesky(scale))), d.Wishart(t(4.0), precision_matrix=t(np.linalg.inv(scale)))):
        q = st.wishart(4.0, scale)
        close(p.log_prob(t(x)), q.logpdf(x))
        close(p.mean, q.mean())
        close(p.variance, q.var())
        close(p.entropy(), q.entropy())
        close(p.mode, q.mode())


@pytest.mark.parametrize("concentration", [0.7, 1.0, 2.5])
def test_a_correlation_matrix_has_the_density_of_its_determinant(concentration):
    # Dimension 2: r has the density (1 - r^2)^(c - 1) / B. The factor's row is (r, sqrt(1 - r^2)), so the densities are the same.
    r = np.array([-0.8, 0.1, 0.6])
    factors = np.stack([np.stack([np.ones(3), np.zeros(3)], -1), np.stack([r, np.sqrt(1 - r * r)], -1)], 1)
    wanted = st.beta(concentration, concentration, loc=-1, scale=2).logpdf(r)
    close(d.LKJCholesky(2, t(concentration)).log_prob(t(factors)), wanted)


def test_the_density_of_factors_of_three_correlations_integrates_to_one():
    p = d.LKJCholesky(3, t(1.7))

    def density(z, y, x):
        # Row 2 is (x, sqrt(1 - x^2)); row 3 is (y, z sqrt(1 - y^2), the rest). The density is over x and the first two entries of row 3.
        w = z * np.sqrt(1 - y * y)
        rows = np.array([[1, 0, 0], [x, np.sqrt(1 - x * x), 0], [y, w, np.sqrt(max(1 - y * y - w * w, 1e-300))]])
        return np.exp(p.log_prob(t(rows)).item()) * np.sqrt(1 - y * y)

    nodes, weights = np.polynomial.legendre.leggauss(14)
    total = sum(a * b * c * density(z, y, x) for x, a in zip(nodes, weights, strict=True) for y, b in zip(nodes, weights, strict=True) for z, c in zip(nodes, weights, strict=True))
    assert total == pytest.approx(1.0, rel=1e-2)


def test_a_logistic_normal_vector_is_a_normal_one_through_stick_breaking():
    loc, scale, x = np.array([0.3, -1.0]), np.array([0.7, 1.2]), np.array([0.4, -0.2])
    y = 1 / (1 + np.exp(-(x - np.log([2.0, 1.0]))))
    simplex = np.array([y[0], y[1] * (1 - y[0]), (1 - y[1]) * (1 - y[0])])
    jacobian = np.log(y[0] * (1 - y[0])) + np.log(y[1] * (1 - y[1])) + np.log(1 - y[0])
    close(d.LogisticNormal(t(loc), t(scale)).log_prob(t(simplex)), st.norm(loc, scale).logpdf(x).sum() - jacobian)


def test_a_relaxed_category_has_the_density_of_the_paper():
    # Maddison, Mnih and Teh, "The concrete distribution", equation 10.
    temperature, weights, x = 0.7, np.array([0.2, 0.3, 0.5]), np.array([0.1, 0.6, 0.3])
    n = 3
    wanted = special.gammaln(n) + (n - 1) * np.log(temperature) + np.sum(np.log(weights) - (temperature + 1) * np.log(x)) - n * np.log(np.sum(weights * x**-temperature))
    close(d.RelaxedOneHotCategorical(t(temperature), t(weights)).log_prob(t(x)), wanted)


@pytest.mark.parametrize("name", ["MultivariateNormal", "Dirichlet", "LowRankMultivariateNormal"])
def test_derivatives_agree_with_differences(name):
    if name == "Dirichlet":
        x, inputs = t([[0.2, 0.3, 0.5]]), [t([0.3, 1.5, 2.0])]
    elif name == "MultivariateNormal":
        x, inputs = t(X), [t(LOC), t(np.linalg.cholesky(MATRIX))]
    else:
        x, inputs = t(X), [t(LOC), t(RNG.normal(size=(3, 1))), t([0.5, 2.0, 1.0])]
    make = lambda *p: d.MultivariateNormal(p[0], scale_tril=p[1].tril()) if name == "MultivariateNormal" else getattr(d, name)(*p)
    inputs = [v.requires_grad_() for v in inputs]
    assert ut.autograd.gradcheck(lambda *p: make(*p).log_prob(x), inputs)
    assert ut.autograd.gradcheck(lambda *p: make(*p).entropy(), inputs)

    def draw(*p):
        ut.manual_seed(2)
        return make(*p).rsample((2,))

    assert name == "Dirichlet" or ut.autograd.gradcheck(draw, inputs)


def test_independent_sums_over_the_last_dimensions():
    loc, scale, x = RNG.normal(size=(2, 3)), RNG.random((2, 3)) + 0.5, RNG.normal(size=(4, 2, 3))
    p = d.Independent(d.Normal(t(loc), t(scale)), 1)
    assert (tuple(p.batch_shape), tuple(p.event_shape)) == ((2,), (3,))
    close(p.log_prob(t(x)), st.norm(loc, scale).logpdf(x).sum(-1))
    close(p.entropy(), st.norm(loc, scale).entropy().sum(-1))
    other = d.Independent(d.Normal(t(loc + 1), t(scale)), 1)
    close(d.kl_divergence(p, other), (0.5 / scale**2).sum(-1))
