"""Convolutions as programs use them: sizes that reach every kernel, threads, layouts, errors, names of nodes."""

import numpy as np
import pytest

import undertow as ut
from undertow.nn import functional as F


def numbers(*shape, dtype="float32"):
    return np.cos(np.arange(np.prod(shape, dtype=int)) * 0.7).reshape(shape).astype(dtype)


# in, out, groups, kernel, stride, padding: few and many channels, single ones, rows wider than a box, images smaller than one.
SHAPES = {
    "first layer": ((2, 1, 28, 28), 32, 1, 3, 1, 1),
    "many channels": ((2, 32, 14, 14), 64, 1, 3, 1, 1),
    "channels that fill no vector": ((2, 19, 9, 11), 21, 1, 3, 1, 1),
    "small images": ((5, 64, 7, 7), 48, 1, 3, 1, 1),
    "strided": ((2, 16, 15, 17), 32, 1, 3, 2, 1),
    "patches": ((2, 3, 16, 16), 16, 1, 8, 8, 0),
    "pointwise": ((2, 48, 12, 12), 32, 1, 1, 1, 0),
    "depthwise": ((2, 8, 20, 33), 8, 8, 3, 1, 1),
    "depthwise, strided": ((2, 8, 20, 33), 16, 8, 3, 2, 1),
    "grouped": ((2, 24, 10, 10), 48, 3, 3, 1, 1),
    "wide rows": ((1, 4, 3, 900), 16, 1, 3, 1, 1),
}


