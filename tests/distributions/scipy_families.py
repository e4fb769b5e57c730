"""Families of distributions, each with its counterpart in SciPy. Densities that SciPy lacks are written here and integrated.

`CONTINUOUS` and `DISCRETE` map a name to (arguments of ours, the frozen distribution of SciPy, for arrays of the same arguments).
"""

from __future__ import annotations

import numpy as np
import scipy.stats as st
from scipy import integrate

import undertow as ut
import undertow.distributions as d

LOC, SCALE, SHAPE = [-1.0, 0.0, 2.0], [0.3, 1.5, 2.0], [0.7, 1.2, 3.0]
PROBS, LOGITS = [0.1, 0.5, 0.9], [0.3, -1.0, 2.0]
SIGMOID = 1 / (1 + np.exp(-np.array(LOGITS)))


class Integrated:
    """A density on an interval, one for each element, with everything else by quadrature. Has the interface of a frozen distribution."""

    def __init__(self, densities, low=0.0, high=1.0, exact_cdf=None):
        self.densities, self.low, self.high = densities, low, high

    def _each(self, f, *points):
        return np.array([integrate.quad(lambda x, g=g: f(x, g), self.low, *(points or (self.high,)), epsabs=1e-12, epsrel=1e-11, limit=200)[0] for g in self.densities])

    def logpdf(self, x):
        return np.stack([np.log([g(v) for v in np.atleast_1d(column)]) for g, column in zip(self.densities, np.asarray(x).T, strict=True)]).T

    def cdf(self, x):
        whole = lambda g, v: integrate.quad(g, self.low, v, epsabs=1e-12, epsrel=1e-11, limit=200)[0]
        return np.stack([[whole(g, v) for v in np.atleast_1d(column)] for g, column in zip(self.densities, np.asarray(x).T, strict=True)]).T

    def ppf(self, u):
        """By bisection of the integral, for the few points that a test needs."""
        u = np.broadcast_to(u, (np.shape(u)[0], len(self.densities)))
        low, high = np.full(u.shape, self.low), np.full(u.shape, self.high)
        for _ in range(45):
            middle = (low + high) / 2
            above = self.cdf(middle) > u
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return middle

    def mean(self):
        return self._each(lambda x, g: x * g(x))

    def var(self):
        return self._each(lambda x, g: x * x * g(x)) - self.mean() ** 2

    def entropy(self):
        return self._each(lambda x, g: -g(x) * np.log(g(x)) if g(x) > 0 else 0.0)


def _continuous_bernoulli(p):
    constant = 2.0 if p == 0.5 else 2 * np.arctanh(1 - 2 * p) / (1 - 2 * p)
    return lambda x: constant * p**x * (1 - p) ** (1 - x)


def _kumaraswamy(a, b):
    return lambda x: a * b * x ** (a - 1) * (1 - x**a) ** (b - 1)


def _relaxed_bernoulli(temperature, p):
    # Maddison, Mnih and Teh, "The concrete distribution", equation 23.
    odds = p / (1 - p)
    return lambda x: temperature * odds * (x * (1 - x)) ** (-temperature - 1) / (odds * x**-temperature + (1 - x) ** -temperature) ** 2


def _a(*values):
    return [np.array(v) for v in values]


