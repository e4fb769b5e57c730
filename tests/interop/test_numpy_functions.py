"""NumPy's functions on tensors: without a gradient they match torch's; with one they are differentiable or raise."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut

ONE = str.split("""exp exp2 expm1 log log2 log10 log1p sqrt square reciprocal sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arctanh absolute fabs
negative positive conjugate deg2rad rad2deg degrees radians""")
TWO = str.split("add subtract multiply divide power float_power arctan2 hypot maximum minimum fmax fmin logaddexp logaddexp2 copysign remainder fmod")
FLAT = str.split("floor ceil trunc rint sign isnan isinf isfinite signbit logical_not")


def leaf():
    return ut.tensor([0.31, 0.64, 0.97], dtype=ut.float64, requires_grad=True)


def close(ours, numpys):
    assert isinstance(ours, ut.Tensor)
    np.testing.assert_allclose(ours.detach().resolve_conj().numpy(), numpys, rtol=1e-12)


def derivative(function, x):
    """By central differences in NumPy alone."""
    h = 1e-6
    return (function(x + h) - function(x - h)) / (2 * h)


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_argument_have_numpys_values_and_derivatives(name):
    x, f = leaf(), getattr(np, name)
    y = f(x)
    close(y, f(x.detach().numpy()))
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), derivative(f, x.detach().numpy()), rtol=1e-5)


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize("other", [np.array([1.7, 0.23, 2.6]), 1.7, np.float64(1.7)], ids=["array", "number", "scalar"])
@pytest.mark.parametrize("first", [True, False], ids=["tensor first", "tensor second"])
def test_functions_of_two_arguments_have_numpys_values_and_derivatives(name, other, first):
    x, f = leaf(), getattr(np, name)
    at = (lambda v: f(v, other)) if first else (lambda v: f(other, v))
    y = at(x)
    close(y, at(x.detach().numpy()))
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), derivative(at, x.detach().numpy()), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", FLAT)
def test_functions_without_a_slope_have_numpys_values(name):
    x, f = leaf(), getattr(np, name)
    assert f(x).tolist() == f(x.detach().numpy()).tolist()


def test_operators_with_an_array_on_either_side_are_differentiable():
    a = np.array([1.0, 2.0, 3.0])
    for f in (
        lambda x: a + x, lambda x: x + a, lambda x: a - x, lambda x: a * x, lambda x: x * a, lambda x: a / x, lambda x: x / a,
        lambda x: a**x, lambda x: x**a, lambda x: a // x, lambda x: a % x, lambda x: a @ x, lambda x: x @ a,
    ):  # fmt: skip
        x = leaf()
        y = f(x)
        close(y, f(x.detach().numpy()))
        assert y.requires_grad
    for f in (lambda x: a < x, lambda x: a == x, lambda x: x >= a):
        y = f(leaf())
        assert y.dtype is ut.bool and y.tolist() == f(leaf().detach().numpy()).tolist()


def test_arrays_and_tensors_without_a_gradient_can_be_mixed():
    a, t = np.ones(2), ut.ones(2)
    assert (a * t).tolist() == [1.0, 1.0] and (a * t).dtype is ut.float64
    assert (a @ t).item() == 2.0
    a += t
    assert a.tolist() == [2.0, 2.0]
    assert (np.float64(2) * t).dtype is ut.float32
    assert (np.float32(2) * leaf()).requires_grad


def test_dtypes_promote_as_in_numpy():
    x = ut.ones(2, requires_grad=True)
    assert (np.ones(2) * x).dtype is ut.float64
    assert np.matmul(np.ones((2, 2)), x).dtype is ut.float64
    assert (np.ones(2, np.float32) * x).dtype is ut.float32
    assert (np.arange(2) * x).dtype is ut.float32
    assert np.maximum(x, 0).dtype is ut.float32


def test_reductions_accumulations_and_outer_products_of_ufuncs():
    x = ut.arange(6.0, dtype=ut.float64).reshape(2, 3).requires_grad_()
    n = x.detach().numpy()
    for f in (
        lambda v: np.add.reduce(v), lambda v: np.add.reduce(v, axis=1, keepdims=True), lambda v: np.multiply.reduce(v, axis=None),
        lambda v: np.maximum.reduce(v, axis=(0, 1)), lambda v: np.minimum.reduce(v), lambda v: np.add.accumulate(v, axis=1),
        lambda v: np.multiply.outer(v, v), lambda v: np.subtract.outer(v, [1.0]),
    ):  # fmt: skip
        y = f(x)
        close(y, f(n))
        assert y.requires_grad


FUNCTIONS = [
    lambda x: np.sum(x), lambda x: np.sum(x, axis=1), lambda x: np.mean(x, axis=0, keepdims=True), lambda x: np.prod(x, axis=1), lambda x: np.std(x), lambda x: np.var(x, axis=1, ddof=1),
    lambda x: np.max(x, axis=1), lambda x: np.amin(x), lambda x: np.cumsum(x), lambda x: np.cumprod(x, axis=1),
    lambda x: np.concatenate([x, np.ones((1, 3))]), lambda x: np.stack([x, x], axis=1), lambda x: np.vstack([x, x]), lambda x: np.hstack([x, x]),
    lambda x: np.where(np.array([True, False, True]), x, 0.0), lambda x: np.clip(x, 1.0, 3.0), lambda x: np.clip(x, None, 3.0),
    lambda x: np.dot(x, np.ones(3)), lambda x: np.dot(x, np.ones((3, 2))), lambda x: np.dot(2.0, x), lambda x: np.inner(x, x), lambda x: np.outer(x, [1.0, 2.0]), lambda x: np.kron(x, np.eye(2)),
    lambda x: np.tensordot(x, np.ones((3, 4)), 1), lambda x: np.einsum("ij,kj->ik", x, x), lambda x: np.transpose(x), lambda x: np.swapaxes(x, 0, 1), lambda x: np.moveaxis(x, 0, 1),
    lambda x: np.expand_dims(x, 0), lambda x: np.broadcast_to(x, (4, 2, 3)), lambda x: np.reshape(x, (3, 2)), lambda x: np.ravel(x), lambda x: np.flip(x), lambda x: np.flip(x, 1),
    lambda x: np.roll(x, 1), lambda x: np.roll(x, 1, 0), lambda x: np.tile(x, 2), lambda x: np.tile(x, (2, 1)), lambda x: np.trace(x), lambda x: np.tril(x), lambda x: np.triu(x, 1),
    lambda x: np.diag(x), lambda x: np.sort(x, axis=0), lambda x: np.linalg.norm(x), lambda x: np.linalg.norm(x, axis=1), lambda x: np.linalg.pinv(x),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_other_functions_are_differentiable_and_have_numpys_values(number):
    f = FUNCTIONS[number]
    x = ut.arange(6.0, dtype=ut.float64).reshape(2, 3).add(0.5).requires_grad_()
    y = f(x)
    close(y, f(x.detach().numpy()))
    y.sum().backward()
    assert x.grad.shape == x.shape


def test_fourier_transforms():
    x = leaf()
    for f in (np.fft.fft, np.fft.rfft, lambda v: np.fft.fft(v, n=5, axis=0), lambda v: np.fft.fft(v, norm="ortho"), np.fft.fftshift, np.fft.ihfft):
        y = f(x)
        close(y, f(x.detach().numpy()))
        assert y.requires_grad


def test_square_matrices():
    x = (ut.eye(2, dtype=ut.float64) * 2 + 0.5).requires_grad_()
    for f in (np.linalg.inv, np.linalg.det, np.linalg.cholesky, lambda v: np.linalg.solve(v, np.ones((2, 1)))):
        y = f(x)
        close(y, f(x.detach().numpy()))
        assert y.requires_grad


ERROR_CASES = [
    lambda x: np.cbrt(x), lambda x: np.spacing(x), lambda x: np.modf(x), lambda x: np.sin(x, out=np.ones(3)), lambda x: np.sin(x, where=[True, False, True]), lambda x: np.add.reduceat(x, [0]),
    lambda x: np.unwrap(x), lambda x: np.interp(x, [0.0, 1.0], [0.0, 1.0]), lambda x: np.fft.fft(x, out=np.ones(3, complex)), lambda x: np.linalg.svd(x.reshape(1, 3)), lambda x: np.sum(x, where=[True, False, True]),
    lambda x: np.ones(3).__iadd__(x), lambda x: np.asarray(x), lambda x: np.array([x, x]), lambda x: np.concatenate([x, x], dtype=np.float32),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(ERROR_CASES)))
def test_functions_that_would_lose_the_graph_raise(number):
    with pytest.raises(RuntimeError, match="^Can't call numpy\\(\\) on Tensor that requires grad"):
        ERROR_CASES[number](leaf())


def test_results_without_a_gradient_match_torch():
    t = ut.tensor([0.0, 1.0])
    assert isinstance(np.sin(t), ut.Tensor)
    assert np.isnan(t).dtype is ut.uint8
    assert isinstance(np.concatenate([t, t]), np.ndarray)
    assert isinstance(np.stack([t, t]), np.ndarray)
    assert isinstance(np.zeros_like(t), np.ndarray)
    assert np.shape(leaf()) == (3,) and np.ndim(leaf()) == 1
    out = np.zeros(2, np.float32)
    assert np.exp(t, out=out) is out
    assert [r.tolist() for r in np.divmod(ut.tensor([5.0, 7.0]), 2)] == [[2.0, 3.0], [1.0, 1.0]]
    assert np.max(t).item() == 1.0 and np.mean(ut.tensor([1, 2])).item() == 1.5
    with pytest.raises(TypeError, match="return arrays must be of ArrayType"):
        np.exp(t, out=t)
    with ut.no_grad():
        y = np.sin(leaf())
    assert isinstance(y, ut.Tensor) and not y.requires_grad
