"""Distributions compared with torch: the same draws from the same seed, densities, moments, entropies, derivatives, divergences."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
import torch.distributions as theirs

import undertow as ut
import undertow.distributions as ours

VECTOR = [0.3, 1.5, 2.0]
MATRIX = [[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.5]]
ROWS = [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]
CASES = {
    "Normal": [([-1.0, 0.0, 2.0], VECTOR)],
    "Uniform": [([-1.0, 0.0, 1.0], VECTOR)],
    "Bernoulli": [([0.1, 0.5, 0.9],), {"logits": [0.3, -1.0, 2.0]}],
    "Categorical": [(ROWS,), {"logits": [1.0, -1.0, 0.5]}],
    "OneHotCategorical": [(ROWS,), {"logits": [1.0, -1.0, 0.5]}],
    "Exponential": [(VECTOR,)],
    "Laplace": [([-1.0, 0.0, 2.0], VECTOR)],
    "LogNormal": [([-1.0, 0.0, 0.5], VECTOR)],
    "HalfNormal": [(VECTOR,)],
    "Poisson": [(VECTOR,)],
    "Cauchy": [([-1.0, 0.0, 2.0], VECTOR)],
    "Gumbel": [([-1.0, 0.0, 2.0], VECTOR)],
    "Geometric": [([0.1, 0.5, 0.9],), {"logits": [0.3, -1.0, 2.0]}],
    "StudentT": [([3.0, 2.5, 1.5], [-1.0, 0.0, 2.0], VECTOR)],
    "Gamma": [(VECTOR, [0.5, 1.0, 2.0])],
    "Chi2": [(VECTOR,)],
    "Beta": [(VECTOR, [0.7, 1.2, 3.0])],
    "Dirichlet": [([VECTOR, [1.0, 2.0, 0.5]],)],
    "MultivariateNormal": [(VECTOR, MATRIX), {"loc": [VECTOR, VECTOR], "precision_matrix": MATRIX}, {"loc": VECTOR, "scale_tril": [[1.0, 0, 0], [0.5, 2, 0], [0.1, 0.2, 1]]}],
}
FLAT = [(name, arguments, dtype) for name, cases in CASES.items() for arguments in cases for dtype in ("float64", "float32")]
TOLERANCE = {"float64": {"rtol": 1e-10, "atol": 1e-12}, "float32": {"rtol": 2e-5, "atol": 1e-6}}
GAMMAS = ("Gamma", "Chi2", "Beta", "Dirichlet", "StudentT")


def made(library, module, name, arguments, dtype, requires_grad=False):
    def tensor(v):
        return library.tensor(v, dtype=getattr(library, dtype), requires_grad=requires_grad)

    if isinstance(arguments, dict):
        parameters = {k: tensor(v) for k, v in arguments.items()}
        return getattr(module, name)(**parameters), list(parameters.values())
    parameters = [tensor(v) for v in arguments]
    return getattr(module, name)(*parameters), parameters


def close(ours_value, theirs_value, dtype):
    assert str(ours_value.dtype).split(".")[1] == str(theirs_value.dtype).split(".")[1]
    torch.testing.assert_close(torch.tensor(ours_value.tolist(), dtype=theirs_value.dtype).reshape(ours_value.shape), theirs_value.detach(), **TOLERANCE[dtype], equal_nan=True)


@pytest.mark.parametrize(("name", "arguments", "dtype"), FLAT)
def test_draws_moments_and_densities_match_torch(name, arguments, dtype):
    (p, _), (q, _) = made(ut, ours, name, arguments, dtype), made(torch, theirs, name, arguments, dtype)
    assert (tuple(p.batch_shape), tuple(p.event_shape)) == (tuple(q.batch_shape), tuple(q.event_shape))
    ut.manual_seed(5), torch.manual_seed(5)
    for shape in ((), (4,), (9, 2)):
        drawn = p.sample(shape)
        close(drawn, q.sample(shape), dtype)
    close(p.log_prob(drawn), q.log_prob(torch.tensor(drawn.tolist(), dtype=getattr(torch, str(drawn.dtype).split(".")[1]))), dtype)
    for moment in ("mean", "variance"):
        close(getattr(p, moment), getattr(q, moment), dtype)
    if name != "Poisson":
        close(p.entropy(), q.entropy(), dtype)
    close(p.stddev, q.stddev, dtype)
    close(p.expand((5, *p.batch_shape)).mean, q.expand((5, *q.batch_shape)).mean, dtype)


@pytest.mark.parametrize(("name", "arguments", "dtype"), [c for c in FLAT if getattr(ours, c[0]).has_rsample])
def test_differentiable_draws_and_their_derivatives(name, arguments, dtype):
    (p, ours_in), (q, theirs_in) = (made(lib, mod, name, arguments, dtype, True) for lib, mod in ((ut, ours), (torch, theirs)))
    ut.manual_seed(6), torch.manual_seed(6)
    x, y = p.rsample((3,)), q.rsample((3,))
    close(x, y, dtype)
    if name in ("Beta", "Dirichlet"):
        return  # another pathwise derivative: the mean of its estimates is tested below
    (x * x).sum().backward(), (y * y).sum().backward()
    for a, b in zip(ours_in, theirs_in):
        if name in GAMMAS:  # torch approximates dx/da by rational functions, to about four digits
            torch.testing.assert_close(torch.tensor(a.grad.tolist(), dtype=b.dtype), b.grad, rtol=2e-3, atol=1e-4)
        else:
            close(a.grad, b.grad, dtype)


def test_gradients_of_log_prob_and_entropy():
    for name, arguments in (("Normal", CASES["Normal"][0]), ("Gamma", CASES["Gamma"][0]), ("Dirichlet", CASES["Dirichlet"][0]), ("MultivariateNormal", CASES["MultivariateNormal"][0])):
        (p, ours_in), (q, theirs_in) = (made(lib, mod, name, arguments, "float64", True) for lib, mod in ((ut, ours), (torch, theirs)))
        value = q.sample((2,))
        (p.log_prob(ut.tensor(value.tolist(), dtype=ut.float64)).sum() + p.entropy().sum()).backward()
        (q.log_prob(value).sum() + q.entropy().sum()).backward()
        for a, b in zip(ours_in, theirs_in):  # torch's trigamma is accurate to nine digits
            torch.testing.assert_close(torch.tensor(a.grad.tolist(), dtype=b.dtype), b.grad, rtol=1e-8, atol=1e-9)


PAIRS = [name for name in CASES if name not in ("HalfNormal", "Cauchy", "Gumbel", "Geometric", "StudentT")]


@pytest.mark.parametrize("name", PAIRS)
def test_divergences_match_torch(name):
    arguments = CASES[name][0]
    other = tuple([[v * 1.25 + 0.01 for v in row] for row in a] if isinstance(a[0], list) else [v * 1.25 + 0.01 for v in a] for a in arguments)
    if name in ("Bernoulli",):
        other = ([0.2, 0.6, 0.5],)
    pair = []
    for library, module in ((ut, ours), (torch, theirs)):
        p, q = (made(library, module, name, a, "float64")[0] for a in (arguments, other))
        pair.append(module.kl_divergence(p, q))
    close(*pair, "float64")


def test_independent_and_mixtures():
    results = []
    for library, module in ((ut, ours), (torch, theirs)):
        library.manual_seed(3)
        base = module.Normal(library.zeros(2, 3), library.ones(2, 3))
        vector = module.Independent(base, 1)
        weights = module.Categorical(library.tensor([0.3, 0.7]))
        mixture = module.MixtureSameFamily(weights, vector)
        value = mixture.sample((4,))
        results.append([vector.log_prob(value.unsqueeze(1)), vector.entropy(), mixture.log_prob(value), value, mixture.mean, mixture.variance, module.kl_divergence(vector, vector)])
        assert (tuple(mixture.batch_shape), tuple(mixture.event_shape)) == ((), (3,))
    for a, b in zip(*results):
        close(a, b, "float32")


TRANSFORMS = {
    "tanh": lambda d, x: [d.TanhTransform()],
    "exp": lambda d, x: [d.ExpTransform()],
    "sigmoid of a line": lambda d, x: [d.AffineTransform(0.5, -2.0), d.SigmoidTransform()],
    "a composition": lambda d, x: d.ComposeTransform([d.AffineTransform(x, x * x + 1.0), d.SoftplusTransform()]),
    "the logarithm of a square": lambda d, x: [d.ExpTransform(), d.AffineTransform(0.0, 2.0), d.ExpTransform().inv],
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transformed_distributions(name):
    results = []
    for library, module in ((ut, ours), (torch, theirs)):
        library.manual_seed(3)
        x = library.tensor([0.3, -0.2], dtype=library.float64, requires_grad=True)
        d = module.TransformedDistribution(module.Normal(x, library.ones(2, dtype=library.float64)), TRANSFORMS[name](module, x))
        value = d.rsample((3,))
        density = d.log_prob(value.detach())
        (density.sum() + value.sum()).backward()
        results.append([value, d.sample((2,)), density, d.cdf(value), x.grad])
    for a, b in zip(*results):
        close(a, b, "float64")


def test_a_cached_transform_inverts_at_the_boundary():
    for library, module in ((ut, ours), (torch, theirs)):
        x = library.tensor([20.0], requires_grad=True)
        for size, finite in ((0, False), (1, True)):
            transform = module.TanhTransform(cache_size=size)
            assert bool(transform.inv(transform(x)).isfinite().all()) is finite


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("Normal", ([0.0], [-1.0])), ("Bernoulli", ([1.5],)), ("Categorical", ([-1.0, 2.0],)), ("Uniform", ([1.0], [0.0])), ("Exponential", ([0.0],)), ("Dirichlet", ([-1.0, 1.0],))],
)
def test_parameters_out_of_range_raise_as_in_torch(name, arguments):
    for library, module in ((ut, ours), (torch, theirs)):
        with pytest.raises(ValueError, match="Expected parameter|Uniform is not defined"):
            made(library, module, name, arguments, "float64")


def test_printed_as_torch_prints_it():
    for arguments in ((0.0, 1.0), (ut.zeros(2), 1.0)):
        given = tuple(torch.zeros(2) if isinstance(a, ut.Tensor) else a for a in arguments)
        assert repr(ours.Normal(*arguments)).replace("undertow", "torch") == repr(theirs.Normal(*given))
