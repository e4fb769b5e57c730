"""Functions of neural networks without parameters of their own: activations, losses and their kin."""

from undertow._namespace import publish
from undertow.nn._embedding import embedding

__all__ = ["embedding", *publish("nn.functional", globals())]
