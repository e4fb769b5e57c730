"""Pooling compared with torch: layers and their repr, nodes, random windows, memory formats, errors."""

import numpy as np
import pytest

import undertow as ut

RNG = np.random.default_rng(0)
X = {n: RNG.standard_normal((2, 3, 7, 6, 8)[: n + 2]).astype("float32") for n in (1, 2, 3)}
LAYERS = [
    (1, "MaxPool1d", (2,), {}), (2, "MaxPool2d", ((2, 3),), {"stride": 1, "padding": 1, "dilation": 2, "ceil_mode": True}), (3, "MaxPool3d", (3,), {"stride": 2, "padding": 1}),
    (2, "MaxPool2d", (2,), {"return_indices": True}), (1, "AvgPool1d", (2,), {}), (2, "AvgPool2d", ((2, 1),), {"count_include_pad": False, "divisor_override": 3}),
    (3, "AvgPool3d", (2,), {"ceil_mode": True}), (1, "AdaptiveAvgPool1d", (3,), {}), (2, "AdaptiveAvgPool2d", ((3, None),), {}), (2, "AdaptiveAvgPool2d", (1,), {}),
    (3, "AdaptiveAvgPool3d", (2,), {}), (3, "AdaptiveAvgPool3d", (1,), {}), (1, "AdaptiveMaxPool1d", (2, True), {}), (2, "AdaptiveMaxPool2d", (2,), {}),
    (3, "AdaptiveMaxPool3d", ((1, 2, 3),), {}), (2, "FractionalMaxPool2d", (2,), {"output_size": 3}), (3, "FractionalMaxPool3d", (2,), {"output_ratio": 0.5, "return_indices": True}),
    (1, "LPPool1d", (2, 3), {}), (2, "LPPool2d", (2, (3, 2)), {"stride": 2, "ceil_mode": True}), (3, "LPPool3d", (2, 3), {}),
]


def names(result):
    """The nodes from the result to the leaf, where each has one input with history."""
    node, found = (result[0] if isinstance(result, tuple) else result).grad_fn, []
    while node is not None:
        found.append(node.name().rpartition("::")[2])
        node = next((n for n, _ in node.next_functions if n is not None), None)
    return found


@pytest.mark.parametrize(("n", "name", "args", "options"), LAYERS, ids=lambda v: v if isinstance(v, str) else "")
def test_a_layer_matches_torch_in_output_nodes_and_repr(n, name, args, options, same_as_torch):
    def run(library):
        layer = getattr(library.nn, name)(*args, **options)
        x = library.from_numpy(np.abs(X[n]) + 0.1 if name.startswith("LP") else X[n].copy()).requires_grad_()
        result = layer(x)
        (result[0] if isinstance(result, tuple) else result).square().sum().backward()
        return repr(layer), result, names(result), x.grad

    same_as_torch(run, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_unpooling_puts_elements_back(n: int, same_as_torch):
    def run(library):
        x = library.from_numpy(X[n].copy()).requires_grad_()
        pooled, places = getattr(library.nn, f"MaxPool{n}d")(2, return_indices=True)(x)
        layer = getattr(library.nn, f"MaxUnpool{n}d")(2)
        back = layer(pooled, places, output_size=x.shape)
        (back * library.arange(float(back.numel())).reshape(back.shape)).sum().backward()
        return repr(layer), back, x.grad

    same_as_torch(run, rtol=1e-7, atol=0)


def test_nan_is_the_largest(same_as_torch):
    x = X[2].copy()
    x[0, 0, 1, 1] = x[1, 2, 0, 0] = x[1, 2, 1, 1] = np.nan
    same_as_torch(lambda L: L.nn.functional.max_pool2d(L.from_numpy(x.copy()), 2, return_indices=True), rtol=1e-7, atol=0)


def test_minus_infinity_has_an_index(same_as_torch):
    x = np.full((1, 1, 4, 4), -np.inf, dtype="float32")
    same_as_torch(lambda L: L.nn.functional.max_pool2d(L.from_numpy(x.copy()), 3, 2, 1, return_indices=True), rtol=1e-7, atol=0)


ERROR_CASES = {
    "padding beyond half a window": lambda L, x: L.nn.functional.max_pool2d(x, 3, 2, 2),
    "no stride": lambda L, x: L.nn.functional.max_pool2d(x, 2, 0),
    "no dilation": lambda L, x: L.nn.functional.max_pool2d(x, 2, 1, 0, 0),
    "negative padding": lambda L, x: L.nn.functional.avg_pool2d(x, 2, 1, -1),
    "a window larger than the image": lambda L, x: L.nn.functional.avg_pool2d(x, 20),
    "four sizes of a window": lambda L, x: L.nn.functional.max_pool2d(x, (2, 2, 2, 2)),
    "no channels": lambda L, x: L.nn.functional.max_pool2d(x[:, :0], 2),
    "a divisor of zero": lambda L, x: L.nn.functional.avg_pool2d(x, 2, divisor_override=0),
    "bools": lambda L, x: L.nn.functional.max_pool2d(x.bool(), 2),
    "integers on a line": lambda L, x: L.nn.functional.max_pool1d(x[0].long(), 2),
    "integers averaged adaptively": lambda L, x: L.nn.functional.adaptive_avg_pool2d(x.long(), 2),
    "a negative number of windows": lambda L, x: L.nn.functional.adaptive_avg_pool2d(x, -1),
    "seven sizes": lambda L, x: L.nn.functional.adaptive_max_pool2d(x, (3,) * 7),
    "an empty dimension": lambda L, x: L.nn.functional.adaptive_max_pool2d(x[..., :0], 2),
    "None on a line": lambda L, x: L.nn.functional.adaptive_avg_pool1d(x[0], (None,)),
    "neither size nor ratio": lambda L, x: L.nn.functional.fractional_max_pool2d(x, 2),
    "no size for random windows": lambda L, x: L.nn.FractionalMaxPool2d(2),
    "size and ratio": lambda L, x: L.nn.FractionalMaxPool3d(2, output_size=3, output_ratio=0.5),
    "a ratio above one": lambda L, x: L.nn.FractionalMaxPool2d(2, output_ratio=3.0),
    "random windows too large": lambda L, x: L.nn.functional.fractional_max_pool2d(x, 2, (30, 4)),
    "one size of random windows": lambda L, x: L.nn.functional.fractional_max_pool2d(x, (2,), 3),
    "two sizes of random windows in three dimensions": lambda L, x: L.nn.functional.fractional_max_pool3d(x, 2, (3, 3)),
    "indices as int32": lambda L, x: L.nn.functional.max_unpool2d(x, L.zeros(x.shape, dtype=L.int32), 2),
    "indices out of range": lambda L, x: L.nn.functional.max_unpool2d(x, L.full(x.shape, 10000), 2),
    "a size that windows cannot give": lambda L, x: L.nn.functional.max_unpool2d(x, L.zeros(x.shape, dtype=L.int64), 2, output_size=(100, 9)),
}


@pytest.mark.parametrize("scenario", ERROR_CASES)
def test_errors_match_torch(scenario: str, same_as_torch):
    def kind(library):
        with pytest.raises(Exception) as caught:
            ERROR_CASES[scenario](library, library.from_numpy(X[2].copy()))
        return caught.type.__name__

    same_as_torch(kind)


def test_channels_last_stays_channels_last(same_as_torch):
    def run(library):
        x = library.from_numpy(X[2].copy()).contiguous(memory_format=library.channels_last)
        F = library.nn.functional
        return [y.stride() for y in (F.max_pool2d(x, 2), F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, 3), F.adaptive_avg_pool2d(x, 1), F.adaptive_max_pool2d(x, 1))]

    same_as_torch(run)


