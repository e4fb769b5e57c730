"""Special functions: error functions, gamma functions and their kin."""

from undertow._namespace import publish
from undertow._special_rare import functions as _rare

globals().update(_rare)
__all__ = [*publish("special", globals()), *_rare]
