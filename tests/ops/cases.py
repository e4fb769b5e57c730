"""Hand-made cases for entries without generic samples, by entry; and the entries that have no properties, with reasons."""

from __future__ import annotations

import numpy as np
from cases_attention import CASES as ATTENTION
from cases_convolution import CASES as CONVOLUTION
from cases_indexing import CASES as INDEXING
from cases_linear import CASES as LINEAR
from cases_loss import CASES as LOSS
from cases_normalization import CASES as NORMALIZATION
from cases_pad import CASES as PAD
from cases_pointwise import CASES as POINTWISE
from cases_pool import CASES as POOL
from cases_reduce import CASES as REDUCE
from cases_resample import CASES as RESAMPLE
from cases_shape import CASES as SHAPE
from cases_solve import CASES as SOLVE
from cases_solve import EXCEPT as SOLVE_EXCEPT
from samples import Array, Fixed, case

A = Array((3, 4))
B = Array((2, 3, 4))
POSITIVE = Array((3, 4), 0.3, 2.0)


def _filled(value):
    return lambda size, *a, **k: np.full(size, value)


# An entry of the table whose results are random: shapes, dtypes and refusals only.
RANDOM = {
    "rand", "randn", "randint", "rand_like", "randn_like", "randint_like", "randperm", "bernoulli", "cauchy", "exponential", "geometric",
    "binomial", "log_normal", "multinomial", "native_dropout", "normal", "poisson", "random", "uniform", "empty", "empty_like", "empty_strided", "new_empty",
    "new_empty_strided",
}
# Entries whose meaning is the memory layout itself.
LAYOUT_MATTERS = {
    "as_strided", "view", "_view_dtype", "view_as_complex", "empty_like", "_strided_sum", "_unsafe_view", "view_as", "resize_", "resize_as_",
}
# Not a function of the values.
NOT_SMOOTH = {"fill", "detach", "zero"}
# Single properties that do not fit single entries, each with its reason.
EXCEPT: dict[str, dict[str, str]] = {
    "as_strided": {"expanded": "reads the memory itself", "refused": "any geometry within the storage is fine"},
    "as_strided_scatter": {"layouts": "reads the memory itself, as it lies"},
    "__rfloordiv__": dict.fromkeys(("first_derivative", "second_derivative", "forward_mode"), "floor_divide, which has no derivative"),
    "detach": {"first_derivative": "cuts the graph", "second_derivative": "cuts the graph"},
    **{name: dict.fromkeys(("first_derivative", "second_derivative", "forward_mode"), "composites whose results are integers")
       for name in ("__rlshift__", "__rrshift__", "argwhere", "argsort", "linalg_matrix_rank", "linalg_matrix_rank.float", "linalg_matrix_rank.tol")},
    **{name: {"second_derivative": "the first is zero everywhere, and has no graph"} for name in ("sign", "ceil", "floor", "trunc", "round", "round.decimals")},
    **SOLVE_EXCEPT,
}

_ENDS = {"tensor_tensor": (Fixed(0.0, "float64"), Fixed(1.0, "float64")), "tensor_number": (Fixed(0.0, "float64"), 1.0),
         "number_tensor": (0.0, Fixed(1.0, "float64"))}

