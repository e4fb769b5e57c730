"""Linear algebra."""

from undertow._namespace import publish

__all__ = publish("linalg", globals())
