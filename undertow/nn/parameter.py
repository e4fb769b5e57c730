"""`Parameter`: a tensor that is a leaf of its own and wants gradients."""

from undertow._C import Parameter

__all__ = ["Parameter"]
