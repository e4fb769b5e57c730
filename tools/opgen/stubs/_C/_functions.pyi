# The operators that are functions of the package: `undertow.add`. The module has them in one dictionary, `_C._ops`.
from collections.abc import Sequence
from typing import Literal, overload

from undertow import return_types
from undertow._C import Generator, Tensor
from undertow._C import layout as _layout
from undertow._C import memory_format as _memory_format
from undertow._C._types import DeviceLike, DTypeLike, Number

_int = int
_float = float
_bool = bool

# opgen: functions package
