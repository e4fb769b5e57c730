"""Switches of cuDNN, which Undertow does not use."""

from undertow._absent_devices import answer
from undertow.as_torch.shims.backends._flags import flags_of

enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False
allow_tf32 = True
fp32_precision = "none"
flags = flags_of(__name__)
is_available = answer("is_available", False)
version = answer("version", None)
is_acceptable = answer("is_acceptable", False)
