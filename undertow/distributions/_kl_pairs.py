"""KL divergences between distributions of different families, and within rarely used families. Each is E_p[log p - log q] in closed form."""

from __future__ import annotations

import math

import undertow
from undertow.distributions.bernoulli import Bernoulli
from undertow.distributions.beta import Beta
from undertow.distributions.binomial import Binomial
from undertow.distributions.cauchy import Cauchy
from undertow.distributions.continuous_bernoulli import ContinuousBernoulli
from undertow.distributions.exp_family import ExponentialFamily
from undertow.distributions.exponential import Exponential
from undertow.distributions.gamma import Gamma
from undertow.distributions.geometric import Geometric
from undertow.distributions.gumbel import Gumbel
from undertow.distributions.half_cauchy import HalfCauchy
from undertow.distributions.half_normal import HalfNormal
from undertow.distributions.independent import _sum_last
from undertow.distributions.kl import kl_divergence, register_kl
from undertow.distributions.laplace import Laplace
from undertow.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from undertow.distributions.multivariate_normal import MultivariateNormal
from undertow.distributions.normal import Normal
from undertow.distributions.pareto import Pareto
from undertow.distributions.poisson import Poisson
from undertow.distributions.transformed_distribution import TransformedDistribution
from undertow.distributions.uniform import Uniform
from undertow.distributions.utils import euler_constant
from undertow.distributions.wishart import Wishart, _mvdigamma

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor


def _infinite(p: Any, q: Any) -> Tensor:
    """Return infinity: the support of p is not contained in that of q."""
    shape = undertow.broadcast_shapes(p.batch_shape, q.batch_shape)
    return undertow.full(shape, math.inf, dtype=p.mean.dtype, device=p.mean.device)


for _p, _qs in (
    (Beta, (Pareto,)),
    (ContinuousBernoulli, (Pareto,)),
    (Exponential, (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gamma, (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gumbel, (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Laplace, (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Normal, (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Pareto, (Beta, ContinuousBernoulli, Uniform)),
    (Poisson, (Bernoulli, Binomial)),
):
    for _q in _qs:
        register_kl(_p, _q)(_infinite)


def _to_normal(p: Any, q: Normal, mean: Tensor, variance: Tensor) -> Tensor:
    """Compute the divergence from any p to a normal q, from the entropy, mean and variance of p."""
    spread = (variance + (mean - q.loc).pow(2)) / (2 * q.scale.pow(2))
    return -p.entropy() + 0.5 * math.log(2 * math.pi) + q.scale.log() + spread


def _to_exponential(p: Any, q: Exponential, mean: Tensor) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * mean


def _to_gamma(p: Any, q: Gamma, mean: Tensor, mean_log: Tensor) -> Tensor:
    a, rate = q.concentration, q.rate
    return -p.entropy() + a.lgamma() - a * rate.log() - (a - 1) * mean_log + rate * mean


def _to_continuous_bernoulli(p: Any, q: ContinuousBernoulli) -> Tensor:
    return -p.entropy() - p.mean * q.logits - undertow.log1p(-q.probs) - q._log_norm()


def _to_uniform(p: Any, q: Uniform) -> Tensor:
    result = -p.entropy() + (q.high - q.low).log()
    return undertow.where((q.low > p.support.lower_bound) | (q.high < p.support.upper_bound), math.inf, result)


@register_kl(Exponential, Normal)
@register_kl(Gamma, Normal)
@register_kl(Gumbel, Normal)
@register_kl(Laplace, Normal)
@register_kl(Beta, Normal)
@register_kl(ContinuousBernoulli, Normal)
@register_kl(Uniform, Normal)
def _any_normal(p: Any, q: Normal) -> Tensor:
    return _to_normal(p, q, p.mean, p.variance)


@register_kl(Pareto, Normal)
def _pareto_normal(p: Pareto, q: Normal) -> Tensor:
    return undertow.where(p.alpha <= 2, math.inf, _to_normal(p, q, p.mean, p.variance))


@register_kl(Beta, Exponential)
@register_kl(ContinuousBernoulli, Exponential)
@register_kl(Gamma, Exponential)
def _any_exponential(p: Any, q: Exponential) -> Tensor:
    return _to_exponential(p, q, p.mean)


@register_kl(Pareto, Exponential)
def _pareto_exponential(p: Pareto, q: Exponential) -> Tensor:
    return undertow.where(p.alpha <= 1, math.inf, _to_exponential(p, q, p.mean))


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Uniform, q: Exponential) -> Tensor:
    return undertow.where(p.low < 0, math.inf, _to_exponential(p, q, p.mean))


def _mean_log(p: Uniform) -> Tensor:
    """Return E[log x] of a uniform variable."""
    width = p.high - p.low
    return (undertow.xlogy(p.high, p.high) - undertow.xlogy(p.low, p.low) - width) / width


@register_kl(Beta, Gamma)
def _beta_gamma(p: Beta, q: Gamma) -> Tensor:
    return _to_gamma(p, q, p.mean, p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma())


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Exponential, q: Gamma) -> Tensor:
    return _to_gamma(p, q, p.mean, -euler_constant - p.rate.log())


@register_kl(Pareto, Gamma)
def _pareto_gamma(p: Pareto, q: Gamma) -> Tensor:
    return undertow.where(p.alpha <= 1, math.inf, _to_gamma(p, q, p.mean, p.scale.log() + p.alpha.reciprocal()))


@register_kl(Uniform, Gamma)
def _uniform_gamma(p: Uniform, q: Gamma) -> Tensor:
    return undertow.where(p.low < 0, math.inf, _to_gamma(p, q, p.mean, _mean_log(p)))


@register_kl(Beta, ContinuousBernoulli)
def _beta_continuous_bernoulli(p: Beta, q: ContinuousBernoulli) -> Tensor:
    return _to_continuous_bernoulli(p, q)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    return _to_continuous_bernoulli(p, q)


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_continuous_bernoulli(p: Uniform, q: ContinuousBernoulli) -> Tensor:
    return undertow.where((p.high > 1) | (p.low < 0), math.inf, _to_continuous_bernoulli(p, q))


register_kl(Beta, Uniform)(_to_uniform)
register_kl(ContinuousBernoulli, Uniform)(_to_uniform)


@register_kl(Uniform, Beta)
def _uniform_beta(p: Uniform, q: Beta) -> Tensor:
    width = p.high - p.low
    above = (undertow.xlogy(1 - p.low, 1 - p.low) - undertow.xlogy(1 - p.high, 1 - p.high) - width) / width  # E[log(1 - x)]
    a, b = q.concentration1, q.concentration0
    whole = a.lgamma() + b.lgamma() - (a + b).lgamma()
    result = -width.log() - (a - 1) * _mean_log(p) - (b - 1) * above + whole
    return undertow.where((p.high > 1) | (p.low < 0), math.inf, result)


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Uniform, q: Pareto) -> Tensor:
    result = (q.alpha + 1) * _mean_log(p) - (q.alpha * q.scale.pow(q.alpha) * (p.high - p.low)).log()
    return undertow.where(p.low < q.scale, math.inf, result)


def _to_gumbel(p: Any, q: Gumbel, mean_exp: Tensor) -> Tensor:
    """Compute the divergence from p to a Gumbel q; mean_exp is E[exp((loc - x) / scale)]."""
    return -p.entropy() - (q.loc - p.mean) / q.scale + mean_exp + q.scale.log()


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    return _to_gumbel(p, q, ((q.loc - p.loc) / q.scale + undertow.lgamma(1 + p.scale / q.scale)).exp())


@register_kl(Normal, Gumbel)
def _normal_gumbel(p: Normal, q: Gumbel) -> Tensor:
    return _to_gumbel(p, q, ((q.loc - p.loc) / q.scale + 0.5 * (p.scale / q.scale).pow(2)).exp())


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p: Exponential, q: Gumbel) -> Tensor:
    return _to_gumbel(p, q, (q.loc / q.scale).exp() * p.rate * q.scale / (p.rate * q.scale + 1))


@register_kl(Gamma, Gumbel)
def _gamma_gumbel(p: Gamma, q: Gumbel) -> Tensor:
    return _to_gumbel(p, q, (q.loc / q.scale).exp() * (1 + (p.rate * q.scale).reciprocal()).pow(-p.concentration))


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p: Uniform, q: Gumbel) -> Tensor:
    low, high = ((q.loc - p.low) / q.scale).exp(), ((q.loc - p.high) / q.scale).exp()
    return _to_gumbel(p, q, q.scale * (low - high) / (p.high - p.low))


