"""The question about dtypes that torch's operator database asks of its internals."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from undertow import dtype as DType  # noqa: N812


def dtype_to_type(dtype: DType) -> type:
    """Python's type of numbers for a dtype.

    >>> import undertow as ut
    >>> dtype_to_type(ut.int64), dtype_to_type(ut.float16)
    (<class 'int'>, <class 'float'>)
    """
    if dtype.is_complex:
        return complex
    if dtype.is_floating_point:
        return float
    return bool if str(dtype).endswith("bool") else int
