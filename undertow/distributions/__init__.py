"""Probability distributions: samples, densities, entropies, divergences, all differentiable."""

from undertow.distributions import constraints
from undertow.distributions.bernoulli import Bernoulli
from undertow.distributions.beta import Beta
from undertow.distributions.categorical import Categorical
from undertow.distributions.dirichlet import Dirichlet
from undertow.distributions.distribution import Distribution
from undertow.distributions.exponential import Exponential
from undertow.distributions.gamma import Chi2, Gamma
from undertow.distributions.half_normal import HalfNormal
from undertow.distributions.independent import Independent
from undertow.distributions.kl import kl_divergence, register_kl
from undertow.distributions.laplace import Laplace
from undertow.distributions.log_normal import LogNormal
from undertow.distributions.mixture_same_family import MixtureSameFamily
from undertow.distributions.multivariate_normal import MultivariateNormal
from undertow.distributions.normal import Normal
from undertow.distributions.one_hot_categorical import OneHotCategorical
from undertow.distributions.poisson import Poisson
from undertow.distributions.uniform import Uniform

__all__ = [
    "Bernoulli",
    "Beta",
    "Categorical",
    "Chi2",
    "Dirichlet",
    "Distribution",
    "Exponential",
    "Gamma",
    "HalfNormal",
    "Independent",
    "Laplace",
    "LogNormal",
    "MixtureSameFamily",
    "MultivariateNormal",
    "Normal",
    "OneHotCategorical",
    "Poisson",
    "Uniform",
    "constraints",
    "kl_divergence",
    "register_kl",
]
