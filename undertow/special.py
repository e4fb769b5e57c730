"""Special functions: error functions, gamma functions and their kin."""

from undertow._namespace import publish

__all__ = publish("special", globals())
