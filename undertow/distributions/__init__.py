"""Probability distributions: samples, densities, entropies, divergences, all differentiable."""

from undertow.distributions import constraints
from undertow.distributions.bernoulli import Bernoulli
from undertow.distributions.beta import Beta
from undertow.distributions.categorical import Categorical
from undertow.distributions.cauchy import Cauchy
from undertow.distributions.dirichlet import Dirichlet
from undertow.distributions.distribution import Distribution
from undertow.distributions.exponential import Exponential
from undertow.distributions.gamma import Chi2, Gamma
from undertow.distributions.geometric import Geometric
from undertow.distributions.gumbel import Gumbel
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
from undertow.distributions.studentT import StudentT
from undertow.distributions.transformed_distribution import TransformedDistribution
from undertow.distributions.transforms import *
from undertow.distributions.transforms import __all__ as _transforms
from undertow.distributions.uniform import Uniform

__all__ = [
    "Bernoulli",
    "Beta",
    "Categorical",
    "Cauchy",
    "Chi2",
    "Dirichlet",
    "Distribution",
    "Exponential",
    "Gamma",
    "Geometric",
    "Gumbel",
    "HalfNormal",
    "Independent",
    "Laplace",
    "LogNormal",
    "MixtureSameFamily",
    "MultivariateNormal",
    "Normal",
    "OneHotCategorical",
    "Poisson",
    "StudentT",
    "TransformedDistribution",
    "Uniform",
    "constraints",
    "kl_divergence",
    "register_kl",
    *_transforms,
]
