"""Probability distributions: samples, densities, entropies, divergences, all differentiable."""

from undertow._lazy import explain_missing as _explain_missing
from undertow.distributions import _kl_pairs as _kl_pairs
from undertow.distributions import chi2 as chi2
from undertow.distributions import constraints
from undertow.distributions.bernoulli import Bernoulli
from undertow.distributions.beta import Beta
from undertow.distributions.binomial import Binomial
from undertow.distributions.categorical import Categorical
from undertow.distributions.cauchy import Cauchy
from undertow.distributions.constraint_registry import biject_to, transform_to
from undertow.distributions.continuous_bernoulli import ContinuousBernoulli
from undertow.distributions.dirichlet import Dirichlet
from undertow.distributions.distribution import Distribution
from undertow.distributions.exp_family import ExponentialFamily
from undertow.distributions.exponential import Exponential
from undertow.distributions.fishersnedecor import FisherSnedecor
from undertow.distributions.gamma import Chi2, Gamma
from undertow.distributions.generalized_pareto import GeneralizedPareto
from undertow.distributions.geometric import Geometric
from undertow.distributions.gumbel import Gumbel
from undertow.distributions.half_cauchy import HalfCauchy
from undertow.distributions.half_normal import HalfNormal
from undertow.distributions.independent import Independent
from undertow.distributions.inverse_gamma import InverseGamma
from undertow.distributions.kl import kl_divergence, register_kl
from undertow.distributions.kumaraswamy import Kumaraswamy
from undertow.distributions.laplace import Laplace
from undertow.distributions.lkj_cholesky import LKJCholesky
from undertow.distributions.log_normal import LogNormal
from undertow.distributions.logistic_normal import LogisticNormal
from undertow.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from undertow.distributions.mixture_same_family import MixtureSameFamily
from undertow.distributions.multinomial import Multinomial
from undertow.distributions.multivariate_normal import MultivariateNormal
from undertow.distributions.negative_binomial import NegativeBinomial
from undertow.distributions.normal import Normal
from undertow.distributions.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from undertow.distributions.pareto import Pareto
from undertow.distributions.poisson import Poisson
from undertow.distributions.relaxed_bernoulli import RelaxedBernoulli
from undertow.distributions.relaxed_categorical import RelaxedOneHotCategorical
from undertow.distributions.studentT import StudentT
from undertow.distributions.transformed_distribution import TransformedDistribution
from undertow.distributions.transforms import *
from undertow.distributions.transforms import __all__ as _transforms
from undertow.distributions.uniform import Uniform
from undertow.distributions.von_mises import VonMises
from undertow.distributions.weibull import Weibull
from undertow.distributions.wishart import Wishart

__all__ = [
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ContinuousBernoulli",
    "Dirichlet",
    "Distribution",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "StudentT",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "constraints",
    "kl_divergence",
    "register_kl",
    "transform_to",
    *_transforms,
]

TYPE_CHECKING = False
if not TYPE_CHECKING:  # a type checker that saw it would accept every name
    __getattr__ = _explain_missing(__name__)