CASES = {
    **CONVOLUTION,
    # creation
    "zeros": [case([2, 3], reference=_filled(0)), case([], reference=_filled(0)), case([0, 2], reference=_filled(0))],
    "ones": [case([2, 3], reference=_filled(1)), case([], reference=_filled(1)), case([0, 2], reference=_filled(1))],
    "full": [case([2, 3], 7, reference=_filled(7)), case([2], 1.5, reference=_filled(1.5))],
    "empty": [case([2, 3]), case([])],
    "empty_strided": [case([2, 3], [1, 2])],
    "scalar_tensor": [case(3.5, reference=np.float32)],
    "zeros_like": [case(A, reference=np.zeros_like)],
    "ones_like": [case(A, reference=np.ones_like)],
    "full_like": [case(A, 1, reference=lambda x, v: np.full_like(x, v))],
    "empty_like": [case(A)],
    "new_zeros": [case(A, [2], reference=lambda x, s: np.zeros(s))],
    "new_ones": [case(A, [2], reference=lambda x, s: np.ones(s))],
    "new_full": [case(A, [2], 1, reference=lambda x, s, v: np.full(s, v))],
    "new_empty": [case(A, [2, 3])],
    "new_empty_strided": [case(A, [2, 3], [1, 2])],
    "arange": [case(5, reference=np.arange)],
    "arange.start_step": [case(2, 9, 3, reference=np.arange), case(1.0, 0.0, -0.25, reference=np.arange)],
    "range": [case(1, 4, reference=lambda a, b: np.arange(a, b + 1))],
    "linspace": [case(0.0, 1.0, 5, reference=np.linspace), case(3, 3, 1, reference=np.linspace)],
    **{f"linspace.{k}": [case(*a, 5, reference=np.linspace)] for k, a in _ENDS.items()},
    **{f"logspace.{k}": [case(*a, 5, reference=np.logspace)] for k, a in _ENDS.items()},
    "logspace": [case(0.0, 2.0, 5, reference=np.logspace)],
    "eye": [case(3, reference=np.eye)],
    "eye.m": [case(3, 4, reference=np.eye)],
    # random
    "rand": [case([2, 3])], "randn": [case([2, 3])], "randint": [case(10, [2, 3])], "randint.low": [case(3, 10, [2, 3])],
    "randperm": [case(5)], "rand_like": [case(A)], "randn_like": [case(A)], "randint_like": [case(A, 10)],
    "randint_like.low": [case(A, 3, 10)], "bernoulli": [case(Array((3, 4), 0.0, 1.0))], "bernoulli.p": [case(A, 0.5)],
    "bernoulli.tensor": [case(A, Array((3, 4), 0.0, 1.0))], "multinomial": [case(POSITIVE, 2)], "poisson": [case(POSITIVE)],
    "binomial": [case(POSITIVE, Array((3, 4), 0.0, 1.0))],
    "cauchy": [case(A)], "exponential": [case(A)], "geometric": [case(A, 0.5)], "log_normal": [case(A)], "uniform": [case(A)],
    "normal": [case(A)], "normal.tensor_tensor": [case(A, POSITIVE)], "normal.tensor_number": [case(A, 1.0)],
    "normal.number_tensor": [case(0.0, POSITIVE)], "normal.size": [case(0.0, 1.0, [2, 3])],
    "random": [case(A)], "random.to": [case(A, 5)], "random.from": [case(A, 1, 5)],
    # copies
    "copy": [case(A, Array((4,)), reference=lambda x, y: np.broadcast_to(y, x.shape)), case(A, A, reference=lambda x, y: y)],
    "clone": [case(A, reference=np.copy), case(Array((0, 2)), reference=np.copy), case(Array(()), reference=np.copy)],
    "detach": [case(A, reference=np.copy)],
    "fill.Tensor": [case(A, Array(()), reference=lambda x, v: np.full_like(x, v))],
    "fill": [case(A, 1, reference=lambda x, v: np.full_like(x, v))],
    "zero": [case(A, reference=np.zeros_like)],
    "resolve_conj": [case(A, reference=np.copy)],
    "resolve_neg": [case(A, reference=np.copy)],
    "contiguous": [case(A, reference=np.copy)],
    "real": [case(A, reference=np.real)],
    "imag": [case(Fixed([1 + 2j, 3 - 1j], "complex128"), reference=np.imag)],
    "any": [case(A, reference=np.any), case(Array((0,)), reference=np.any), case(Array(()), reference=np.any)],
    "all": [case(A, reference=np.all), case(Array((0,)), reference=np.all)],
    "sum": [case(A, reference=np.sum), case(Array(()), reference=np.sum), case(Array((0, 2)), reference=np.sum)],
    "sum.dim": [case(B, d, reference=lambda x, d: np.sum(x, axis=d if d is None else tuple(d))) for d in ([0], [-1], [0, 2], None)]
    + [case(B, [1], True, reference=lambda x, d, k: np.sum(x, axis=tuple(d), keepdims=k))],
    "sum_to_size": [case(B, [3, 1], reference=lambda x, s: x.sum((0, 2)).reshape(3, 1)), case(A, [1, 4])],
    **ATTENTION,
    **SHAPE,
    **INDEXING,
    **LINEAR,
    **LOSS,
    **NORMALIZATION,
    **POINTWISE,
    **POOL,
    **REDUCE,
    **RESAMPLE,
    **SOLVE,
    **PAD,
}

# No property can run; each with its reason.
UNTESTED = {
    "__ilshift__": "x <<= y: the method writes its own argument; bitwise_left_shift_ is tested",
    "__irshift__": "x >>= y: the method writes its own argument; bitwise_right_shift_ is tested",
    **{f"{name}.numbers": "takes no tensor; tested in tests/test_out_argument.py" for name in ("add", "sub", "mul", "div", "floor_divide")},
    **{f"linalg_ldl_{name}": "has no derivative; tests/test_linalg_indefinite.py multiplies the factors back" for name in ("factor", "factor_ex", "solve")},
    "special_one": "has no derivative; values beside torch's and SciPy's in tests/parity/test_rare_parity.py",
    "special_polynomial": "has no derivative; values beside torch's in tests/parity/test_rare_parity.py",
    "lstm_layer": "derivatives of both orders are checked in tests/nn/test_rnn_parity.py, and values beside torch",
}
