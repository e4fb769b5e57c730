"""`cuda` on a machine without: queries say there is none, seeds and caches do nothing, the rest raises as torch's does."""

from undertow.cuda._absent import *
from undertow.cuda._absent import __all__
