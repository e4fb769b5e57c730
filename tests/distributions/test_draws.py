"""Draws follow their distribution (Kolmogorov and Smirnov, Pearson, by fixed seeds), and their derivatives are those of the quantiles."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as st
from scipy_families import CONTINUOUS, DISCRETE, LOC, PROBS, SCALE, SHAPE, build, oracle, ours, parameters

import undertow as ut
import undertow.distributions as d

# The seeds are fixed, so a test either always passes or always fails. A correct sampler fails at this level for one seed in ten thousand.
LEVEL = 1e-4


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_draws_follow_the_distribution_function(name, dtype):
    ut.manual_seed(11)
    x = ours(name, getattr(ut, dtype)).sample((1500,))
    assert x.dtype is getattr(ut, dtype) and x.shape == (1500, 3)
    x = x.numpy().astype("float64")
    if name == "VonMises":
        assert np.abs(x).max() <= np.pi + 1e-6
    q = oracle(name)
    if name == "RelaxedBernoulli":  # temperature * logit(x) is a logistic variable around the log-odds
        u = st.logistic(np.log(np.array(PROBS) / (1 - np.array(PROBS)))).cdf(0.7 * np.log(x / (1 - x)))
    elif name in ("ContinuousBernoulli", "Kumaraswamy"):  # integrated: at a few points, then between them
        grid = np.linspace(0.0, 1.0, 101)[:, None] + np.zeros(3)
        table = q.cdf(grid)
        u = np.stack([np.interp(x[:, i], grid[:, i], table[:, i]) for i in range(3)], 1)
    elif name == "VonMises":
        around = np.array(LOC)
        u = st.vonmises(np.array(SCALE)).cdf((x - around + np.pi) % (2 * np.pi) - np.pi)
    else:
        u = q.cdf(x)
    for column in u.T:
        assert st.kstest(column, "uniform").pvalue > LEVEL


def pearson(observed: np.ndarray, expected: np.ndarray) -> float:
    """The p-value of the counts, with rare outcomes combined."""
    common = expected >= 5
    rest = observed[~common].sum(), expected[~common].sum()
    observed, expected = observed[common], expected[common]
    if rest[1] > 1e-9:
        observed, expected = np.append(observed, rest[0]), np.append(expected, rest[1])
    return st.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue


@pytest.mark.parametrize("name", DISCRETE)
def test_counts_follow_the_probabilities(name):
    ut.manual_seed(12)
    n = 4000
    x = ours(name).sample((n,)).numpy()
    assert (x == np.round(x)).all()
    outcomes = np.arange(0, int(x.max()) + 1)[:, None]
    probabilities = oracle(name).pmf(outcomes)
    for i in range(3):
        observed = np.bincount(x[:, i].astype(int), minlength=len(outcomes)).astype(float)
        expected = n * probabilities[:, i]
        assert pearson(np.append(observed, 0.0), np.append(expected, max(n - expected.sum(), 0.0))) > LEVEL


def test_categories_are_drawn_by_their_probabilities():
    ut.manual_seed(13)
    rows = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    drawn = d.Categorical(ut.tensor(rows)).sample((4000,)).numpy()
    hot = d.OneHotCategorical(ut.tensor(rows)).sample((4000,)).numpy()
    assert (hot.sum(-1) == 1).all()
    for i, row in enumerate(rows):
        assert pearson(np.bincount(drawn[:, i], minlength=3).astype(float), 4000 * row) > LEVEL
        assert pearson(hot[:, i].sum(0), 4000 * row) > LEVEL


def mean_within(x: np.ndarray, mean: np.ndarray, errors: float = 5.0) -> None:
    np.testing.assert_array_less(np.abs(x.mean(0) - mean), errors * x.std(0) / np.sqrt(len(x)) + 1e-12)


MATRIX = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.5]])


def _square(x):
    return x[:, :, None] * x[:, None, :]


def test_vectors_have_their_means_and_covariances():
    ut.manual_seed(14)
    loc = np.array([0.3, 1.5, 2.0])
    factor, diagonal = np.array([[1.0], [0.5], [-0.3]]), np.array([0.5, 2.0, 1.0])
    made = {
        "full": (d.MultivariateNormal(ut.tensor(loc), ut.tensor(MATRIX)), MATRIX),
        "precise": (d.MultivariateNormal(ut.tensor(loc), precision_matrix=ut.tensor(np.linalg.inv(MATRIX))), MATRIX),
        "low rank": (d.LowRankMultivariateNormal(ut.tensor(loc), ut.tensor(factor), ut.tensor(diagonal)), factor @ factor.T + np.diag(diagonal)),
    }
    for p, covariance in made.values():
        x = p.sample((5000,)).numpy()
        mean_within(x, loc)
        mean_within(_square(x - loc), covariance)
    alpha = np.array([1.0, 2.0, 0.5])
    x = d.Dirichlet(ut.tensor(alpha)).sample((5000,)).numpy()
    np.testing.assert_allclose(x.sum(-1), 1, rtol=1e-12)
    mean_within(x, st.dirichlet(alpha).mean())
    mean_within((x - st.dirichlet(alpha).mean()) ** 2, st.dirichlet(alpha).var())
    x = d.Multinomial(7, ut.tensor([0.2, 0.3, 0.5]).double()).sample((5000,)).numpy()
    assert (x.sum(-1) == 7).all()
    mean_within(x, 7 * np.array([0.2, 0.3, 0.5]))
    mean_within(_square(x - 7 * np.array([0.2, 0.3, 0.5])), st.multinomial(7, [0.2, 0.3, 0.5]).cov())


def test_matrices_have_their_means():
    ut.manual_seed(15)
    scale = np.array([[2.0, 0.3], [0.3, 1.0]])
    x = d.Wishart(ut.tensor(4.0).double(), ut.tensor(scale)).sample((4000,)).numpy()
    mean_within(x, 4 * scale)
    mean_within((x - 4 * scale) ** 2, st.wishart(4, scale).var())
    # The entry of a correlation matrix of dimension 2 has the density (1 - r^2)^(concentration - 1), a beta variable on (-1, 1).
    for concentration in (0.5, 2.0):
        factors = d.LKJCholesky(2, ut.tensor(concentration).double()).sample((2000,)).numpy()
        np.testing.assert_allclose((factors**2).sum(-1), 1, rtol=1e-12)
        assert st.kstest(factors[:, 1, 0], st.beta(concentration, concentration, loc=-1, scale=2).cdf).pvalue > LEVEL


PATHS = [n for n in CONTINUOUS if n not in ("Gamma", "Chi2", "InverseGamma", "StudentT", "Beta", "FisherSnedecor", "VonMises", "GeneralizedPareto")]


@pytest.mark.parametrize("name", PATHS)
def test_a_draw_is_a_differentiable_function_of_the_parameters(name):
    def draw(*p):
        ut.manual_seed(16)
        return build(name, p).rsample((2,))

    assert ut.autograd.gradcheck(draw, parameters(name, requires_grad=True), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [1e-2, 0.3, 1.0, 2.5, 40.0, 1e3])
def test_the_derivative_of_a_gamma_draw_is_that_of_its_quantile(shape):
    ut.manual_seed(4)
    a = ut.full((40,), shape, dtype=ut.float64, requires_grad=True)
    x = ut._standard_gamma(a)
    (slopes,) = ut.autograd.grad(x.sum(), a)
    drawn, step = x.detach().numpy(), 1e-5 * shape
    kept = drawn > 1e-200  # below, quantiles underflow
    # At a fixed probability F(x, a), dx/da = -(dF/da) / f(x, a).
    moved = (st.gamma.cdf(drawn[kept], shape + step) - st.gamma.cdf(drawn[kept], shape - step)) / (2 * step)
    wanted = -moved / st.gamma.pdf(drawn[kept], shape)
    assert kept.sum() > 20
    np.testing.assert_allclose(slopes.numpy()[kept], wanted, rtol=2e-4)


# These combine several draws, so the derivative at a fixed probability is not the only correct one, but its mean is unique.
MEANS = {
    "StudentT": (lambda p: d.StudentT(ut.full((), 8.0).double(), p, p.exp()), 0.7),
    "Beta": (lambda p: d.Beta(p, p * p + 1), 1.3),
    "InverseGamma": (lambda p: d.InverseGamma(p + 5, p), 1.2),
    "FisherSnedecor": (lambda p: d.FisherSnedecor(p + 2, p + 12), 1.0),
    "Chi2": (lambda p: d.Chi2(p), 2.5),
    "Gamma": (lambda p: d.Gamma(p, p * p), 1.7),
}


@pytest.mark.parametrize("name", MEANS)
def test_the_mean_of_derivatives_is_the_derivative_of_the_mean(name):
    ut.manual_seed(17)
    make, at = MEANS[name]
    p = ut.full((20000,), at, dtype=ut.float64, requires_grad=True)
    (slopes,) = ut.autograd.grad(make(p).rsample().sum(), p)
    q = ut.tensor(at, dtype=ut.float64, requires_grad=True)
    (wanted,) = ut.autograd.grad(make(q).mean, q)
    s = slopes.numpy()
    assert abs(s.mean() - wanted.item()) < 5 * s.std() / np.sqrt(len(s))


def test_the_pathwise_derivative_of_dirichlet_is_unbiased():
    ut.manual_seed(0)
    a = ut.tensor([1.0, 2.0, 3.0], dtype=ut.float64, requires_grad=True)
    d.Dirichlet(a).rsample((4000,))[:, 0].mean().backward()
    b = a.detach().clone().requires_grad_()
    d.Dirichlet(b).mean[0].backward()
    assert (a.grad - b.grad).abs().max().item() < 0.02


STORED = {
    **{name: (lambda L, name=name, v=v: getattr(L.distributions, name.split()[0])(*(L.tensor(a, dtype=L.float64) if isinstance(a, list) else a for a in v)))
       for name, (v, _) in (CONTINUOUS | DISCRETE).items() if not isinstance(v, dict) and name != "GeneralizedPareto"},  # torch's raises for float64
    "Categorical": lambda L: L.distributions.Categorical(L.tensor([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])),
    "Dirichlet": lambda L: L.distributions.Dirichlet(L.tensor([SCALE, SHAPE], dtype=L.float64)),
    "MultivariateNormal": lambda L: L.distributions.MultivariateNormal(L.tensor(SCALE, dtype=L.float64), L.tensor(MATRIX.tolist(), dtype=L.float64)),
    "LowRankMultivariateNormal": lambda L: L.distributions.LowRankMultivariateNormal(L.zeros(2), L.tensor([[1.0], [0.5]]), L.tensor([0.5, 2.0])),
    "Multinomial": lambda L: L.distributions.Multinomial(7, L.tensor([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])),
    "LogisticNormal": lambda L: L.distributions.LogisticNormal(L.tensor(SCALE, dtype=L.float64), L.tensor(SHAPE, dtype=L.float64)),
    "RelaxedOneHotCategorical": lambda L: L.distributions.RelaxedOneHotCategorical(L.tensor(0.7), L.tensor([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])),
    "LKJCholesky": lambda L: L.distributions.LKJCholesky(3, L.tensor([0.5, 2.0], dtype=L.float64)),
}  # fmt: skip


@pytest.mark.parametrize("name", STORED)
def test_the_same_seed_draws_the_same_as_torch(name, same_as_torch):
    def scenario(L):
        p = STORED[name](L)
        shapes = [list(p.batch_shape), list(p.event_shape), p.has_rsample, repr(p)]
        return [shapes, *(p.sample(shape) for shape in ((), (4,), (9, 2))), p.expand((5, *p.batch_shape)).sample()]

    same_as_torch(scenario, rtol=1e-4 if name in ("LowRankMultivariateNormal", "RelaxedOneHotCategorical") else 1e-7, atol=1e-6 if name == "VonMises" else 1e-9)


def test_binomial_draws_have_no_derivative():
    with pytest.raises(RuntimeError, match="derivative for aten::binomial is not implemented"):
        ut.binomial(ut.ones(2), ut.full((2,), 0.5, requires_grad=True)).sum().backward()
    with pytest.raises(ValueError, match="binomial only supports floating-point dtypes for count, got: Long"):
        ut.binomial(ut.tensor([1]), ut.tensor([0.5]))


def test_binomial_draws_at_the_ends_are_certain(same_as_torch):
    counts, odds = ut.tensor([[5.0], [80.0], [0.0]]).expand(3, 21), ut.linspace(0, 1, 21).expand(3, 21)
    drawn = ut.binomial(counts, odds)
    assert drawn[:, 0].tolist() == [0, 0, 0] and drawn[:, -1].tolist() == [5, 80, 0] and (drawn <= counts).all()
    same_as_torch(lambda L: L.binomial(L.tensor([[5.0], [80.0], [0.0]]).expand(3, 21), L.linspace(0, 1, 21).expand(3, 21)))


@pytest.mark.parametrize("dtype", [ut.float32, ut.float64])
def test_draws_for_tiny_concentrations_are_near_the_corners_but_never_in_them(dtype):
    ut.manual_seed(0)
    drawn = ut.distributions.Beta(*[ut.tensor(1e-2, dtype=dtype)] * 2).sample([20000])
    assert drawn.dtype == dtype
    assert drawn.min() > 0 and drawn.max() < 1
    near = (drawn < 1e-3).to(ut.float64).mean().item(), (drawn > 1 - 1e-3).to(ut.float64).mean().item()
    assert min(near) > 0.45
