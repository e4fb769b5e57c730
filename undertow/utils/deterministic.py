"""`fill_uninitialized_memory`: whether memory is filled that nothing was written to, while `use_deterministic_algorithms` is on."""

from __future__ import annotations

import sys
from types import ModuleType

from undertow import _settings


class _Deterministic(ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether `empty`, `resize_` and the like write NaN, the largest integer or True while deterministic algorithms are on; at first True.

        >>> import undertow as ut
        >>> ut.use_deterministic_algorithms(True)
        >>> ut.empty(2), ut.empty(2, dtype=ut.int8)
        (tensor([nan, nan]), tensor([127, 127], dtype=undertow.int8))
        >>> ut.use_deterministic_algorithms(False)
        """
        return _settings._fills_uninitialized()

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        _settings._set_fills_uninitialized(mode)


sys.modules[__name__].__class__ = _Deterministic
