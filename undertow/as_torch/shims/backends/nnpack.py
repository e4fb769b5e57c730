"""NNPACK: not used."""

from undertow._absent_devices import answer
from undertow.as_torch.shims.backends._flags import flags_of

enabled = False
flags = flags_of(__name__)
is_available = answer("is_available", False)
