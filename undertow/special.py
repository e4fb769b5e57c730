"""Special functions: error functions, gamma functions and others."""

from undertow._functions.bessel_and_polynomials import functions as _functions
from undertow._lazy import explain_missing as _explain_missing
from undertow._namespace import publish as _publish

globals().update(_functions)
__all__ = [*_publish("special", globals()), *_functions]

__getattr__ = _explain_missing(__name__)
