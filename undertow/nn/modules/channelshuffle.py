"""A layer that interleaves groups of channels."""

from __future__ import annotations

from undertow._C import Tensor
from undertow.nn import functional as F
from undertow.nn.modules.module import Module

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    """Interleaves the channels of the groups.

    >>> import undertow as ut
    >>> ut.nn.ChannelShuffle(2)(ut.arange(4.0).reshape(1, 4, 1, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """

    __constants__: list[str] = ["groups"]

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        """Return the channels in their new order."""
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        """Return the number of groups."""
        return f"groups={self.groups}"
