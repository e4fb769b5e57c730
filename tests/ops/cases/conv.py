"""Cases for convolutions and sliding blocks; the references are loops over every output and every tap."""

from __future__ import annotations

import itertools

import numpy as np
from samples import Array, case


def _all(sizes):
    return itertools.product(*map(range, sizes))


def _list(value, n):
    value = [value] if isinstance(value, int) else list(value)
    return value * n if len(value) == 1 else value


def _convolution(x, w, b, stride, padding, dilation, transposed, output_padding, groups):
    """The definition: where a tap meets an input, they are multiplied."""
    n = w.ndim - 2
    s, p, d, extra = (_list(v, n) for v in (stride, padding, dilation, output_padding))
    size, kernel = x.shape[2:], w.shape[2:]
    if transposed:
        channels = w.shape[1] * groups
        out = [(size[i] - 1) * s[i] - 2 * p[i] + d[i] * (kernel[i] - 1) + 1 + extra[i] for i in range(n)]
    else:
        channels = w.shape[0]
        out = [(size[i] + 2 * p[i] - d[i] * (kernel[i] - 1) - 1) // s[i] + 1 for i in range(n)]
    y = np.zeros((x.shape[0], channels, *out), np.result_type(x, w))
    few, many = (size, out) if transposed else (out, size)  # the strided side, and the one that taps are counted on
    of_in, of_out = x.shape[1] // groups, channels // groups
    for g, place, tap in itertools.product(range(groups), _all(few), _all(kernel)):
        other = tuple(place[i] * s[i] + tap[i] * d[i] - p[i] for i in range(n))
        if any(not 0 <= o < m for o, m in zip(other, many, strict=True)):
            continue
        ins, outs = slice(g * of_in, (g + 1) * of_in), slice(g * of_out, (g + 1) * of_out)
        if transposed:
            y[(slice(None), outs, *other)] += x[(slice(None), ins, *place)] @ w[(ins, slice(None), *tap)]
        else:
            y[(slice(None), outs, *place)] += x[(slice(None), ins, *other)] @ w[(outs, slice(None), *tap)].T
    return y if b is None else y + b.reshape(-1, *[1] * n)


def _conv(x, w, b=None, stride=1, padding=0, dilation=1, groups=1):
    n = w.ndim - 2
    if padding == "valid":
        padding = 0
    if padding == "same":
        total = [d * (k - 1) for d, k in zip(_list(dilation, n), w.shape[2:], strict=True)]
        around = [(0, 0)] * (x.ndim - n) + [(t // 2, t - t // 2) for t in total]
        x, padding = np.pad(x, around), 0
    y = _convolution(x if x.ndim == n + 2 else x[None], w, b, stride, padding, dilation, False, 0, groups)
    return y if x.ndim == n + 2 else y[0]


def _conv_transpose(x, w, b=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    y = _convolution(x if x.ndim == w.ndim else x[None], w, b, stride, padding, dilation, True, output_padding, groups)
    return y if x.ndim == w.ndim else y[0]


def _im2col(x, kernel, dilation, padding, stride):
    taps = np.eye(kernel[0] * kernel[1]).reshape(-1, 1, *kernel)
    planes = x.reshape(-1, 1, *x.shape[-2:])
    y = _convolution(planes, taps, None, stride, padding, dilation, False, 0, 1)
    return y.reshape(*x.shape[:-3], x.shape[-3] * taps.shape[0], -1)


def _col2im(x, size, kernel, dilation, padding, stride):
    basis = np.eye(size[0] * size[1]).reshape(-1, 1, *size)
    blocks = _im2col(basis, kernel, dilation, padding, stride).reshape(len(basis), -1)
    planes = x.reshape(*x.shape[:-2], x.shape[-2] // (kernel[0] * kernel[1]), -1)
    return (planes @ blocks.T).reshape(*planes.shape[:-1], *size)


SIGNAL, IMAGE, VOLUME = Array((2, 2, 5)), Array((2, 2, 4, 5)), Array((1, 2, 3, 2, 3))
BIAS = Array((4,))
# Input, kernel, (stride, padding, dilation), output, groups.
_GEOMETRIES = [((5,), (2,), ([1], [0], [1]), (4,), 1), ((4, 5), (2, 3), ([2, 1], [1, 0], [1, 2]), (3, 1), 2)]


def _adjoint(f, size, y):
    """The transpose of a linear map, from its columns; no conjugate is taken."""
    columns = [f(unit.reshape(size)).reshape(-1) for unit in np.eye(int(np.prod(size)))]
    return (np.stack(columns) @ y.reshape(-1)).reshape(size)


def _input_adjoint(y, w, size, stride, padding, dilation, groups):
    return _adjoint(lambda x: _convolution(x, w, None, stride, padding, dilation, False, 0, groups), size, y)


def _weight_adjoint(x, y, size, stride, padding, dilation, groups):
    return _adjoint(lambda w: _convolution(x, w, None, stride, padding, dilation, False, 0, groups), size, y)


CASES = {
    "conv1d": [case(SIGNAL, Array((4, 2, 3)), BIAS, 2, 1, reference=_conv), case(SIGNAL, Array((4, 1, 2)), None, 1, 2, 2, 2, reference=_conv),
               case(Array((2, 5)), Array((3, 2, 2)), reference=_conv), case(Array((0, 2, 5)), Array((3, 2, 2)), reference=_conv)],
    "conv1d.padding": [case(SIGNAL, Array((4, 2, 2)), BIAS, 1, "same", reference=_conv), case(SIGNAL, Array((4, 2, 3)), None, 2, "valid", reference=_conv)],
    "conv2d": [case(IMAGE, Array((4, 2, 3, 2)), BIAS, [1, 2], [1, 0], reference=_conv), case(IMAGE, Array((4, 1, 2, 2)), BIAS, 1, 1, [1, 2], 2, reference=_conv),
               case(Array((1, 2, 3, 3)), Array((2, 1, 2, 2)), Array((2,)), 1, 1, 1, 2, reference=_conv)],
    "conv2d.padding": [case(Array((1, 2, 3, 3)), Array((2, 2, 2, 3)), None, 1, "same", [1, 1], reference=_conv),
                       case(Array((2, 3, 3)), Array((1, 2, 2, 3)), None, 1, "valid", reference=_conv)],
    "conv3d": [case(VOLUME, Array((2, 2, 2, 1, 2)), Array((2,)), [2, 1, 1], [1, 0, 1], reference=_conv)],
    "conv3d.padding": [case(VOLUME, Array((2, 2, 2, 1, 2)), Array((2,)), 1, "same", reference=_conv)],
    "conv_transpose1d": [case(SIGNAL, Array((2, 3, 3)), Array((3,)), 2, 1, 1, reference=_conv_transpose),
                         case(Array((2, 4)), Array((2, 2, 2)), Array((4,)), 3, 0, 2, 2, reference=_conv_transpose),
                         case(SIGNAL, Array((2, 1, 2)), None, 1, 1, 2, 1, 3, reference=_conv_transpose)],
    "conv_transpose2d": [case(Array((1, 2, 3, 2)), Array((2, 2, 2, 3)), BIAS, [2, 1], [0, 1], [1, 0], 2, reference=_conv_transpose)],
    "conv_transpose3d": [case(Array((1, 2, 2, 1, 2)), Array((2, 2, 2, 1, 2)), None, [1, 2, 2], 0, [0, 1, 1], reference=_conv_transpose)],
    "convolution": [case(Array((1, 2, 3, 3)), Array((2, 2, 2, 2)), Array((2,)), [1], [1], [1], False, [0], 1, reference=_convolution),
                    case(Array((1, 2, 2, 3)), Array((2, 1, 2, 2)), None, [2, 1], [0], [1], True, [1, 0], 2, reference=_convolution)],
    "im2col": [case(Array((1, 2, 3, 4)), [2, 2], [1, 2], [1, 0], [2, 1], reference=_im2col), case(Array((2, 3, 3)), [2, 1], [1, 1], [0, 0], [1, 1], reference=_im2col)],
    "col2im": [case(Array((1, 8, 6)), [3, 4], [2, 2], [1, 1], [0, 0], [1, 1], reference=_col2im),
               case(Array((4, 4)), [3, 4], [2, 2], [1, 2], [1, 0], [2, 1], reference=_col2im)],
    "convolution_input": [case(Array((1, 2, *out)), Array((2, 2 // groups, *kernel)), [1, 2, *size], *how, groups, reference=_input_adjoint)
                          for size, kernel, how, out, groups in _GEOMETRIES],
    "convolution_weight": [case(Array((1, 2, *size)), Array((1, 2, *out)), [2, 2 // groups, *kernel], *how, groups, reference=_weight_adjoint)
                           for size, kernel, how, out, groups in _GEOMETRIES],
}