CONTINUOUS = {
    "Normal": ((LOC, SCALE), st.norm(*_a(LOC, SCALE))),
    "Uniform": ((LOC, [1.0, 0.5, 2.25]), st.uniform(np.array(LOC), np.array([2.0, 0.5, 0.25]))),
    "Exponential": ((SCALE,), st.expon(scale=1 / np.array(SCALE))),
    "Laplace": ((LOC, SCALE), st.laplace(*_a(LOC, SCALE))),
    "LogNormal": (([-1.0, 0.0, 0.5], SCALE), st.lognorm(np.array(SCALE), scale=np.exp([-1.0, 0.0, 0.5]))),
    "HalfNormal": ((SCALE,), st.halfnorm(scale=np.array(SCALE))),
    "HalfCauchy": ((SCALE,), st.halfcauchy(scale=np.array(SCALE))),
    "Cauchy": ((LOC, SCALE), st.cauchy(*_a(LOC, SCALE))),
    "Gumbel": ((LOC, SCALE), st.gumbel_r(*_a(LOC, SCALE))),
    "StudentT": (([3.0, 2.5, 1.5], LOC, SCALE), st.t(*_a([3.0, 2.5, 1.5], LOC, SCALE))),
    "Gamma": ((SCALE, [0.5, 1.0, 2.0]), st.gamma(np.array(SCALE), scale=[2.0, 1.0, 0.5])),
    "Chi2": ((SCALE,), st.chi2(np.array(SCALE))),
    "Beta": ((SCALE, SHAPE), st.beta(*_a(SCALE, SHAPE))),
    "FisherSnedecor": (([3.0, 2.5, 5.0], [5.0, 6.0, 4.5]), st.f(*_a([3.0, 2.5, 5.0], [5.0, 6.0, 4.5]))),
    "GeneralizedPareto": ((LOC, SCALE, [0.2, 0.0, -0.5]), st.genpareto(np.array([0.2, 0.0, -0.5]), *_a(LOC, SCALE))),
    "InverseGamma": (([2.5, 3.0, 4.0], SCALE), st.invgamma(np.array([2.5, 3.0, 4.0]), scale=np.array(SCALE))),
    "Pareto": ((SCALE, [2.5, 3.0, 4.0]), st.pareto(np.array([2.5, 3.0, 4.0]), scale=np.array(SCALE))),
    "Weibull": ((SCALE, SHAPE), st.weibull_min(np.array(SHAPE), scale=np.array(SCALE))),
    "VonMises": ((LOC, SCALE), st.vonmises(np.array(SCALE), loc=np.array(LOC))),
    "ContinuousBernoulli": ((PROBS,), Integrated([_continuous_bernoulli(p) for p in PROBS])),
    "Kumaraswamy": (([2.0, 1.5, 3.0], [2.0, 1.5, 1.0]), Integrated([_kumaraswamy(a, b) for a, b in zip([2.0, 1.5, 3.0], [2.0, 1.5, 1.0], strict=True)])),
    "RelaxedBernoulli": ((0.7, PROBS), Integrated([_relaxed_bernoulli(0.7, p) for p in PROBS])),
}
DISCRETE = {
    "Bernoulli": ((PROBS,), st.bernoulli(np.array(PROBS))),
    "Bernoulli by logits": ({"logits": LOGITS}, st.bernoulli(SIGMOID)),
    "Binomial": ((10, PROBS), st.binom(10, np.array(PROBS))),
    "Binomial of many": ((200, PROBS), st.binom(200, np.array(PROBS))),
    "Geometric": ((PROBS,), st.geom(np.array(PROBS), loc=-1)),
    "Geometric by logits": ({"logits": LOGITS}, st.geom(SIGMOID, loc=-1)),
    "Poisson": ((SCALE,), st.poisson(np.array(SCALE))),
    "NegativeBinomial": ((5, [0.1, 0.5, 0.8]), st.nbinom(5, 1 - np.array([0.1, 0.5, 0.8]))),
}
NUMBERS = ("Binomial", "NegativeBinomial")  # their first argument is a number


def parameters(name: str, dtype=ut.float64, requires_grad: bool = False):
    """The arguments of a family as tensors; a number stays a number if the family counts."""
    arguments = (CONTINUOUS | DISCRETE)[name][0]
    tensor = lambda v: ut.tensor(v, dtype=dtype, requires_grad=requires_grad)
    if isinstance(arguments, dict):
        return {k: tensor(v) for k, v in arguments.items()}
    return [v if i == 0 and name.split()[0] in NUMBERS else tensor(v) for i, v in enumerate(arguments)]


def build(name: str, arguments):
    family = getattr(d, name.split()[0])
    return family(**arguments) if isinstance(arguments, dict) else family(*arguments)


def ours(name: str, dtype=ut.float64):
    return build(name, parameters(name, dtype))


def oracle(name: str):
    return (CONTINUOUS | DISCRETE)[name][1]
