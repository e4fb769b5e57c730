"""NNPACK: not here."""

from undertow._no_device import answer
from undertow.backends._flags import flags_of

enabled = False
flags = flags_of(__name__)
is_available = answer("is_available", False)
