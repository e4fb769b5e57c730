"""Orders of contraction by the opt_einsum package: not used."""

from undertow._no_device import answer
from undertow.backends._flags import flags_of

enabled = False
strategy = None
flags = flags_of(__name__)
is_available = answer("is_available", False)
