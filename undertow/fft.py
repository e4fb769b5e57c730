"""Discrete Fourier transforms."""

from undertow._namespace import publish

__all__ = publish("fft", globals())
