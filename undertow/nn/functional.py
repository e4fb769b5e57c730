"""Functions of neural networks: the core's operators under torch's names."""

from undertow._namespace import publish

__all__ = publish("nn.functional", globals())