def results(name, dtype, convolve=F.conv2d):
    shape, out, groups, kernel, stride, padding = SHAPES[name]
    weight = (out, shape[1] // groups, kernel, kernel) if convolve is F.conv2d else (shape[1], out // groups, kernel, kernel)
    x, w, b = (ut.tensor(numbers(*s, dtype=dtype), requires_grad=True) for s in (shape, weight, (out,)))
    y = convolve(x, w, b, stride=stride, padding=padding, groups=groups)
    y.backward(ut.tensor(numbers(*y.shape, dtype=dtype)))
    return [t.detach().numpy() for t in (y, x.grad, w.grad, b.grad)]


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("convolve", [F.conv2d, F.conv_transpose2d], ids=["forwards", "transposed"])
def test_float32_is_float64_rounded(name, convolve):
    for small, large in zip(results(name, "float32", convolve), results(name, "float64", convolve), strict=True):
        np.testing.assert_allclose(small, large, rtol=1e-4, atol=1e-4 * np.abs(large).max())


@pytest.mark.parametrize("name", SHAPES)
def test_results_are_bitwise_equal_for_any_number_of_threads(name):
    before = ut.get_num_threads()
    try:
        ut.set_num_threads(1)
        alone = results(name, "float32")
        ut.set_num_threads(3)
        together = results(name, "float32")
    finally:
        ut.set_num_threads(before)
    for a, b in zip(alone, together, strict=True):
        assert a.tobytes() == b.tobytes()


def test_smaller_boxes_for_more_threads_give_the_same_bits():
    x, w, bias = (ut.tensor(numbers(*s).astype("float32")) for s in ((2, 24, 40, 36), (48, 24, 5, 5), (48,)))
    found, before = [], ut.get_num_threads()
    try:
        for threads in (1, 3, 40):
            ut.set_num_threads(threads)
            found.append([F.conv2d(x, w, bias, s, p).numpy().tobytes() for s, p in ((1, 2), (2, 1))])
    finally:
        ut.set_num_threads(before)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_types_are_summed_in_float32_and_rounded_once(dtype):
    x, w = (ut.tensor(numbers(*s)).to(getattr(ut, dtype)) for s in ((1, 8, 6, 6), (4, 8, 3, 3)))
    assert F.conv2d(x, w).tolist() == F.conv2d(x.float(), w.float()).to(getattr(ut, dtype)).tolist()


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_integers_wrap_around(dtype):
    x, w = np.arange(75).reshape(1, 3, 5, 5), np.arange(54).reshape(2, 3, 3, 3)
    exact = F.conv2d(ut.tensor(x.astype("int64")), ut.tensor(w.astype("int64"))).numpy()
    assert F.conv2d(ut.tensor(x.astype(dtype)), ut.tensor(w.astype(dtype))).tolist() == exact.astype(dtype).tolist()


def test_infinite_values_affect_only_their_windows():
    x = numbers(1, 8, 6, 20)
    x[0, :, :, 19] = np.inf
    for groups in (1, 8):
        y = F.conv2d(ut.tensor(x), ut.tensor(np.ones((8, 8 // groups, 3, 3), "float32")), groups=groups).numpy()
        assert np.isfinite(y[..., :17]).all()
        assert np.isinf(y[..., 17]).all()


def test_a_depthwise_tap_reads_only_its_own_elements():
    x = numbers(1, 4, 6, 21)
    x[..., 19:] = np.nan  # read only by the last output of a row, and not by its first tap
    w = ut.tensor(numbers(4, 1, 3, 3), requires_grad=True)
    F.conv2d(ut.tensor(x), w, groups=4, stride=(1, 2)).backward(ut.tensor(numbers(1, 4, 4, 10)))
    seen = np.isfinite(w.grad.numpy())
    assert seen[..., 0].all()
    assert not seen[..., 1:].any()


def test_channels_last_images_give_channels_last_results():
    x = ut.tensor(numbers(2, 3, 5, 6)).to(memory_format=ut.channels_last)
    w = ut.tensor(numbers(4, 3, 3, 3))
    y = F.conv2d(x, w)
    assert y.is_contiguous(memory_format=ut.channels_last)
    assert y.tolist() == F.conv2d(x.contiguous(), w).tolist()


def test_an_empty_batch_and_no_channels_have_results_and_gradients():
    x, w = ut.zeros(0, 3, 5, 5, requires_grad=True), ut.ones(4, 3, 3, 3, requires_grad=True)
    y = F.conv2d(x, w)
    y.sum().backward()
    assert y.shape == (0, 4, 3, 3)
    assert w.grad.tolist() == np.zeros((4, 3, 3, 3)).tolist()
    bias = ut.tensor([1.0, 2.0])
    assert F.conv1d(ut.zeros(1, 0, 4), ut.zeros(2, 0, 3), bias).tolist() == [[[1.0, 1.0], [2.0, 2.0]]]


def test_nodes_have_torchs_names():
    x, w = ut.ones(1, 2, 4, 4, requires_grad=True), ut.ones(3, 2, 3, 3, requires_grad=True)
    y = F.conv2d(x, w)
    (gx,) = ut.autograd.grad(y.sum(), x, create_graph=True)
    assert [t.grad_fn.name() for t in (y, gx, F.conv_transpose2d(x, w.transpose(0, 1)))] == [
        "ConvolutionBackward0", "ConvolutionBackwardBackward0", "ConvolutionBackward0",
    ]  # fmt: skip
    assert [type(f).__name__ if f else None for f, _ in y.grad_fn.next_functions] == ["AccumulateGrad", "AccumulateGrad", None]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda x, w: F.conv2d(x, w[:, :2]), "Given groups=1, weight of size [4, 2, 3, 3], expected input[2, 3, 5, 5] to have 2 channels, but got 3"),
        (lambda x, w: F.conv2d(x[0, 0], w), "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [5, 5]"),
        (lambda x, w: F.conv2d(x, w, ut.ones(3)), "expected bias to be 1-dimensional with 4 elements, but got bias of size [3]"),
        (lambda x, w: F.conv2d(x, w, stride=0), "non-positive stride is not supported"),
        (lambda x, w: F.conv2d(x, w, padding=-1), "negative padding is not supported"),
        (lambda x, w: F.conv2d(x, w, dilation=0), "dilation should be greater than zero"),
        (lambda x, w: F.conv2d(x, w, dilation=3), "Calculated padded input size per channel: (5 x 5). Kernel size: (7 x 7)"),
        (lambda x, w: F.conv2d(x, w, groups=0), "non-positive groups is not supported"),
        (lambda x, w: F.conv2d(x, w, groups=3), "Given groups=3, expected weight to be divisible by 3 at dimension 0"),
        (lambda x, w: F.conv2d(x, w, padding="some"), "Invalid padding string: 'some'"),
        (lambda x, w: F.conv2d(x, w, padding="same", stride=2), "padding='same' is not supported for strided convolutions"),
        (lambda x, w: F.conv2d(x, w, stride=(1, 2, 3)), "expected stride to be a single integer value or a list of 2 values"),
        (lambda x, w: F.conv2d(x, w[0]), "Expected 3-dimensional input for 3-dimensional weight [3, 3, 3], but got 4-dimensional input of size [2, 3, 5, 5]"),
        (lambda x, w: F.conv2d(x, w.double()), "Input type (torch.FloatTensor) and weight type (torch.DoubleTensor) should be the same"),
        (lambda x, w: F.conv_transpose2d(x, w), "Given transposed=1, weight of size [4, 3, 3, 3], expected input[2, 3, 5, 5] to have 4 channels"),
        (lambda x, w: F.conv_transpose2d(x, w[:3], output_padding=1), "output padding must be smaller than either stride or dilation"),
    ],
)
def test_sizes_that_do_not_fit_raise_and_are_named(call, says):
    with pytest.raises(RuntimeError) as error:
        call(ut.ones(2, 3, 5, 5), ut.ones(4, 3, 3, 3))
    assert says in str(error.value)
