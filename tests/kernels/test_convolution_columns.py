"""Convolutions with few outputs and many channels, and strided or pointwise ones in other layouts: the kernels that pack no boxes."""

import numpy as np
import pytest

import undertow as ut
from undertow.nn import functional as F

# images, channels of result, kernel, stride, padding, dilation, groups
SHAPES = {
    "pointwise, one image": ((1, 300, 7, 7), 200, 1, 1, 0, 1, 1),
    "pointwise, several images": ((4, 64, 5, 3), 136, 1, 1, 0, 1, 1),
    "pointwise, strided": ((2, 128, 9, 8), 96, 1, 2, 0, 1, 1),
    "strided": ((3, 64, 9, 10), 160, 3, 2, 1, 1, 1),
    "strided by three": ((2, 40, 13, 11), 70, 3, 3, 1, 1, 1),
    "strided in groups": ((1, 128, 7, 7), 130, 3, 2, 1, 1, 2),
    "dilated": ((2, 40, 11, 9), 130, 3, 1, 2, 2, 1),
    "outputs that fill a vector": ((4, 64, 8, 8), 64, 4, 2, 1, 1, 1),
    "a vector of outputs and one": ((17, 96, 2, 2), 96, 3, 3, 1, 1, 1),
    "the kernel is the image": ((5, 100, 4, 4), 50, 4, 1, 0, 1, 1),
    "the kernel is the image, one channel": ((3, 512, 4, 4), 1, 4, 1, 0, 1, 1),
    "the kernel is the image, in groups": ((3, 64, 3, 3), 64, 3, 1, 0, 1, 4),
    "more padding than image": ((1, 64, 3, 3), 128, 3, 1, 3, 2, 1),
}


def numbers(*shape):
    return np.random.default_rng(3).standard_normal(shape)


