"""The rarer distributions, constraints and transforms compared with torch: draws, densities, moments, derivatives, divergences."""

from __future__ import annotations

import warnings

import pytest

torch = pytest.importorskip("torch")
import torch.distributions as theirs

import undertow as ut
import undertow.distributions as ours

V, W = [0.3, 1.5, 2.0], [0.7, 1.2, 3.0]
PROBS, LOGITS, ROWS = [0.1, 0.5, 0.9], [0.3, -1.0, 2.0], [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]
MATRIX, TRIL = [[2.0, 0.3], [0.3, 1.0]], [[1.0, 0.0], [0.5, 2.0]]
CASES = {
    "Binomial": [((10, PROBS), {}), ((3.0,), {"logits": LOGITS}), ((200, PROBS), {}), ((1000, [0.3, 0.04, 0.7]), {})],
    "NegativeBinomial": [((5, [0.1, 0.5, 0.8]), {}), ((2.5,), {"logits": LOGITS})],
    "ContinuousBernoulli": [((PROBS,), {}), ((), {"logits": LOGITS}), (([0.4995, 0.5003, 0.2],), {})],
    "FisherSnedecor": [(([3.0, 2.5, 5.0], [5.0, 6.0, 1.5]), {})],
    "GeneralizedPareto": [(([0.0, 1.0, -1.0], V, [0.2, 0.0, -0.5]), {})],
    "HalfCauchy": [((V,), {})],
    "InverseGamma": [((W, V), {}), (([3.0, 2.5], [1.0, 2.0]), {})],
    "Kumaraswamy": [((W, V), {}), (([2.0, 3.0], [2.0, 1.5]), {})],
    "LogisticNormal": [((V, W), {}), (([V, V], [W, W]), {})],
    "LowRankMultivariateNormal": [(([0.0, 1.0], [[1.0], [0.5]], [0.5, 2.0]), {}), (([[0.0, 1.0], [2.0, 3.0]], [[1.0], [0.5]], [0.5, 2.0]), {})],
    "Multinomial": [((7, ROWS), {}), ((4,), {"logits": LOGITS})],
    "OneHotCategoricalStraightThrough": [((ROWS,), {})],
    "Pareto": [((V, W), {}), (([1.0, 2.0], [3.0, 2.5]), {})],
    "RelaxedBernoulli": [((0.7, PROBS), {}), ((0.3,), {"logits": LOGITS})],
    "RelaxedOneHotCategorical": [((0.7, ROWS), {}), ((1.3,), {"logits": LOGITS})],
    "VonMises": [(([-1.0, 0.0, 2.0], V), {}), ((0.5, 20.0), {})],
    "Weibull": [((V, W), {})],
    "Wishart": [((4.0, MATRIX), {}), (([3.0, 5.5],), {"scale_tril": TRIL}), ((3.5,), {"precision_matrix": MATRIX})],
    "LKJCholesky": [((3, [0.5, 2.0]), {}), ((4, 1.5), {})],
}
FLAT = [
    (name, i, dtype)
    for name, cases in CASES.items()
    for i in range(len(cases))
    for dtype in ("float64", "float32")
    if (name, dtype) != ("GeneralizedPareto", "float64")  # torch's raises there
]
TOLERANCE = {"float64": {"rtol": 1e-7, "atol": 1e-9}, "float32": {"rtol": 2e-4, "atol": 2e-5}}
COUNTS = ("Binomial", "Multinomial", "NegativeBinomial", "LKJCholesky")  # their first argument is a number


def made(lib, module, name, i, dtype, requires_grad=False):
    def tensor(v):
        return lib.tensor(v, dtype=getattr(lib, dtype), requires_grad=requires_grad)

    args, kwargs = CASES[name][i]
    args = [v if k == 0 and name in COUNTS else tensor(v) for k, v in enumerate(args)]
    kwargs = {k: tensor(v) for k, v in kwargs.items()}
    return getattr(module, name)(*args, **kwargs), [v for v in (*args, *kwargs.values()) if isinstance(v, lib.Tensor)]


def close(a, b, dtype="float64", **more):
    assert str(a.dtype).split(".")[1] == str(b.dtype).split(".")[1] and tuple(a.shape) == tuple(b.shape)
    torch.testing.assert_close(torch.tensor(a.tolist(), dtype=b.dtype).reshape(a.shape), b.detach(), **{**TOLERANCE[dtype], **more}, equal_nan=True)


def to_torch(x):
    return torch.tensor(x.detach().tolist(), dtype=getattr(torch, str(x.dtype).split(".")[1])).reshape(tuple(x.shape))


def sampled(q, shape):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return q.sample(shape)


