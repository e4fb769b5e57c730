"""Transforms and bijections to constraints: inverses, log Jacobians, and values stored from PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as st

import undertow as ut
import undertow.distributions as d

CONSTRAINTS = {
    "positive": lambda c, t: c.positive,
    "greater": lambda c, t: c.greater_than(1.5),
    "less": lambda c, t: c.less_than(2.0),
    "interval": lambda c, t: c.interval(-1.0, 3.0),
    "half open": lambda c, t: c.half_open_interval(0.0, 1.0),
    "unit": lambda c, t: c.unit_interval,
    "simplex": lambda c, t: c.simplex,
    "real vector": lambda c, t: c.real_vector,
    "lower cholesky": lambda c, t: c.lower_cholesky,
    "positive definite": lambda c, t: c.positive_definite,
    "correlation": lambda c, t: c.corr_cholesky,
    "cat": lambda c, t: c.cat([c.positive, c.unit_interval], dim=-1, lengths=[1, 2]),
    "stack": lambda c, t: c.stack([c.positive, c.unit_interval, c.real], dim=-1),
    "boolean": lambda c, t: c.boolean,
}


X = [[0.3, -1.2, 0.8], [1.0, 0.5, -0.4], [2.0, 0.1, 0.2]]


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_transforms_to_constraints_match_torch(name, registry, same_as_torch):
    def scenario(L):
        constraint = CONSTRAINTS[name](L.distributions.constraints, L)
        transform = getattr(L.distributions, registry)(constraint)
        x = L.tensor(X[0] if name == "correlation" else X, dtype=L.float64)
        y = transform(x)
        assert bool(constraint.check(y).all())
        try:
            slope = transform.log_abs_det_jacobian(x, y)
        except NotImplementedError:
            slope = None
        event = transform.domain.event_dim, transform.codomain.event_dim, transform.bijective
        return y, transform.inv(y), slope, event, transform.forward_shape(x.shape), transform.inverse_shape(tuple(y.shape)), repr(constraint)

    same_as_torch(scenario, rtol=1e-7, atol=1e-9)


def log_det(f, x) -> float:
    """log |det J| of f at x by reverse mode, over as many outputs as there are inputs."""
    jacobian = ut.autograd.functional.jacobian(lambda v: f(v).reshape(-1)[: v.numel()], x).reshape(x.numel(), x.numel())
    return float(np.linalg.slogdet(jacobian.numpy())[1])


@pytest.mark.parametrize("name", ["positive", "greater", "less", "interval", "half open", "unit"])
def test_a_transform_to_a_scalar_constraint_has_its_jacobian(name):
    transform = d.biject_to(CONSTRAINTS[name](d.constraints, ut))
    for v in X[0]:
        x = ut.tensor([v], dtype=ut.float64)
        y = transform(x)
        assert transform.log_abs_det_jacobian(x, y).item() == pytest.approx(log_det(transform, x), rel=1e-9, abs=1e-9)
        assert transform.inv(y).item() == pytest.approx(v, rel=1e-9)


def test_stick_breaking_has_its_jacobian():
    transform, x = d.StickBreakingTransform(), ut.tensor(X[0], dtype=ut.float64)
    y = transform(x)
    assert y.sum().item() == pytest.approx(1.0) and (y > 0).all()
    # The last of the four parts follows from the others.
    assert transform.log_abs_det_jacobian(x, y).item() == pytest.approx(log_det(transform, x), rel=1e-9)
    ut.testing.assert_close(transform.inv(y), x)


TRANSFORMS = {
    "abs": lambda d, t: d.AbsTransform(),
    "power": lambda d, t: d.PowerTransform(t([2.0, -1.0, 0.5])),
    "cdf": lambda d, t: d.CumulativeDistributionTransform(d.Normal(t(0.5), t(2.0))),
    "independent": lambda d, t: d.IndependentTransform(d.ExpTransform(), 1),
    "reshape": lambda d, t: d.ReshapeTransform((2, 3), (3, 2)),
    "composed": lambda d, t: d.ComposeTransform([d.AffineTransform(t([0.0, 1.0, 2.0]), 2.0, event_dim=1), d.StickBreakingTransform()]),
    "inverse": lambda d, t: d.ComposeTransform([d.ExpTransform(), d.PowerTransform(t(2.0)), d.ExpTransform().inv]),
    "softmax": lambda d, t: d.SoftmaxTransform(),
}




@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_match_torch(name, same_as_torch):
    def scenario(L):
        t = lambda v: L.tensor(v, dtype=L.float64)
        transform = TRANSFORMS[name](L.distributions, t)
        assert transform == TRANSFORMS[name](L.distributions, t) or name in ("cdf", "independent", "reshape")
        x = t([[0.3, 1.2, 0.8], [1.0, 0.5, 2.4]])
        y = transform(x)
        cached = transform.with_cache(1)
        z = cached(x)
        assert cached.inv(z) is x and cached(x) is z
        try:
            slope = transform.log_abs_det_jacobian(x, y)
        except NotImplementedError:
            slope = None
        return [y, transform.inv(y), slope, repr(transform), transform.forward_shape((2, 3))]

    same_as_torch(scenario, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", ["power", "cdf", "independent", "composed", "inverse"])
def test_a_transform_has_its_jacobian(name):
    transform = TRANSFORMS[name](d, lambda v: ut.tensor(v, dtype=ut.float64))
    x = ut.tensor([0.3, 1.2, 0.8], dtype=ut.float64)
    assert transform.log_abs_det_jacobian(x, transform(x)).sum().item() == pytest.approx(log_det(transform, x), rel=1e-9)


TRANSFORMED = {
    "tanh": (lambda x: [d.TanhTransform()], np.tanh),
    "exp": (lambda x: [d.ExpTransform()], np.exp),
    "sigmoid of a line": (lambda x: [d.AffineTransform(0.5, -2.0), d.SigmoidTransform()], lambda v: 1 / (1 + np.exp(2 * v - 0.5))),
    "a composition": (lambda x: d.ComposeTransform([d.AffineTransform(1.0, 3.0), d.SoftplusTransform()]), lambda v: np.log1p(np.exp(1 + 3 * v))),
    "the logarithm of a square": (lambda x: [d.ExpTransform(), d.AffineTransform(0.0, 2.0), d.ExpTransform().inv], lambda v: v + np.log(2)),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_a_transformed_density_follows_the_change_of_variables(name):
    make, f = TRANSFORMED[name]
    loc = ut.tensor([0.3, -0.2], dtype=ut.float64, requires_grad=True)
    base = st.norm(np.array([0.3, -0.2]), 1.0)
    p = d.TransformedDistribution(d.Normal(loc, ut.ones(2, dtype=ut.float64)), make(loc))
    v, step = np.array([[0.1, -0.7], [0.9, 0.4]]), 1e-6
    slope = (f(v + step) - f(v - step)) / (2 * step)
    np.testing.assert_allclose(p.log_prob(ut.tensor(f(v))).detach().numpy(), base.logpdf(v) - np.log(np.abs(slope)), rtol=1e-7, atol=1e-7)
    wanted = base.cdf(v) if (slope > 0).all() else 1 - base.cdf(v)
    np.testing.assert_allclose(p.cdf(ut.tensor(f(v))).detach().numpy(), wanted, rtol=1e-7)
    assert ut.autograd.gradcheck(lambda m: d.TransformedDistribution(d.Normal(m, ut.ones(2).double()), make(m)).log_prob(ut.tensor(f(v))), [loc])
    ut.manual_seed(3)
    drawn = p.sample((1500,)).numpy()
    u = p.cdf(ut.tensor(drawn)).detach().numpy()
    assert all(st.kstest(column, "uniform").pvalue > 1e-4 for column in u.T)


def test_a_cached_transform_inverts_at_the_boundary():
    x = ut.tensor([20.0], requires_grad=True)
    for size, finite in ((0, False), (1, True)):
        transform = d.TanhTransform(cache_size=size)
        assert bool(transform.inv(transform(x)).isfinite().all()) is finite


INVERTED = {
    "exp": lambda T, L: T.ExpTransform(),
    "affine": lambda T, L: T.AffineTransform(1.0, 2.0),
    "sigmoid": lambda T, L: T.SigmoidTransform(),
    "abs": lambda T, L: T.AbsTransform(),
    "softmax": lambda T, L: T.SoftmaxTransform(),
    "stick": lambda T, L: T.StickBreakingTransform(),
    "power": lambda T, L: T.PowerTransform(L.tensor(2.0)),
    "composed": lambda T, L: T.ComposeTransform([T.ExpTransform(), T.AffineTransform(0.0, 3.0)]),
    "independent": lambda T, L: T.IndependentTransform(T.ExpTransform(), 1),
    "reshape": lambda T, L: T.ReshapeTransform((2, 3), (6,)),
    "cat": lambda T, L: T.CatTransform([T.ExpTransform(), T.AffineTransform(0.0, 1.0)]),
    "stack": lambda T, L: T.StackTransform([T.ExpTransform(), T.AffineTransform(0.0, 1.0)]),
    "identity": lambda T, L: T.identity_transform,
    "empty": lambda T, L: T.ComposeTransform([]),
}


@pytest.mark.parametrize("name", INVERTED)
def test_the_inverse_of_the_inverse_is_the_transform_itself(name, same_as_torch):
    def scenario(L):
        t = INVERTED[name](L.distributions.transforms, L)
        inverse = t.inv
        same = inverse.inv is t, t.inv is inverse, inverse == t.inv, t == t, t == inverse, inverse == t
        return same, repr(t), repr(inverse), t.with_cache(1).inv.inv._cache_size

    result = same_as_torch(scenario)
    assert result[0][0] and result[0][1]
    assert (result[0][4]) == (name in ("identity", "empty"))


def test_a_copied_transform_has_its_own_inverse():
    import copy
    import gc
    import pickle
    import weakref

    for t in (d.ExpTransform(), d.ExpTransform().inv, d.ComposeTransform([d.ExpTransform(), d.AffineTransform(0.0, 3.0)])):
        for again in (copy.deepcopy(t), pickle.loads(pickle.dumps(t))):
            assert again == t and again is not t
            assert again.inv is not t.inv
            assert again.inv.inv is again
    t = d.ExpTransform()
    alive = weakref.ref(t.inv)
    del t
    gc.collect()
    assert alive() is None


def test_a_second_base_of_a_transform_or_distribution_is_initialized():
    class Shift(d.Transform, ut.nn.Module):
        bijective = True
        domain = codomain = d.constraints.real

        def __init__(self):
            super().__init__(cache_size=1)
            self.by = ut.nn.Parameter(ut.tensor(2.0))

        def _call(self, x):
            return x + self.by

    class Learned(d.Normal, ut.nn.Module):
        def __init__(self):
            super().__init__(0.0, 1.0)
            self.bias = ut.nn.Parameter(ut.tensor(1.0))

    class Parts(d.ComposeTransform, ut.nn.ModuleList):
        def __init__(self, parts):
            super().__init__(parts)
            self.extend(parts)

    parts = Parts([Shift(), Shift()])
    assert parts(ut.tensor(1.0)).item() == 5 and len(list(parts.parameters())) == 2
    assert [name for name, _ in Learned().named_parameters()] == ["bias"]
