"""Names of torch.testing that are not in undertow.testing."""

from __future__ import annotations

import warnings

import undertow
from undertow.as_torch.shims.testing import _utils as _utils

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["_utils", "assert_allclose"]

_TOLERANCES = {undertow.float16: (1e-3, 1e-3), undertow.float32: (1e-4, 1e-5), undertow.float64: (1e-5, 1e-8)}


def assert_allclose(actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = True, msg: str = "") -> None:
    """Deprecated: use `assert_close`. Compare values and ignore dtypes, with larger tolerances."""
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. "
        "Please use `torch.testing.assert_close()` instead. You can find detailed upgrade instructions in "
        "https://github.com/pytorch/pytorch/issues/61844.",
        FutureWarning,
        stacklevel=2,
    )
    if not isinstance(actual, undertow.Tensor):
        actual = undertow.tensor(actual)
    if not isinstance(expected, undertow.Tensor):
        expected = undertow.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        known = [_TOLERANCES.get(t.dtype, (0.0, 0.0)) for t in (actual, expected)]
        rtol, atol = max(r for r, _ in known), max(a for _, a in known)
    undertow.testing.assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)
