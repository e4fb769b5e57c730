# The operators behind undertow.nn: `_C._ops["_nn.im2col"]`. No module of this name exists at run time.
from collections.abc import Sequence

from undertow import return_types
from undertow._C import Tensor

_int = int
_float = float
_bool = bool

# opgen: functions _nn
