"""Properties of the hardware and libraries that Undertow uses."""

from undertow._lazy import explain_missing as _explain_missing
from undertow.backends import cpu as cpu

__all__ = ["cpu"]

TYPE_CHECKING = False
if not TYPE_CHECKING:  # a type checker that saw it would accept every name
    __getattr__ = _explain_missing(__name__)