def test_the_mean_of_a_whole_volume_stays_channels_last(same_as_torch):
    def run(library):
        x = library.from_numpy(X[3].copy()).contiguous(memory_format=library.channels_last_3d)
        return library.nn.functional.adaptive_avg_pool3d(x, 1).stride()

    same_as_torch(run)


@pytest.mark.parametrize("n", [1, 2, 17])
def test_the_maximum_of_a_window_in_the_padding_is_minus_infinity(n: int, same_as_torch):
    """With dilation, all elements of a window can be in the padding."""

    def run(library):
        x = library.arange(1.0, 3 * n + 1).reshape(3, n)
        pool = library.nn.functional.max_pool1d
        return [pool(x, 2, step, 1, 2, ceil) for step in (1, 2) for ceil in (False, True)]

    same_as_torch(run)


def test_planes_and_outputs_may_be_empty(same_as_torch):
    def run(library):
        F, empty = library.nn.functional, [library.zeros(0, *[10] * n) for n in (1, 2, 3)]
        maxima = [getattr(F, f"adaptive_max_pool{n}d")(x, 5).shape for n, x in enumerate(empty, 1)]
        means = [getattr(F, f"adaptive_avg_pool{n}d")(x, 5).shape for n, x in enumerate(empty, 1)]
        x = library.zeros(2, 3, 8, 8)
        return [*maxima, *means, F.fractional_max_pool2d(x, 2, (0, 1)).shape, F.fractional_max_pool3d(x, 2, (1, 0, 1)).shape]

    same_as_torch(run)


@pytest.mark.parametrize("pool", ["max_pool2d", "avg_pool2d", "adaptive_avg_pool2d"])
def test_results_are_bitwise_equal_for_any_number_of_threads(pool: str):
    def run(threads):
        ut.set_num_threads(threads)
        x = ut.from_numpy(np.repeat(X[2], 30, 0)).requires_grad_()
        y = getattr(ut.nn.functional, pool)(x, 3)
        (y * y).sum().backward()
        return y.detach().numpy(), x.grad.numpy()

    before = ut.get_num_threads()
    try:
        for a, b in zip(run(1), run(4), strict=True):
            assert (a == b).all()
    finally:
        ut.set_num_threads(before)


@pytest.mark.parametrize("options", [{}, {"stride": 1}, {"stride": 3, "padding": 1, "ceil_mode": True}, {"dilation": 2}], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_max_pool1d_without_a_gradient_gives_the_same_bits_as_with_one(dtype, options):
    x = ut.from_numpy(RNG.standard_normal((5, 41))).to(getattr(ut, dtype))
    x[0, 3], x[1, 7], x[2, 5:9] = float("nan"), float("inf"), float("-inf")
    x[3, ::2] = 0.0
    x[3, 1::2] = -0.0
    plain = ut.nn.functional.max_pool1d(x, 3, **options)
    recorded = ut.nn.functional.max_pool1d(x.requires_grad_(), 3, **options)
    assert recorded.requires_grad and not plain.requires_grad
    assert plain.float().numpy().tobytes() == recorded.detach().float().numpy().tobytes()


def test_max_pool1d_of_a_dual_tensor_has_a_tangent():
    x = ut.tensor([[1.0, 4.0, 2.0, 3.0]])
    with ut.autograd.forward_ad.dual_level():
        dual = ut.autograd.forward_ad.make_dual(x, ut.tensor([[1.0, 2.0, 3.0, 4.0]]))
        tangent = ut.autograd.forward_ad.unpack_dual(ut.nn.functional.max_pool1d(dual, 2)).tangent
    assert tangent is not None and tangent.tolist() == [[2.0, 4.0]]
