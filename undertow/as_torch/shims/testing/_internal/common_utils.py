"""Names that test files import from torch.testing._internal.common_utils. README.md says where each is defined."""

from __future__ import annotations

import functools
import itertools
import unittest

import undertow as ut
from undertow.as_torch.shims.testing._internal._case import TestCase
from undertow.as_torch.shims.testing._internal._contexts import (
    SEED,
    TemporaryDirectoryName,
    TemporaryFileName,
    disable_gc,
    freeze_rng_state,
    set_default_dtype,
    set_rng_seed,
    set_warn_always_context,
)
from undertow.as_torch.shims.testing._internal._environment import *  # noqa: F403
from undertow.as_torch.shims.testing._internal._environment import TEST_WITH_SLOW_GRADCHECK
from undertow.as_torch.shims.testing._internal._parametrize import instantiate_parametrized_tests, parametrize, subtest
from undertow.as_torch.shims.testing._internal.common_dtype import get_all_dtypes
from undertow.autograd import gradcheck as _gradcheck
from undertow.autograd import gradgradcheck as _gradgradcheck
from undertow.testing import make_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

__all__ = [
    "SEED", "TemporaryDirectoryName", "TemporaryFileName", "TestCase", "disable_gc", "freeze_rng_state", "get_all_dtypes", "gradcheck",
    "gradgradcheck", "instantiate_parametrized_tests", "iter_indices", "make_tensor", "noncontiguous_like", "parametrize",
    "random_symmetric_matrix", "random_symmetric_pd_matrix", "run_tests", "set_default_dtype", "set_rng_seed", "set_warn_always_context",
    "subtest", "dtype_name",
]

load_tests = None  # unittest's protocol; test files import it so that linters consider it used


def run_tests(argv: list[str] | None = None) -> None:
    """Run the tests of the main module, as `python test_x.py` expects."""
    unittest.main(argv=argv)


def _in_mode(check: Callable[..., bool]) -> Callable[..., bool]:
    @functools.wraps(check)
    def run(fn: Callable[..., Any], inputs: Any, *args: Any, **kwargs: Any) -> bool:
        """Run gradcheck in fast mode, unless PYTORCH_TEST_WITH_SLOW_GRADCHECK=1 or `fast_mode` is given."""
        kwargs.setdefault("fast_mode", not TEST_WITH_SLOW_GRADCHECK)
        kwargs.setdefault("check_batched_grad", False)
        return check(fn, inputs, *args, **kwargs)

    return run


gradcheck = _in_mode(_gradcheck)
gradgradcheck = _in_mode(_gradgradcheck)


def iter_indices(tensor: Any) -> Iterator[Any]:
    """Iterate over the indices of the tensor: ints for one dimension, tuples for more."""
    if tensor.dim() == 0:
        return iter(range(0))
    if tensor.dim() == 1:
        return iter(range(tensor.size(0)))
    return itertools.product(*(range(s) for s in tensor.size()))


def noncontiguous_like(t: Any) -> Any:
    """Return a non-contiguous tensor with the same values."""
    if not t.is_contiguous():
        return t
    wide = ut.empty((*t.shape, 2), dtype=t.dtype, device=t.device)
    result = wide[..., 0]
    result.copy_(t.detach())
    return result.requires_grad_(t.requires_grad)


def random_symmetric_matrix(matrix_size: int, *batch_dims: int, **kwargs: Any) -> Any:
    a = ut.randn(*batch_dims, matrix_size, matrix_size, **kwargs)
    return (a + a.mT).div_(2)


def random_symmetric_pd_matrix(matrix_size: int, *batch_dims: int, **kwargs: Any) -> Any:
    a = ut.randn(*batch_dims, matrix_size, matrix_size, **kwargs)
    return ut.matmul(a, a.mT) + ut.eye(matrix_size, **kwargs) * 1e-5


def dtype_name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def __getattr__(name: str) -> Any:
    # NumPy is imported on first use.
    if name not in ("numpy_to_torch_dtype_dict", "torch_to_numpy_dtype_dict"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import numpy as np

    kinds: Sequence[Any] = (ut.bool, ut.uint8, ut.int8, ut.int16, ut.int32, ut.int64, ut.float16, ut.float32, ut.float64, ut.complex64, ut.complex128)
    ours = {t: getattr(np, dtype_name(t) + ("_" if t is ut.bool else "")) for t in kinds}
    globals()["torch_to_numpy_dtype_dict"] = ours
    globals()["numpy_to_torch_dtype_dict"] = {v: k for k, v in ours.items()}
    return globals()[name]
