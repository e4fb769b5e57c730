"""Helpers for tests: comparison and creation of tensors."""

from undertow._lazy import explain_missing as _explain_missing
from undertow.testing._comparison import assert_close
from undertow.testing._creation import make_tensor

__all__ = ["assert_close", "make_tensor"]

TYPE_CHECKING = False
if not TYPE_CHECKING:  # a type checker that saw it would accept every name
    __getattr__ = _explain_missing(__name__)
