"""Names of torch.serialization that are not in undertow.serialization."""

__all__ = ["DEFAULT_PROTOCOL"]

DEFAULT_PROTOCOL = 2  # of the pickle in a file
