"""A dtype query that torch's operator database imports from its internals."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from undertow import dtype as DType  # noqa: N812


def dtype_to_type(dtype: DType) -> type:
    """Return the Python number type of a dtype.

    >>> import undertow as ut
    >>> dtype_to_type(ut.int64), dtype_to_type(ut.float16)
    (<class 'int'>, <class 'float'>)
    """
    if dtype.is_complex:
        return complex
    if dtype.is_floating_point:
        return float
    return bool if str(dtype).endswith("bool") else int
