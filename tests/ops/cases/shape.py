"""Cases for the entries of ops/shape.toml."""

from __future__ import annotations

import numpy as np
from samples import Array, Fixed, case, index

import undertow as ut

A = Array((3, 4))
B = Array((2, 3, 4))
SQUARE4 = Array((4, 4))
ONES = Array((1, 3, 1))


def _pieces(split):
    return lambda x, *a: tuple(split(x, *a))


TALL, WIDE = Array((4, 3)), Array((3, 4))

CASES = {
    "detach": [case(A, reference=np.copy)],
    "resolve_conj": [case(A, reference=np.copy)],
    "resolve_neg": [case(A, reference=np.copy)],
    "real": [case(A, reference=np.real)],
    "imag": [case(Fixed([1 + 2j, 3 - 1j], "complex128"), reference=np.imag)],
    "view.dtype": [case(Fixed([[1.0, -2.5]], "float64"), ut.int32, reference=lambda x, d: x.view("int32")),
                   case(Fixed([[1, -2]], "int64"), ut.float64, reference=lambda x, d: x.view("float64")),
                   case(Fixed([[1.0, -2.5]], "float64"), ut.int16, reference=lambda x, d: x.view("int16")),
                   case(Fixed([[1, 2, 3, 4]], "int16"), ut.int64, reference=lambda x, d: x.view("int64"))],
    "view": [case(A, [2, 6], reference=np.reshape), case(A, [-1], reference=np.reshape), case(Array(()), [1, 1], reference=np.reshape)],
    "reshape": [case(A, [2, -1], reference=np.reshape), case(Array((0, 3)), [3, 0], reference=np.reshape)],
    "_unsafe_view": [case(A, [2, 6], reference=np.reshape)],
    "as_strided": [case(A, [2, 2], [1, 4]), case(A, [3, 2], [2, 1], 1), case(Array((6,)), [4, 3], [1, 1])],
    "expand": [case(Array((3, 1)), [3, 4], reference=np.broadcast_to), case(Array((4,)), [2, 3, 4], reference=np.broadcast_to)],
    "broadcast_to": [case(Array((3, 1)), [3, 4], reference=np.broadcast_to)],
    "expand_as": [case(Array((3, 1)), A, reference=lambda x, y: np.broadcast_to(x, y.shape))],
    "view_as": [case(A, Array((4, 3)), reference=lambda x, y: x.reshape(y.shape))],
    "reshape_as": [case(A, Array((4, 3)), reference=lambda x, y: x.reshape(y.shape))],
    "select": [case(B, 1, 2, reference=lambda x, d, i: np.take(x, i, d)), case(B, -1, -1, reference=lambda x, d, i: np.take(x, i, d))],
    "slice": [case(B, 1, 0, 3, 2, reference=lambda x, d, a, b, s: x[:, a:b:s]), case(B, 2, -3, None, 1, reference=lambda x, *a: x[..., -3:])],
    "narrow": [case(B, 1, 1, 2, reference=lambda x, d, s, n: x[:, s : s + n])],
    "narrow_copy": [case(B, 1, 1, 2, reference=lambda x, d, s, n: x[:, s : s + n])],
    "transpose": [case(B, 0, 2, reference=np.swapaxes), case(B, -1, 1, reference=np.swapaxes)],
    "swapaxes": [case(B, 0, 2, reference=np.swapaxes)],
    "swapdims": [case(B, 0, 2, reference=np.swapaxes)],
    "t": [case(A, reference=np.transpose), case(Array((3,)), reference=np.copy)],
    "adjoint": [case(A, reference=lambda x: np.conj(x.T))],
    "permute": [case(B, [2, 0, 1], reference=np.transpose), case(B, [-1, 0, 1], reference=np.transpose)],
    "movedim.ints": [case(B, [0, 2], [2, 0], reference=lambda x, a, b: np.moveaxis(x, a, b))],
    "narrow.Tensor": [case(B, 1, index(1), 2, reference=lambda x, d, s, n: x[:, 1:3])],
    "movedim.int": [case(B, 0, 2, reference=np.moveaxis)],
    "squeeze": [case(ONES, reference=np.squeeze), case(A, reference=np.squeeze)],
    "squeeze.dim": [case(ONES, 0, reference=lambda x, d: np.squeeze(x, d))],
    "squeeze.dims": [case(ONES, [0, 2], reference=lambda x, d: np.squeeze(x, tuple(d)))],
    "unsqueeze": [case(A, 1, reference=np.expand_dims), case(A, -1, reference=np.expand_dims)],
    "flatten": [case(B, reference=np.ravel), case(B, 1, 2, reference=lambda x, a, b: x.reshape(2, 12))],
    "unflatten": [case(A, 1, [2, 2], reference=lambda x, d, s: x.reshape(3, 2, 2))],
    "ravel": [case(B, reference=np.ravel)],
    "diagonal": [case(A, reference=np.diagonal), case(B, 1, 1, 2, reference=np.diagonal), case(SQUARE4, -1, reference=np.diagonal)],
    "linalg_diagonal": [case(Array((2, 3, 3)), reference=lambda a: np.diagonal(a, axis1=-2, axis2=-1))],
    "diagonal_copy": [case(A, reference=np.diagonal)],
    "diag": [case(A, reference=np.diag), case(Array((3,)), 1, reference=np.diag)],
    "diag_embed": [case(Array((3,)), reference=np.diag), case(Array((3,)), 1, reference=np.diag)],
    "diagflat": [case(A, reference=np.diagflat)],
    "unfold": [case(Array((7,)), 0, 3, 2), case(A, 1, 2, 1)],
    "unbind": [case(A, reference=_pieces(list)), case(A, 1, reference=_pieces(lambda x, d: list(x.T)))],
    "chunk": [case(Array((5, 2)), 3, reference=_pieces(lambda x, n: [x[:2], x[2:4], x[4:]]))],
    "split": [case(Array((5, 2)), 2, reference=_pieces(lambda x, n: [x[:2], x[2:4], x[4:]]))],
    "split.sizes": [case(Array((5, 2)), [1, 4], reference=_pieces(lambda x, s: [x[:1], x[1:]]))],
    "split_with_sizes": [case(Array((5, 2)), [1, 4], reference=_pieces(lambda x, s: [x[:1], x[1:]]))],
    "tensor_split.sections": [case(Array((5, 2)), 3, reference=_pieces(np.array_split))],
    "tensor_split.indices": [case(Array((5, 2)), [1, 3], reference=_pieces(np.array_split))],
    "tensor_split.tensor": [case(Array((5, 2)), index(3))],
    "hsplit.sections": [case(A, 2, reference=_pieces(np.hsplit))],
    "hsplit.indices": [case(A, [1, 3], reference=_pieces(np.hsplit))],
    "vsplit.sections": [case(A, 3, reference=_pieces(np.vsplit))],
    "vsplit.indices": [case(A, [1, 2], reference=_pieces(np.vsplit))],
    "dsplit.sections": [case(B, 2, reference=_pieces(np.dsplit))],
    "dsplit.indices": [case(B, [1, 3], reference=_pieces(np.dsplit))],
    "view_as_real": [case(Fixed([[1 + 2j, 3 - 1j]], "complex128"), reference=lambda z: np.stack([z.real, z.imag], -1))],
    "view_as_complex": [case(Fixed([[1.0, 2.0], [3.0, -1.0]], "float64"), reference=lambda x: x[..., 0] + 1j * x[..., 1])],
    "_unsafe_split": [case(WIDE, 2, 1, reference=lambda x, n, d: np.split(x, [2], d))],
    "_unsafe_split_with_sizes": [case(WIDE, [1, 3], 1, reference=lambda x, n, d: np.split(x, [1], d))],
    "unsafe_split": [case(WIDE, 2, 1, reference=lambda x, n, d: np.split(x, [2], d))],
    "unsafe_split_with_sizes": [case(WIDE, [1, 3], 1, reference=lambda x, n, d: np.split(x, [1], d))],
    "unsafe_chunk": [case(WIDE, 2, 1, reference=lambda x, n, d: np.split(x, 2, d))],
    "_view_dtype": [case(Fixed([[1.0, -2.5]], "float64"), ut.int64, reference=lambda x, d: x.view("int64"))],
    "_strided_sum": [case(A, [3, 4], [4, 1], 0, 12, reference=lambda x, *_: x.ravel()),
                     case(Array((2, 2)), [2, 2], [1, 1], 1, 4, reference=lambda x, *_: np.array([0, x[0, 0], x[0, 1] + x[1, 0], x[1, 1]]))],
    "select_backward": [case(Array((3,)), [3, 4], 1, 2, reference=lambda g, s, *_: np.stack([0 * g, 0 * g, g, 0 * g], 1))],
    "slice_backward": [case(Array((3, 2)), [3, 4], 1, 0, 4, 2, reference=lambda g, *_: np.stack([g[:, 0], 0 * g[:, 0], g[:, 1], 0 * g[:, 0]], 1))],
    "diagonal_backward": [case(Array((3,)), [3, 4], 0, 0, 1, reference=lambda g, *_: np.concatenate([np.diag(g), np.zeros((3, 1))], 1))],
}
EXCEPT = {
    "detach": {"first_derivative": "cuts the graph", "second_derivative": "cuts the graph"},
    "as_strided": {"expanded": "reads the memory itself", "errors": "any geometry within the storage is fine"},
    "unsafe_chunk": {"second_derivative": "the pieces share memory"},
}