@pytest.mark.parametrize(("name", "i", "dtype"), FLAT)
def test_draws_densities_and_moments_match_torch(name, i, dtype):
    (p, _), (q, _) = made(ut, ours, name, i, dtype), made(torch, theirs, name, i, dtype)
    assert (tuple(p.batch_shape), tuple(p.event_shape)) == (tuple(q.batch_shape), tuple(q.event_shape))
    assert p.has_rsample == q.has_rsample and repr(p).replace("undertow", "torch") == repr(q)
    ut.manual_seed(5), torch.manual_seed(5)
    for shape in ((), (4,), (9, 2)):
        drawn, wanted = p.sample(shape), sampled(q, shape)
        if name == "Wishart":  # torch considers every draw singular, and draws again
            continue
        close(drawn, wanted, dtype, **({"rtol": 2e-3, "atol": 2e-4} if dtype == "float32" else {}))
    value = wanted
    mine = ut.tensor(value.tolist(), dtype=getattr(ut, dtype)).reshape(tuple(value.shape))
    loose = {"rtol": 1e-5, "atol": 1e-5} if name == "VonMises" else {"rtol": 1e-3, "atol": 1e-3} if dtype == "float32" else {}
    close(p.log_prob(mine), q.log_prob(value), dtype, **loose)
    for what in ("mean", "variance", "stddev", "mode"):
        try:
            expected = getattr(q, what)
        except NotImplementedError:
            continue
        if (name, what) == ("Kumaraswamy", "mode"):  # torch's is NaN
            got = p.mode[p.mode.isfinite()]
            assert bool(((got > 0) & (got < 1)).all())
            continue
        loose = {"rtol": 1e-5, "atol": 1e-6} if name == "VonMises" else {}  # torch's Bessel functions have six digits
        close(getattr(p, what), expected, dtype, **loose)
    for what in ("entropy", "cdf", "icdf"):
        try:
            expected = getattr(q, what)(*([] if what == "entropy" else [value.clamp(0.01, 0.99) if what == "icdf" else value]))
        except NotImplementedError:
            continue
        got = getattr(p, what)(*([] if what == "entropy" else [mine.clamp(0.01, 0.99) if what == "icdf" else mine]))
        loose = {"rtol": 1e-6} if (name, what) == ("Multinomial", "entropy") else {}  # torch computes lgamma of the counts in float32
        close(got, expected, dtype, **loose)
    grown = p.expand((5, *p.batch_shape))
    assert tuple(grown.sample().shape) == tuple(sampled(q.expand((5, *q.batch_shape)), ()).shape)


PATHS = [c for c in FLAT if getattr(theirs, c[0]).has_rsample and c[2] == "float64" and c[0] != "Wishart"]


@pytest.mark.parametrize(("name", "i", "dtype"), PATHS)
def test_differentiable_draws_have_torchs_derivatives(name, i, dtype):
    (p, mine), (q, wanted) = (made(lib, mod, name, i, dtype, True) for lib, mod in ((ut, ours), (torch, theirs)))
    ut.manual_seed(6), torch.manual_seed(6)
    x, y = p.rsample((3,)), q.rsample((3,))
    close(x, y)
    w = ut.arange(float(x.numel()), dtype=ut.float64).reshape(x.shape)
    (x * w).sum().backward(), (y * to_torch(w)).sum().backward()
    for a, b in zip(mine, wanted):
        if b.grad is not None and b.grad.isfinite().all():
            torch.testing.assert_close(to_torch(a.grad), b.grad, rtol=5e-3, atol=1e-3)  # torch's gamma gradient has four digits


@pytest.mark.parametrize("name", [n for n in CASES if n not in ("OneHotCategoricalStraightThrough", "GeneralizedPareto")])
def test_densities_have_torchs_derivatives(name):
    grads = []
    q0 = made(torch, theirs, name, 0, "float64")[0]
    torch.manual_seed(0)
    value = sampled(q0, (3,))
    for lib, module in ((ut, ours), (torch, theirs)):
        d, parameters = made(lib, module, name, 0, "float64", True)
        x = lib.tensor(value.tolist(), dtype=lib.float64).reshape(tuple(value.shape))
        d.log_prob(x).sum().backward()
        grads.append([None if p.grad is None else p.grad for p in parameters])
    for a, b in zip(*grads):
        assert (a is None) == (b is None)
        if a is not None:
            torch.testing.assert_close(to_torch(a), b, rtol=1e-5, atol=1e-6)


