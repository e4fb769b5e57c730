"""Cases for the entries of ops/join.toml."""

from __future__ import annotations

import numpy as np
from samples import Array, Fixed, case, index

A = Array((3, 4))
B = Array((2, 3, 4))
TALL, WIDE = Array((4, 3)), Array((3, 4))

CASES = {
    "cat": [case([A, Array((2, 4))], reference=np.concatenate), case([A, Array((3, 2))], 1, reference=np.concatenate)],
    "stack": [case([A, A], reference=np.stack), case([A, A], -1, reference=np.stack)],
    "hstack": [case([A, Array((3, 2))], reference=np.hstack)],
    "vstack": [case([A, Array((2, 4))], reference=np.vstack)],
    "dstack": [case([A, A], reference=np.dstack)],
    "column_stack": [case([A, Array((3,))], reference=np.column_stack)],
    "repeat": [case(A, [2, 1, 3], reference=np.tile)],
    "tile": [case(A, [2, 3], reference=np.tile), case(B, [2], reference=np.tile)],
    "repeat_interleave.int": [case(A, 2, reference=np.repeat), case(A, 2, 1, reference=np.repeat)],
    "tril_indices": [case(3, 4, reference=lambda r, c: np.stack(np.tril_indices(r, 0, c)))],
    "triu_indices": [case(3, 4, 1, reference=lambda r, c, k: np.stack(np.triu_indices(r, k, c)))],
    "flip": [case(A, [0], reference=np.flip), case(A, [0, 1], reference=np.flip)],
    "fliplr": [case(A, reference=np.fliplr)],
    "flipud": [case(A, reference=np.flipud)],
    "rot90": [case(A, reference=np.rot90), case(B, 2, [1, 2], reference=np.rot90)],
    "roll": [case(A, [1], [0], reference=lambda x, s, d: np.roll(x, s, d)), case(A, [2], reference=lambda x, s: np.roll(x, s[0]))],
    "tril": [case(A, reference=np.tril), case(B, -1, reference=np.tril)],
    "triu": [case(A, reference=np.triu), case(B, 1, reference=np.triu)],
    "repeat_interleave.indices": [case(Fixed([1, 0, 2], "int64"), reference=lambda n: np.repeat(np.arange(3), n.astype("int64")))],
    "repeat_interleave.Tensor": [case(WIDE, Fixed([1, 0, 2], "int64"), 0, reference=lambda x, n, d: np.repeat(x, n.astype("int64"), d))],
    "_block_diag": [case([A, Array((2, 2))], reference=lambda m: np.block([[m[0], np.zeros((3, 2))], [np.zeros((2, 4)), m[1]]]))],
    "_repeat_indices": [case(index([1, 0, 2]), reference=lambda n: np.repeat(np.arange(len(n)), n))],
}
