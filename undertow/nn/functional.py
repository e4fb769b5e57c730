"""Functions of neural networks: the core's operators under torch's names."""

from undertow._namespace import publish
from undertow.nn._embedding import embedding

__all__ = ["embedding", *publish("nn.functional", globals())]
