"""What Undertow computes with, and what the machine offers it."""

from undertow._lazy import explain_missing as _explain_missing
from undertow.backends import cpu as cpu

__all__ = ["cpu"]

TYPE_CHECKING = False
if not TYPE_CHECKING:  # a checker that saw it would let every name pass
    __getattr__ = _explain_missing(__name__)