PAIRS = [
    ("Binomial", 0, 0), ("ContinuousBernoulli", 0, 1), ("Pareto", 0, 0), ("LowRankMultivariateNormal", 0, 0), ("Wishart", 0, 0),
    ("HalfCauchy", 0, 0),
]  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: p[0])
def test_divergences_within_a_family_match_torch(pair):
    name, i, j = pair
    results = []
    for lib, module in ((ut, ours), (torch, theirs)):
        p, q = made(lib, module, name, i, "float64")[0], made(lib, module, name, j, "float64")[0]
        try:
            results.append(module.kl_divergence(p, q))
        except NotImplementedError as error:
            results.append(type(error))
    if isinstance(results[0], type):
        assert results[0] is results[1]
    else:
        close(*results)


def members(lib, module):
    t = lambda v: lib.tensor(v, dtype=lib.float64)
    d = module
    return {
        "Bernoulli": d.Bernoulli(t([0.3, 0.6])),
        "Beta": d.Beta(t([0.5, 2.0]), t([1.5, 3.0])),
        "Binomial": d.Binomial(5, t([0.3, 0.6])),
        "Categorical": d.Categorical(t([[0.3, 0.7], [0.6, 0.4]])),
        "Cauchy": d.Cauchy(t([0.0, 1.0]), t([1.0, 2.0])),
        "ContinuousBernoulli": d.ContinuousBernoulli(t([0.3, 0.6])),
        "Exponential": d.Exponential(t([0.5, 2.0])),
        "Gamma": d.Gamma(t([0.5, 2.0]), t([1.5, 3.0])),
        "Geometric": d.Geometric(t([0.3, 0.6])),
        "Gumbel": d.Gumbel(t([0.0, 1.0]), t([1.0, 2.0])),
        "HalfNormal": d.HalfNormal(t([0.5, 2.0])),
        "Laplace": d.Laplace(t([0.0, 1.0]), t([1.0, 2.0])),
        "Normal": d.Normal(t([0.1, 0.6]), t([1.5, 2.0])),
        "Pareto": d.Pareto(t([1.0, 2.0]), t([3.0, 4.0])),
        "Poisson": d.Poisson(t([0.5, 2.0])),
        "Uniform": d.Uniform(t([0.1, 1.2]), t([0.9, 1.9])),
        "LowRank": d.LowRankMultivariateNormal(t([0.0, 1.0]), t([[1.0], [0.5]]), t([0.5, 2.0])),
        "MultivariateNormal": d.MultivariateNormal(t([0.5, 0.0]), t(MATRIX)),
    }


@pytest.mark.parametrize("first", sorted(members(torch, theirs)))
def test_divergences_between_families_match_torch(first):
    a, b = members(ut, ours), members(torch, theirs)
    for second in a:
        outcomes = []
        for module, d in ((ours, a), (theirs, b)):
            try:
                outcomes.append(module.kl_divergence(d[first], d[second]))
            except (NotImplementedError, ValueError) as error:
                outcomes.append(type(error))
        if isinstance(outcomes[1], type):
            assert outcomes[0] is outcomes[1], second
        else:
            close(*outcomes)


def test_divergence_within_an_exponential_family_uses_the_log_normalizers():
    def divergence(lib, module):
        class Wait(module.Exponential):
            pass

        rates = (lib.tensor(v, dtype=lib.float64, requires_grad=True) for v in ([0.5, 2.0], [1.0, 3.0]))
        p, q = (Wait(rate) for rate in rates)
        return module.kl.kl_divergence(p, q), getattr(module.kl, "_kl_expfamily_expfamily", None) or module._kl_pairs._families, p, q

    (mine, ours_by_family, p, q), (other, theirs_by_family, tp, tq) = divergence(ut, ours), divergence(torch, theirs)
    close(mine, other)
    close(ours_by_family(p, q), theirs_by_family(tp, tq))
    with pytest.raises(NotImplementedError, match="different exponential families"):
        ours_by_family(p, ours.Poisson(1.0))


@pytest.mark.parametrize("shape", [1e-3, 0.3, 1.0, 2.5, 40.0, 1e5])
def test_gamma_draws_and_their_derivatives_match_torch(shape):
    drawn, slopes = [], []
    for lib in (ut, torch):
        lib.manual_seed(4)
        a = lib.full((50,), shape, dtype=lib.float64, requires_grad=True)
        x = lib._standard_gamma(a)
        x.sum().backward()
        assert x.grad_fn.name() == "StandardGammaBackward0"
        drawn.append(x.detach())
        slopes.append(a.grad)
    close(*drawn)
    torch.testing.assert_close(torch.tensor(slopes[0].tolist(), dtype=torch.float64), slopes[1], rtol=2e-3, atol=0)  # torch's are approximations


def test_binomial_draws_match_torch():
    drawn = []
    for lib in (ut, torch):
        lib.manual_seed(4)
        drawn.append(lib.binomial(lib.tensor([[5.0], [80.0], [0.0]]).expand(3, 21), lib.linspace(0, 1, 21).expand(3, 21)))
    close(*drawn)
