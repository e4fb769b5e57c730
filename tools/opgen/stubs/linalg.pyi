# Linear algebra.
from collections.abc import Sequence
from typing import Literal, overload

from undertow import return_types
from undertow._C import Tensor, _LinAlgError
from undertow._C._functions import matmul as matmul
from undertow._C._functions import matrix_power as matrix_power
from undertow._C._types import DTypeLike, Number

_int = int
_float = float
_bool = bool
LinAlgError = _LinAlgError

# opgen: functions linalg