def results(name, dtype, convolve=F.conv2d):
    shape, out, kernel, stride, padding, dilation, groups = SHAPES[name]
    weight = (out, shape[1] // groups, kernel, kernel) if convolve is F.conv2d else (shape[1], out // groups, kernel, kernel)
    x, w, b = (ut.tensor(numbers(*s).astype(dtype), requires_grad=True) for s in (shape, weight, (out,)))
    y = convolve(x, w, b, stride=stride, padding=padding, dilation=dilation, groups=groups)
    y.backward(ut.tensor(numbers(*y.shape).astype(dtype)))
    return [t.detach().numpy() for t in (y, x.grad, w.grad, b.grad)]


def direct(name):
    """The same by summing over windows of the padded image, in float64: result, image and weight."""
    shape, out, kernel, stride, padding, dilation, groups = SHAPES[name]
    x, w, b = numbers(*shape), numbers(out, shape[1] // groups, kernel, kernel), numbers(out)
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    extent = dilation * (kernel - 1) + 1
    rows, columns = ((size - extent) // stride + 1 for size in padded.shape[2:])
    y = np.zeros((shape[0], out, rows, columns)) + b[:, None, None]
    grad_y, grad_x, grad_w = numbers(*y.shape), np.zeros_like(padded), np.zeros_like(w)
    for g in range(groups):
        o, c = (slice(g * n // groups, (g + 1) * n // groups) for n in (out, shape[1]))
        for i in range(kernel):
            for j in range(kernel):
                at = (slice(None), c, slice(i * dilation, i * dilation + stride * rows, stride), slice(j * dilation, j * dilation + stride * columns, stride))
                y[:, o] += np.einsum("ncij,oc->noij", padded[at], w[o, :, i, j])
                grad_x[at] += np.einsum("noij,oc->ncij", grad_y[:, o], w[o, :, i, j])
                grad_w[o, :, i, j] = np.einsum("noij,ncij->oc", grad_y[:, o], padded[at])
    return y, grad_x[:, :, padding : padding + shape[2], padding : padding + shape[3]], grad_w


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_results_and_gradients_are_sums_over_windows(name, dtype):
    for ours, wanted in zip(results(name, dtype), direct(name), strict=False):
        scale = 4e-6 if dtype == "float32" else 1e-13
        np.testing.assert_allclose(ours, wanted, rtol=0, atol=scale * np.abs(wanted).max())


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("convolve", [F.conv2d, F.conv_transpose2d], ids=["forwards", "transposed"])
def test_results_are_bitwise_equal_for_any_number_of_threads(name, convolve):
    before = ut.get_num_threads()
    runs = []
    try:
        for threads in (1, 2, 3):
            ut.set_num_threads(threads)
            runs.append([a.tobytes() for a in results(name, "float32", convolve)])
    finally:
        ut.set_num_threads(before)
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.parametrize("name", SHAPES)
def test_a_transposed_convolution_in_float32_is_float64_rounded(name):
    for small, large in zip(results(name, "float32", F.conv_transpose2d), results(name, "float64", F.conv_transpose2d), strict=True):
        np.testing.assert_allclose(small, large, rtol=0, atol=4e-6 * np.abs(large).max())


@pytest.mark.parametrize("step", [2, 3])
@pytest.mark.parametrize("width", [1, 2, 15, 16, 17, 31, 32, 33, 34, 63, 65, 70])
def test_strided_rows_of_any_length_read_their_own_elements(width, step):
    x, w = numbers(2, 3, 5, width).astype("float32"), numbers(3, 1, 3, 3).astype("float32")
    strided = F.conv2d(ut.tensor(x), ut.tensor(w), padding=1, stride=step, groups=3).numpy()
    np.testing.assert_allclose(strided, F.conv2d(ut.tensor(x), ut.tensor(w), padding=1, groups=3).numpy()[:, :, ::step, ::step], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("width", [3, 15, 16, 17, 31, 33, 65])
def test_the_gradient_of_strided_rows_is_spread_over_them(width):
    x = ut.tensor(numbers(2, 3, 5, width), requires_grad=True)
    small = x.detach().float().requires_grad_()
    w = numbers(3, 1, 3, 3)
    for image, dtype in ((x, "float64"), (small, "float32")):
        y = F.conv2d(image, ut.tensor(w.astype(dtype)), padding=1, stride=2, groups=3)
        y.backward(ut.tensor(numbers(*y.shape).astype(dtype)))
    np.testing.assert_allclose(small.grad.numpy(), x.grad.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("convolve", [F.conv2d, F.conv_transpose2d], ids=["forwards", "transposed"])
@pytest.mark.parametrize("pixels", [(1, 3), (17, 31)])
@pytest.mark.parametrize("bias", [False, True])
def test_pointwise_convolution_of_channels_last_matches_contiguous(dtype, convolve, pixels, bias):
    outcomes = []
    for last in (False, True):
        x = ut.tensor(numbers(2, 24, *pixels).astype(dtype))
        x = (x.contiguous(memory_format=ut.channels_last) if last else x).requires_grad_()
        w = ut.tensor(numbers(*((40, 24) if convolve is F.conv2d else (24, 40)), 1, 1).astype(dtype), requires_grad=True)
        b = ut.tensor(numbers(40).astype(dtype), requires_grad=True) if bias else None
        y = convolve(x, w, b)
        grad = ut.tensor(numbers(*y.shape).astype(dtype))
        y.backward(grad.contiguous(memory_format=ut.channels_last) if last else grad)
        assert y.is_contiguous(memory_format=ut.channels_last) or not last
        outcomes.append([t.detach().numpy() for t in (y, x.grad, w.grad)])
    for a, b in zip(*outcomes, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


# channels, height, width, kernel, stride, padding, dilation
DEPTHWISE = [(16, 9, 9, 3, 1, 1, 1), (5, 7, 8, 3, 2, 1, 1), (33, 6, 20, 5, 1, 2, 1), (17, 10, 11, 3, 1, 2, 2), (40, 5, 4, 3, 3, 0, 1), (3, 4, 4, 5, 1, 4, 1)]


@pytest.mark.parametrize("case", DEPTHWISE, ids=str)
def test_depthwise_convolution_of_channels_last_matches_contiguous_for_any_number_of_threads(case):
    channels, height, width, kernel, stride, padding, dilation = case
    before = ut.get_num_threads()
    outcomes = []
    try:
        for last, threads in ((False, 1), (True, 1), (True, 3)):
            ut.set_num_threads(threads)
            x = ut.tensor(numbers(3, channels, height, width).astype("float32"))
            x = (x.contiguous(memory_format=ut.channels_last) if last else x).requires_grad_()
            w, b = (ut.tensor(numbers(*s).astype("float32"), requires_grad=True) for s in ((channels, 1, kernel, kernel), (channels,)))
            y = F.conv2d(x, w, b, stride, padding, dilation, channels)
            grad = ut.tensor(numbers(*y.shape).astype("float32"))
            y.backward(grad.contiguous(memory_format=ut.channels_last) if last else grad)
            outcomes.append([t.detach().numpy() for t in (y, x.grad, w.grad)])
    finally:
        ut.set_num_threads(before)
    for contiguous, alone, together in zip(*outcomes, strict=True):
        np.testing.assert_allclose(alone, contiguous, rtol=1e-4, atol=1e-4)
        assert alone.tobytes() == together.tobytes()


@pytest.mark.parametrize("groups", [1, 24], ids=["pointwise", "depthwise"])
def test_channels_last_images_with_gaps_are_read_correctly(groups):
    whole = ut.tensor(numbers(2, 48, 10, 9).astype("float32")).contiguous(memory_format=ut.channels_last)
    w = ut.tensor(numbers(24, 24 // groups, *((1, 1) if groups == 1 else (3, 3))).astype("float32"), requires_grad=True)
    for part in (whole[:, :24], whole[:, :24, ::2], whole[:, 24:, :, 1:6]):
        outcomes = []
        for image in (part.detach().requires_grad_(), part.contiguous().requires_grad_()):
            y = F.conv2d(image, w, groups=groups)
            outcomes.append([t.detach().numpy() for t in (y, *ut.autograd.grad(y, (image, w), y.detach() * 2))])
        for gaps, plain in zip(*outcomes, strict=True):
            np.testing.assert_allclose(gaps, plain, rtol=1e-4, atol=1e-4)
