"""`cuda` on a machine without: queries say there is none, seeds and caches do nothing, the rest raises as torch's does."""

from undertow._lazy import explain_missing as _explain_missing
from undertow.cuda._absent import *
from undertow.cuda._absent import __all__

TYPE_CHECKING = False
if not TYPE_CHECKING:  # a checker that saw it would let every name pass
    __getattr__ = _explain_missing(__name__)
