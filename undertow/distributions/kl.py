"""`kl_divergence(p, q)`: the Kullback-Leibler divergence, implemented for pairs of classes."""

from __future__ import annotations

import math

import undertow
from undertow.distributions.bernoulli import Bernoulli
from undertow.distributions.beta import Beta
from undertow.distributions.categorical import Categorical
from undertow.distributions.dirichlet import Dirichlet
from undertow.distributions.exponential import Exponential
from undertow.distributions.gamma import Gamma
from undertow.distributions.independent import Independent, _sum_last
from undertow.distributions.laplace import Laplace
from undertow.distributions.log_normal import LogNormal
from undertow.distributions.multivariate_normal import MultivariateNormal, _mahalanobis
from undertow.distributions.normal import Normal
from undertow.distributions.one_hot_categorical import OneHotCategorical
from undertow.distributions.poisson import Poisson
from undertow.distributions.uniform import Uniform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from undertow import Tensor
    from undertow.distributions.distribution import Distribution

__all__ = ["kl_divergence", "register_kl"]

_REGISTRY: dict[tuple[type, type], Callable[..., Any]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator that registers a function of p and q for these classes and their subclasses."""

    def decorator(fun: Callable[..., Any]) -> Callable[..., Any]:
        _REGISTRY[type_p, type_q] = fun
        return fun

    return decorator


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Compute the Kullback-Leibler divergence KL(p || q).

    >>> import undertow as ut
    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    for kind_p in type(p).__mro__:
        for kind_q in type(q).__mro__:
            if (kind_p, kind_q) in _REGISTRY:
                return _REGISTRY[kind_p, kind_q](p, q)
    raise NotImplementedError(f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}")


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    distance = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + distance - 1 - ratio.log())


@register_kl(LogNormal, LogNormal)
def _log_normal(p: LogNormal, q: LogNormal) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError("KL-divergence between two Multivariate Normals with different event shapes cannot be computed")
    tril_p, tril_q = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    n = p.event_shape[0]
    batch = undertow.broadcast_shapes(tril_p.shape[:-2], tril_q.shape[:-2])
    tril_q_full = tril_q.expand((*batch, n, n))
    trace = undertow.linalg.solve_triangular(tril_q_full, tril_p.expand((*batch, n, n)), upper=False).pow(2).sum((-2, -1))
    return q._half_log_det() - p._half_log_det() + 0.5 * (trace + _mahalanobis(tril_q, q.loc - p.loc) - n)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    soft = undertow.nn.functional.softplus
    one = p.probs * (soft(-q.logits) - soft(-p.logits))
    zero = (1 - p.probs) * (soft(q.logits) - soft(p.logits))
    certain_p, certain_q = p.probs, q.probs
    one = undertow.where(certain_q == 0, math.inf, one)
    one = undertow.where(certain_p == 0, 0.0, one)
    zero = undertow.where(certain_q == 1, math.inf, zero)
    zero = undertow.where(certain_p == 1, 0.0, zero)
    return one + zero


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Tensor:
    t = p.probs * (p.logits - q.logits)
    t = undertow.where((q.probs == 0).expand_as(t), math.inf, t)
    t = undertow.where((p.probs == 0).expand_as(t), 0.0, t)
    return t.sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return undertow.where((q.low > p.low) | (q.high < p.high), math.inf, result)


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * undertow.exp(-distance / p.scale) - 1


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Tensor:
    return (
        q.concentration * (p.rate / q.rate).log()
        + undertow.lgamma(q.concentration)
        - undertow.lgamma(p.concentration)
        + (p.concentration - q.concentration) * undertow.digamma(p.concentration)
        + (q.rate - p.rate) * (p.concentration / p.rate)
    )


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    total_p, total_q = p.concentration.sum(-1), q.concentration.sum(-1)
    difference = p.concentration - q.concentration
    expected = undertow.digamma(p.concentration) - undertow.digamma(total_p).unsqueeze(-1)
    return (
        total_p.lgamma() - total_q.lgamma() - (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1) + (difference * expected).sum(-1)
    )


@register_kl(Beta, Beta)
def _beta(p: Beta, q: Beta) -> Tensor:
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("kl_divergence of two Independent with different reinterpreted_batch_ndims")
    return _sum_last(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
