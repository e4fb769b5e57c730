"""The Python array API standard for tensors: the namespace that `tensor.__array_namespace__()` returns.

Names, arguments and promotion follow the standard, while those of `undertow` follow torch: here `sort` returns only values,
`max` has an `axis`, and 0-d arrays promote like any other. Results are differentiable. The dtypes uint16, uint32 and uint64
of the standard are missing.
"""

from undertow import e, empty_like, finfo, from_dlpack, full_like, iinfo, inf, nan, newaxis, ones_like, pi, zeros_like
from undertow._C import (
    bool,
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from undertow.array_api import fft, linalg
from undertow.array_api._creation import arange, asarray, empty, eye, full, linspace, meshgrid, ones, tril, triu, zeros
from undertow.array_api._dtypes import __array_namespace_info__, astype, can_cast, isdtype, result_type
from undertow.array_api._elementwise import *
from undertow.array_api._manipulation import (
    argmax,
    argmin,
    argsort,
    broadcast_arrays,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    moveaxis,
    nonzero,
    permute_dims,
    repeat,
    reshape,
    roll,
    searchsorted,
    sort,
    squeeze,
    stack,
    take,
    take_along_axis,
    tile,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
    unstack,
    where,
)
from undertow.array_api._statistics import all, any, count_nonzero, cumulative_prod, cumulative_sum, diff, max, mean, min, prod, std, sum, var
from undertow.array_api.linalg import matmul, matrix_transpose, tensordot, vecdot

VERSIONS = ("2021.12", "2022.12", "2023.12")
__array_api_version__ = "2023.12"
