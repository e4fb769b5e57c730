"""Linear algebra."""

from undertow._C import _LinAlgError, _ops
from undertow._lazy import explain_missing as _explain_missing
from undertow._namespace import publish as _publish

# The core prefixes the names with the module's name, like torch's core, because some operators outside of linalg have the same name.
_found: dict[str, object] = {}
_publish("linalg", _found)
globals().update({name.removeprefix("linalg_"): fn for name, fn in _found.items()})
LinAlgError = _LinAlgError
matmul = _ops["matmul"]
matrix_power = _ops["matrix_power"]
__all__ = sorted({*(name.removeprefix("linalg_") for name in _found), "LinAlgError", "matmul", "matrix_power"})

__getattr__ = _explain_missing(__name__)
