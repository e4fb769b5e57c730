"""Private names of torch.autograd.functional: what jacobian uses to make tuples of its arguments and results."""

from __future__ import annotations

from undertow import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["_as_tuple", "_construct_standard_basis_for", "_grad_postprocess", "_tuple_postprocess"]


def _as_tuple(inp: Any, arg_name: str | None = None, fn_name: str | None = None) -> tuple[bool, tuple[Any, ...]]:
    """Return whether `inp` is a tuple, and the tuple of its tensors.

    >>> from undertow import ones
    >>> _as_tuple(ones(1))
    (False, (tensor([1.]),))
    """
    if arg_name is None and fn_name is None:
        return isinstance(inp, tuple), inp if isinstance(inp, tuple) else (inp,)
    values = inp if isinstance(inp, tuple) else (inp,)
    for i, value in enumerate(values):
        if not isinstance(value, Tensor):
            which = f"Value at index {i} has type" if isinstance(inp, tuple) else "given"
            what = "must be a tuple of Tensors" if isinstance(inp, tuple) else "must be either a Tensor or a tuple of Tensors"
            raise TypeError(f"The {arg_name} given to {fn_name} {what}: {which} {type(value)}")
    return isinstance(inp, tuple), values


def _tuple_postprocess(res: Any, to_unpack: Any) -> Any:
    """Undo `_as_tuple` for a result: take single elements out of their tuples.

    >>> _tuple_postprocess(((1, 2),), (False, True))
    (1, 2)
    """
    if isinstance(to_unpack, tuple):
        if not to_unpack[1]:
            res = tuple(each[0] for each in res)
        return res if to_unpack[0] else res[0]
    return res if to_unpack else res[0]


def _grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """Detach results, also in tuples of tuples, unless the graph is wanted."""
    if create_graph:
        return inputs
    if isinstance(inputs[0], Tensor):
        return tuple(each.detach() for each in inputs)
    return tuple(_grad_postprocess(each, create_graph) for each in inputs)


def _construct_standard_basis_for(tensors: Sequence[Tensor], tensor_numels: Sequence[int]) -> tuple[Tensor, ...]:
    """Return the rows of an identity matrix over all elements, split between the tensors.

    >>> from undertow import ones
    >>> _construct_standard_basis_for([ones(1), ones(1)], [1, 1])
    (tensor([[1.],
            [0.]]), tensor([[0.],
            [1.]]))
    """
    if len(tensors) != len(tensor_numels) or not tensors:
        raise AssertionError("_construct_standard_basis_for: as many sizes as tensors, and at least one")
    total = sum(tensor_numels)
    found, start = [], 0
    for tensor, numel in zip(tensors, tensor_numels, strict=True):
        chunk = tensor.new_zeros(total, numel)
        chunk[start : start + numel].fill_diagonal_(1)
        found.append(chunk)
        start += numel
    return tuple(found)
