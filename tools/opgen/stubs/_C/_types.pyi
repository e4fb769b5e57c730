# Type aliases that the other stubs share.
from collections.abc import Sequence
from types import EllipsisType
from typing import Any, SupportsIndex, TypeAlias

import numpy

from undertow._C import Tensor, device, dtype

Number: TypeAlias = int | float | complex
DTypeLike: TypeAlias = dtype | type[bool] | type[int] | type[float] | type[complex]
DeviceLike: TypeAlias = device | str
Array: TypeAlias = numpy.ndarray[Any, Any]
Index: TypeAlias = SupportsIndex | slice | EllipsisType | Tensor | Array | Sequence[Index] | None
