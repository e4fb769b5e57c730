"""Functions of neural networks without parameters of their own: activations, losses and their kin."""

from undertow._namespace import publish

__all__ = publish("nn.functional", globals())
