"""Cases for the entries of ops/matmul.toml."""

from __future__ import annotations

import numpy as np
from samples import Array, case

A, B = Array((3, 4)), Array((4, 2))
V, W = Array((4,)), Array((4,))
BATCH, OTHER = Array((2, 3, 4)), Array((2, 4, 2))
INVERTIBLE = Array((3, 3), diagonal=4.0)

CASES = {
    "matmul": [case(A, B, reference=np.matmul), case(V, W, reference=np.matmul), case(A, V, reference=np.matmul), case(V, B, reference=np.matmul),
               case(BATCH, OTHER, reference=np.matmul), case(BATCH, B, reference=np.matmul), case(Array((0, 3)), Array((3, 2)), reference=np.matmul)],
    "mm": [case(A, B, reference=np.matmul), case(Array((3, 0)), Array((0, 2)), reference=np.matmul)],
    "bmm": [case(BATCH, OTHER, reference=np.matmul)],
    "mv": [case(A, V, reference=np.matmul)],
    "dot": [case(V, W, reference=np.dot)],
    "vdot": [case(V, W, reference=np.vdot)],
    "inner": [case(A, Array((2, 4)), reference=np.inner)],
    "outer": [case(V, Array((3,)), reference=np.outer)],
    "addmm": [case(Array((3, 2)), A, B, reference=lambda c, a, b: c + a @ b), case(Array((2,)), A, B, reference=lambda c, a, b: c + a @ b)],
    "addbmm": [case(Array((3, 2)), BATCH, OTHER, reference=lambda c, a, b: c + (a @ b).sum(0))],
    "baddbmm": [case(Array((2, 3, 2)), BATCH, OTHER, reference=lambda c, a, b: c + a @ b)],
    "addmv": [case(Array((3,)), A, V, reference=lambda c, a, b: c + a @ b)],
    "addr": [case(A, Array((3,)), V, reference=lambda c, a, b: c + np.outer(a, b))],
    "kron": [case(Array((2, 2)), Array((2, 3)), reference=np.kron)],
    "tensordot": [case(A, B, [1], [0]), case(BATCH, Array((4, 3, 2)), [1, 2], [1, 0]), case(V, W, [], [])],
    "trace": [case(Array((3, 3)), reference=np.trace)],
    "cross": [case(Array((2, 3)), Array((2, 3)), reference=np.cross)],
    "linalg_cross": [case(Array((2, 3)), Array((2, 3)), reference=np.cross), case(Array((3, 2)), Array((3, 2)), dim=0, reference=lambda a, b, dim: np.cross(a, b, axis=dim))],
    "linalg_vecdot": [case(A, Array((3, 4)), reference=lambda x, y: (np.conj(x) * y).sum(-1)),
                      case(A, Array((3, 4)), dim=0, reference=lambda x, y, dim: (np.conj(x) * y).sum(dim))],
    "linalg_multi_dot": [case([A, B], reference=np.linalg.multi_dot), case([A, B, Array((2, 3)), Array((3,))], reference=np.linalg.multi_dot)],
    "linear": [case(A, Array((2, 4)), Array((2,)), reference=lambda x, w, b: x @ w.T + b), case(A, Array((2, 4)), reference=lambda x, w: x @ w.T)],
    "bilinear": [case(Array((2, 3)), Array((2, 4)), Array((5, 3, 4)))],
    "matrix_power": [case(INVERTIBLE, n, reference=np.linalg.matrix_power) for n in (0, 1, 3, -2)],
    "linalg_vander": [case(Array((3,)), reference=lambda x: np.vander(x, increasing=True)), case(Array((2, 3)), N=4)],
}
