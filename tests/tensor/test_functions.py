"""Python functions composed of operators: unique elements, covariances, numerical gradients, histograms, shuffles."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import undertow as ut
from undertow.nn import functional as F


def test_unique_returns_what_was_requested():
    x = ut.tensor([[2, 1], [2, 3]])
    assert x.unique().tolist() == [1, 2, 3]
    values, inverse, counts = ut.unique(x, return_inverse=True, return_counts=True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([1, 2, 3], [[1, 0], [1, 2]], [1, 2, 1])
    assert ut.unique(ut.tensor([[1, 1], [0, 2], [1, 1]]), dim=0).tolist() == [[0, 2], [1, 1]]
    assert ut.unique_consecutive(ut.tensor([1, 1, 0, 1])).tolist() == [1, 0, 1]


@pytest.mark.parametrize("dtype", ["int64", "float32", "uint8", "bool", "float16"])
def test_unique_consecutive_finds_the_runs(dtype: str):
    import itertools

    rng = np.random.default_rng(0)
    for size, high in ((0, 2), (1, 2), (7, 1), (1000, 2), (300_000, 5)):
        x = rng.integers(0, high, size).astype(dtype)
        runs = [(key, len(list(run))) for key, run in itertools.groupby(x.tolist())]
        values, inverse, counts = ut.unique_consecutive(ut.from_numpy(x), return_inverse=True, return_counts=True)
        assert values.tolist() == [key for key, _ in runs] and counts.tolist() == [n for _, n in runs]
        assert ut.equal(values[inverse], ut.from_numpy(x)) and (inverse.diff() >= 0).all()
        assert ut.equal(ut.unique_consecutive(ut.from_numpy(x)), values)


def test_unique_consecutive_compares_slices_and_keeps_the_first_of_equal_zeros():
    x = ut.tensor([[1, 1, 2], [1, 1, 2], [0, 0, 2]])
    values, inverse, counts = x.unique_consecutive(return_inverse=True, return_counts=True, dim=0)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([[1, 1, 2], [0, 0, 2]], [0, 0, 1], [2, 1])
    assert x.unique_consecutive(dim=1).tolist() == [[1, 2], [1, 2], [0, 2]]
    zeros, inverse = ut.unique_consecutive(ut.tensor([-0.0, 0.0, float("nan"), float("nan")]), return_inverse=True)
    assert inverse.tolist() == [0, 0, 1, 2] and zeros.signbit().tolist()[0]


def test_covariances_and_correlations_match_numpy():
    x = np.random.default_rng(0).standard_normal((3, 5))
    count, weight = np.array([1, 2, 1, 3, 1]), np.array([0.5, 1.0, 0.2, 0.7, 1.0])
    t = ut.from_numpy(x)
    np.testing.assert_allclose(t.cov().numpy(), np.cov(x))
    np.testing.assert_allclose(ut.cov(t, correction=0, fweights=ut.from_numpy(count), aweights=ut.from_numpy(weight)).numpy(),
                               np.cov(x, ddof=0, fweights=count, aweights=weight))
    np.testing.assert_allclose(ut.corrcoef(t).numpy(), np.corrcoef(x))
    with pytest.raises(RuntimeError, match="expected fweights to have integral dtype"):
        ut.cov(t, fweights=ut.from_numpy(weight))
    with pytest.raises(RuntimeError, match="two or fewer dimensions"):
        ut.cov(ut.ones(1, 2, 3))


@pytest.mark.parametrize("edge_order", [1, 2])
def test_numerical_gradients_match_numpy(edge_order: int):
    x = np.random.default_rng(0).standard_normal((4, 5))
    at = np.array([0.0, 1.0, 1.5, 4.0])
    for ours, theirs in zip(ut.gradient(ut.from_numpy(x), edge_order=edge_order), np.gradient(x, edge_order=edge_order), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs)
    (ours,) = ut.gradient(ut.from_numpy(x), spacing=[ut.from_numpy(at)], dim=0, edge_order=edge_order)
    np.testing.assert_allclose(ours.numpy(), np.gradient(x, at, axis=0, edge_order=edge_order))
    with pytest.raises(RuntimeError, match="at least edge_order"):
        ut.gradient(ut.ones(edge_order), edge_order=edge_order)


def test_histograms_match_numpy():
    x = np.random.default_rng(0).standard_normal(50)
    weight = np.random.default_rng(1).uniform(size=50)
    for density in (False, True):
        found = ut.histogram(ut.from_numpy(x), 7, range=(-1.0, 2.0), weight=ut.from_numpy(weight), density=density)
        wanted, edges = np.histogram(x, 7, (-1.0, 2.0), weights=weight, density=density)
        np.testing.assert_allclose(found.hist.numpy(), wanted)
        np.testing.assert_allclose(found.bin_edges.numpy(), edges)
    points = np.random.default_rng(2).standard_normal((40, 2))
    found, edges = ut.histogramdd(ut.from_numpy(points), [3, 4])
    np.testing.assert_allclose(found.numpy(), np.histogramdd(points, (3, 4))[0])
    assert [len(e) for e in edges] == [4, 5]


@pytest.mark.parametrize("call", [
    lambda x, w: ut.histogram(x[:, 0], 3), lambda x, w: ut.histogram(x.detach()[:, 0], 3, weight=w), lambda x, w: ut.histogramdd(x, [2, 2]),
    lambda x, w: ut.histogramdd(x, [ut.tensor([0.0, 0.5, 1.0])] * 2),
], ids=["elements", "weights", "points", "edges"])  # fmt: skip
def test_histograms_require_grad_but_have_no_derivative(call):
    found = call(ut.tensor([[0.1, 0.2], [0.7, 0.9]], requires_grad=True), ut.tensor([1.0, 2.0], requires_grad=True))
    assert found.hist.requires_grad and found.hist.sum().item() > 0
    with pytest.raises(RuntimeError, match="derivative for aten::_?histogram.* is not implemented"):
        found.hist.sum().backward()
    with ut.no_grad():
        assert not call(ut.rand(2, 2, requires_grad=True), ut.rand(2)).hist.requires_grad


def test_pixel_unshuffle_inverts_pixel_shuffle():
    x = ut.arange(48.0).reshape(1, 8, 2, 3)
    y = F.pixel_shuffle(x, 2)
    assert y.shape == (1, 2, 4, 6)
    assert y[0, 0, :2, :2].tolist() == [[0.0, 6.0], [12.0, 18.0]]
    assert ut.equal(F.pixel_unshuffle(y, 2), x)
    assert F.channel_shuffle(x, 2)[0, :, 0, 0].tolist() == [0.0, 24.0, 6.0, 30.0, 12.0, 36.0, 18.0, 42.0]
    with pytest.raises(RuntimeError, match="divisible by the square of upscale_factor"):
        F.pixel_shuffle(x, 3)


def test_margin_losses_by_hand():
    x = ut.tensor([[0.1, 0.2, 0.4, 0.8]])
    assert F.multi_margin_loss(x, ut.tensor([3])).item() == pytest.approx((0.3 + 0.4 + 0.6) / 4)
    assert F.multilabel_margin_loss(x, ut.tensor([[3, 0, -1, 1]])).item() == pytest.approx(0.85)
    with pytest.raises(RuntimeError, match="target out of range"):
        F.multi_margin_loss(x, ut.tensor([4]))


def test_incomplete_gamma_functions_at_known_points():
    x = ut.tensor([0.1, 1.0, 3.0, 20.0], dtype=ut.float64)
    np.testing.assert_allclose(ut.igamma(ut.ones_like(x), x).numpy(), -np.expm1(-x.numpy()), rtol=1e-14)
    a = ut.tensor([0.5, 2.0, 50.0, 1000.0, 1e6], dtype=ut.float64)
    np.testing.assert_allclose((ut.igamma(a, a) + ut.igammac(a, a)).numpy(), np.ones(5), rtol=1e-12)
    np.testing.assert_allclose(ut.igammac(a[-1:], a[-1:]).numpy(), [0.4998670192394], rtol=1e-9)


def test_tensors_that_do_not_broadcast_raise_an_operators_error():
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(2\) must match the size of tensor b \(3\) at non-singleton dimension 1"):
        ut.broadcast_tensors(ut.ones(2), ut.ones(2, 3))
    with pytest.warns(UserWarning, match="different to the input size"), pytest.raises(RuntimeError, match="The size of tensor a"):
        ut.nn.functional.mse_loss(ut.ones(2), ut.ones(2, 3))


def test_differences_of_too_high_an_order_are_empty_and_still_have_a_history():
    x = ut.ones(3, 1, requires_grad=True)
    y = ut.diff(x, n=3, dim=0)
    assert y.shape == (0, 1) and y.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [[0.0]] * 3


def test_the_gradient_of_the_angle_of_the_origin_is_zero():
    y, x = ut.zeros(2, requires_grad=True), ut.tensor([0.0, 1.0], requires_grad=True)
    ut.atan2(y, x).sum().backward()
    assert (y.grad.tolist(), x.grad.tolist()) == ([0.0, 1.0], [0.0, 0.0])


POLYNOMIALS = ["chebyshev_polynomial_t", "chebyshev_polynomial_u", "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"]


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_orthogonal_polynomials_match_numpy(name):
    reference = {"t": "eval_chebyt", "u": "eval_chebyu", "h": "eval_hermite", "he": "eval_hermitenorm", "l": "eval_laguerre", "p": "eval_legendre"}
    x = np.linspace(-1.5, 1.5, 7)
    for n in range(9):
        got = getattr(ut.special, name)(ut.from_numpy(x), n)
        np.testing.assert_allclose(got.numpy(), getattr(special, reference[name.rpartition("_")[2]])(n, x), rtol=1e-10, atol=1e-10)
    assert getattr(ut.special, name)(ut.from_numpy(x), -1).abs().max() == 0


def test_a_polynomial_takes_a_degree_for_each_element():
    f = ut.special.legendre_polynomial_p
    assert f(ut.tensor([0.5, 0.5, ut.nan]), ut.tensor([1, 2, 2])).tolist()[:2] == [0.5, -0.125]
    assert f(ut.tensor([0.5]), ut.tensor([[3], [0]])).shape == (2, 1)
    assert f(ut.empty(0), 3).shape == (0,)
    with pytest.raises(TypeError, match="must be Tensor, not float"):
        f(0.5, 3)


def test_functions_written_in_place_keep_what_their_gradient_needs():
    for write, plain in (
        (lambda x, y: x.xlogy_(y), ut.xlogy),
        (lambda x, y: x.polygamma_(1), lambda x, y: ut.polygamma(1, x) + 0 * y),
    ):
        x, y = (ut.tensor([0.5, 2.0], dtype=ut.float64, requires_grad=True) for _ in range(2))
        expected = ut.autograd.grad(plain(x, y).sum(), (x, y))
        found = ut.autograd.grad(write(x.clone(), y).sum() + 0 * y.sum(), (x, y))
        assert all(ut.allclose(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: ut.zeros(3).index_add_(0, ut.tensor([0, 3]), ut.ones(2)), IndexError, "index out of range in self"),
        (lambda: ut.zeros(3, 2).index_add_(0, ut.tensor([0, 3]), ut.ones(2, 2)), RuntimeError, "index 3 is out of bounds for dimension 0 with size 3"),
        (lambda: ut.rot90(ut.ones(2, 2), 1, (0, 5)), IndexError, "Dimension out of range"),
        (lambda: ut.rot90(ut.ones(2, 2), 1, (-3, 0)), IndexError, "Dimension out of range"),
        (lambda: ut.diag_embed(ut.tensor(1.0)), IndexError, "Dimension out of range"),
        (lambda: ut.trapezoid(ut.tensor(1.0)), IndexError, "Dimension specified as -1 but tensor has no dimensions"),
        (lambda: ut.trapezoid(ut.tensor(1.0), ut.tensor(1.0), dim=0), IndexError, "Dimension specified as 0 but tensor has no dimensions"),
        (lambda: ut.tril_indices(2, 2, dtype=ut.float32), NotImplementedError, "\"tril_indices\" not implemented for 'Float'"),
        (lambda: ut.triu_indices(2, 2, dtype=ut.int16), NotImplementedError, "\"triu_indices\" not implemented for 'Short'"),
        (lambda: ut.ones(2).repeat_interleave(ut.tensor([1.0, 2.0])), NotImplementedError, "\"repeat_interleave_cpu\" not implemented for 'Float'"),
        (lambda: ut.floor(ut.tensor([1j])), NotImplementedError, "floor is not supported for complex inputs"),
        (lambda: ut.sign(ut.tensor([1j])), NotImplementedError, "not intended to support complex numbers"),
        (lambda: ut.signbit(ut.tensor([1j])), NotImplementedError, "signbit is not implemented for complex tensors"),
        (lambda: ut.segment_reduce(ut.tensor([1, 2]), "sum", lengths=ut.tensor([2])), NotImplementedError, "not implemented for 'Long'"),
        (lambda: ut.segment_reduce(ut.ones(2), "sum", lengths=ut.tensor([2.0])), NotImplementedError, "_segment_reduce_lengths_cpu_kernel1.*'Float'"),
        (lambda: ut.segment_reduce(ut.ones(2), "other", lengths=ut.tensor([2])), RuntimeError, "reduce argument must be either sum"),
        (lambda: ut.renorm(ut.ones(2, 2), -1, 0, 1.0), RuntimeError, "non-positive-norm not supported"),
    ],
)
def test_a_refused_argument_has_torchs_error(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_list_of_one_tensor_gives_a_tuple():
    x = ut.tensor(1)
    assert isinstance(ut.atleast_1d([x]), tuple) and isinstance(ut.atleast_3d((x,)), tuple) and ut.atleast_2d(x).shape == (1, 1)


def test_negative_numbers_wrap_in_uint8():
    assert ut.tensor([-1, -255], dtype=ut.uint8).tolist() == [255, 1]
    for number in (-256, 256):
        with pytest.raises(RuntimeError, match="without overflow"):
            ut.tensor(number, dtype=ut.uint8)


def test_a_chain_of_one_matrix_is_the_matrix():
    with pytest.warns(UserWarning, match="chain_matmul is deprecated"):
        assert ut.equal(ut.chain_matmul(ut.eye(2)), ut.eye(2))
    with pytest.warns(UserWarning, match="deprecated"), pytest.raises(RuntimeError, match="Expected one or more matrices"):
        ut.chain_matmul()
