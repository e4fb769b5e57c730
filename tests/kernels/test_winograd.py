"""3x3 convolutions by Winograd's algorithm: sizes around its tiles and blocks, threads, and nonfinite and large values."""

import numpy as np
import pytest

import undertow as ut
from undertow.nn import functional as F

# images, channels of result, padding, groups
SHAPES = {
    "one tile": ((1, 16, 2, 2), 16, 1, 1),
    "tiles over the edge": ((2, 16, 7, 5), 16, 1, 1),
    "no padding": ((2, 20, 9, 8), 33, 0, 1),
    "much padding": ((1, 17, 5, 6), 19, 3, 1),
    "unequal padding": ((1, 16, 6, 9), 24, (0, 2), 1),
    "a vector of tiles and one": ((1, 16, 4, 34), 16, 1, 1),
    "several images in a panel": ((5, 48, 6, 6), 16, 1, 1),
    "more channels than tiles": ((2, 40, 8, 8), 150, 1, 1),
    "groups": ((2, 48, 12, 10), 64, 1, 2),
    "several blocks of tiles": ((3, 64, 40, 36), 32, 1, 1),
    "several blocks of weights": ((1, 300, 4, 4), 900, 1, 1),
    "several blocks of weights, many tiles": ((1, 530, 24, 20), 260, 1, 1),
}


def numbers(*shape):
    return np.random.default_rng(7).standard_normal(shape)


def results(x, w, b, padding, groups, dtype):
    x, w, b = (ut.tensor(a.astype(dtype), requires_grad=True) for a in (x, w, b))
    y = F.conv2d(x, w, b, padding=padding, groups=groups)
    y.backward(ut.tensor(numbers(*y.shape).astype(dtype)))
    return [t.detach().numpy() for t in (y, x.grad, w.grad)]


def named(name, dtype):
    shape, out, padding, groups = SHAPES[name]
    return results(numbers(*shape), numbers(out, shape[1] // groups, 3, 3), numbers(out), padding, groups, dtype)


@pytest.mark.parametrize("name", SHAPES)
def test_results_and_gradients_match_direct_sums_up_to_rounding(name):
    for small, large in zip(named(name, "float32"), named(name, "float64"), strict=True):
        np.testing.assert_allclose(small, large, rtol=0, atol=4e-6 * np.abs(large).max())


@pytest.mark.parametrize("name", SHAPES)
def test_results_are_bitwise_equal_for_any_number_of_threads(name):
    before = ut.get_num_threads()
    try:
        ut.set_num_threads(1)
        alone = named(name, "float32")
        ut.set_num_threads(2)
        together = named(name, "float32")
    finally:
        ut.set_num_threads(before)
    for a, b in zip(alone, together, strict=True):
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("where", ["image", "weight"])
def test_nonfinite_values_match_direct_sums(value, where):
    x, w, b = numbers(2, 16, 9, 9), numbers(16, 16, 3, 3), numbers(16)
    (x if where == "image" else w)[1, 3, 2, 1] = value
    for small, large in zip(results(x, w, b, 1, 1, "float32"), results(x, w, b, 1, 1, "float64"), strict=True):
        np.testing.assert_array_equal(np.isnan(small), np.isnan(large))
        np.testing.assert_array_equal(np.isinf(small), np.isinf(large))


def test_sums_that_overflow_in_a_transform_alone_are_computed_directly():
    x = np.full((1, 16, 6, 6), 3e38)
    y = F.conv2d(ut.tensor(x.astype("float32")), ut.tensor(np.full((16, 16, 3, 3), 1e-4, "float32")), padding=1).numpy()
    assert np.isfinite(y).all()
    np.testing.assert_allclose(y[0, 0, 2, 2], 16 * 9 * 3e34, rtol=1e-5)


def test_an_output_depends_only_on_its_own_inputs():
    x, w = numbers(1, 16, 8, 8), numbers(16, 16, 3, 3)
    quiet = F.conv2d(ut.tensor(x.astype("float32")), ut.tensor(w.astype("float32"))).numpy()
    x[0, :, 3, :] = 1e20
    loud = F.conv2d(ut.tensor(x.astype("float32")), ut.tensor(w.astype("float32"))).numpy()
    np.testing.assert_array_equal(quiet[0, :, [0, 4, 5]], loud[0, :, [0, 4, 5]])
    assert (quiet[0, :, 1:4] != loud[0, :, 1:4]).all()
