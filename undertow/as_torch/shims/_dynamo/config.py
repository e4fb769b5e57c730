"""Settings of torch's compiler. They can be read, set and restored, and have no effect."""

from __future__ import annotations

import contextlib
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

suppress_errors = False
compiled_autograd = False
verbose = False
cache_size_limit = recompile_limit = 8
accumulated_cache_size_limit = accumulated_recompile_limit = 256
assume_static_by_default = True
automatic_dynamic_shapes = True
capture_scalar_outputs = False
capture_dynamic_output_shape_ops = False
error_on_recompile = False
inline_inbuilt_nn_modules = True
optimize_ddp = False
guard_nn_modules = True
specialize_int = False
specialize_float = False


@contextlib.contextmanager
def patch(arg: Any = None, value: Any = None, **settings: Any) -> Iterator[None]:
    """Context manager or decorator that sets settings temporarily.

    >>> from undertow.as_torch.shims._dynamo import config
    >>> with config.patch(suppress_errors=True):
    ...     config.suppress_errors
    True
    >>> config.suppress_errors
    False
    """
    names = vars(sys.modules[__name__])
    settings = {**(arg if isinstance(arg, dict) else {} if arg is None else {arg: value}), **settings}
    before = {name: names[name] for name in settings if name in names}
    names.update(settings)
    try:
        yield
    finally:
        for name in settings:
            names.pop(name)
        names.update(before)
