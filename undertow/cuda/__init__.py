"""`cuda` without a GPU: queries report no device, seeds and caches do nothing, everything else raises as in torch."""

from undertow._lazy import explain_missing as _explain_missing
from undertow.cuda._absent import *
from undertow.cuda._absent import __all__

TYPE_CHECKING = False
if not TYPE_CHECKING:  # a type checker that saw it would accept every name
    __getattr__ = _explain_missing(__name__)
