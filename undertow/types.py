"""Type aliases for annotations, like `torch.types`."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import Any

from undertow._C import Size, Tensor, device, dtype

_TensorOrTensors = Tensor | Sequence[Tensor]
_TensorOrTensorsOrGradEdge = Any
_dtype, _device, _size = dtype, device, Size | list[int] | tuple[int, ...]
_bool, _int, _float, _complex = builtins.bool, builtins.int, builtins.float, builtins.complex

Number = int | float | bool
Device = device | str | int | None
FileLike = str | os.PathLike[str] | Any
Storage = Any

__all__ = ["Device", "FileLike", "Number", "Storage"]
