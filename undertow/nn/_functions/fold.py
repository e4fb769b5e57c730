"""`unfold` and `fold`: convert an image to columns of sliding blocks, and back."""

from __future__ import annotations

from undertow._C import Tensor, _ops
from undertow._override import overridable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__: list[str] = ["fold", "unfold"]


def _pair(value: int | Sequence[int]) -> Sequence[int]:
    return (value, value) if isinstance(value, int) else value


@overridable
def unfold(
    input: Tensor,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """Extract sliding blocks as columns: (N, C, H, W) becomes (N, C * taps, blocks).

    >>> import undertow as ut
    >>> unfold(ut.arange(9.0).reshape(1, 1, 3, 3), 2)[0, :, 0].tolist()
    [0.0, 1.0, 3.0, 4.0]
    """
    return _ops["_nn.im2col"](input, _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride))


@overridable
def fold(
    input: Tensor,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """Combine columns of blocks to an image of output_size; overlapping blocks are summed.

    >>> import undertow as ut
    >>> fold(ut.ones(1, 4, 4), 3, 2)[0, 0].tolist()
    [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]
    """
    return _ops["_nn.col2im"](input, _pair(output_size), _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride))