@register_kl(Normal, Laplace)
def _normal_laplace(p: Normal, q: Laplace) -> Tensor:
    d = p.loc - q.loc
    distance = p.scale * math.sqrt(2 / math.pi) * (-0.5 * (d / p.scale).pow(2)).exp() + d * (d / (p.scale * math.sqrt(2))).erf()
    return -p.entropy() + (2 * q.scale).log() + distance / q.scale


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Tensor:
    if bool((p.total_count < q.total_count).any()):
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return undertow.where(p.total_count > q.total_count, math.inf, kl)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - undertow.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
@register_kl(HalfCauchy, HalfCauchy)
def _half(p: Any, q: Any) -> Tensor:
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return undertow.where(p.scale < q.scale, math.inf, result)


@register_kl(ExponentialFamily, ExponentialFamily)
def _families(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """Compute the divergence within an exponential family as the Bregman divergence of the log normaliser."""
    if type(p) is not type(q):
        raise NotImplementedError("The cross KL-divergence between different exponential families cannot be computed using Bregman divergences")
    mine = [x.detach().requires_grad_() for x in p._natural_params]
    others = q._natural_params
    normaliser = p._log_normalizer(*mine)
    gradients: Any = undertow.autograd.grad(normaliser.sum(), mine, create_graph=True)
    result = q._log_normalizer(*others) - normaliser
    for x, y, slope in zip(mine, others, gradients, strict=True):
        term = (y - x) * slope
        result = result - _sum_last(term, len(q.event_shape))
    return result


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("KL between transformed distributions with different transforms or event shapes is not implemented")
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _low_rank(p: Any, q: Any) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError("KL-divergence between two (Low Rank) Multivariate Normals with different event shapes cannot be computed")

    def log_det(d: Any) -> Tensor:
        return d._log_det() if isinstance(d, LowRankMultivariateNormal) else 2 * d._half_log_det()

    difference = (q.loc - p.loc).unsqueeze(-1)
    distance = (difference.mT @ q.precision_matrix @ difference).squeeze(-1).squeeze(-1)
    trace = (q.precision_matrix * p.covariance_matrix.mT).sum((-2, -1))
    return 0.5 * (log_det(q) - log_det(p) + distance + trace - p.event_shape[0])


@register_kl(Wishart, Wishart)
def _wishart(p: Wishart, q: Wishart) -> Tensor:
    n = p.event_shape[-1]

    def log_diagonal(d: Wishart) -> Tensor:
        return d._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    trace = (q.precision_matrix * p.covariance_matrix.mT).sum((-2, -1))
    gammas = undertow.mvlgamma(q.df / 2, p=n) - undertow.mvlgamma(p.df / 2, p=n)
    return gammas + (p.df - q.df) / 2 * _mvdigamma(p.df / 2, p=n) + q.df * (log_diagonal(q) - log_diagonal(p)) + p.df / 2 * (trace - n)
