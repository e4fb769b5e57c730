"""Every operator on the meta device gives the same shapes, dtypes and strides as on the CPU."""

from __future__ import annotations

import re

import pytest
from apply import accepted, cases_of
from numeric import flatten
from samples import tensors_of
from table import entries, find

import undertow as ut

# The shape of the result depends on elements, so these raise, as in torch.
DATA_DEPENDENT = {
    "item", "equal", "allclose", "nonzero", "argwhere", "masked_select", "_unique2", "_unique_dim", "_unique_consecutive", "bincount",
    "index#mask", "_repeat_indices", "is_nonzero", "one_hot", "repeat_interleave.indices", "repeat_interleave.Tensor",
    "narrow.Tensor", "tensor_split.tensor", "where.condition",
}
MOVES = {"to.device", "cpu"}  # to the CPU, so they have no result on meta


def with_cases() -> list[str]:
    return [key for key, e in entries().items() if find(e) is not None and cases_of(key, e) and key not in MOVES]


def on_meta(value):
    if isinstance(value, ut.Tensor):
        moved = value.detach().to("meta")
        return moved.requires_grad_() if value.requires_grad else moved
    if isinstance(value, (list, tuple)):
        return type(value)(on_meta(v) for v in value)
    if isinstance(value, dict):
        return {k: on_meta(v) for k, v in value.items()}
    return value


def geometry(result) -> list[tuple]:
    return [(tuple(t.shape), t.dtype, t.stride(), t.requires_grad) if isinstance(t, ut.Tensor) else t for t in flatten(result)]


def leaves(value, out: list | None = None) -> list[ut.Tensor]:
    out = [] if out is None else out
    if isinstance(value, ut.Tensor):
        if value.requires_grad:
            out.append(value)
    elif isinstance(value, (list, tuple)):
        for v in value:
            leaves(v, out)
    elif isinstance(value, dict):
        for v in value.values():
            leaves(v, out)
    return out


def differentiate(result) -> bool:
    roots = [t for t in flatten(result) if isinstance(t, ut.Tensor) and t.requires_grad]
    if not roots:
        return False
    ut.autograd.backward(roots, [ut.ones_like(t) for t in roots])
    return True


def both_differentiate(expected, result) -> bool:
    """Whether there were gradients; if a derivative does not exist, both must raise."""
    try:
        differentiable = differentiate(expected)
    except RuntimeError as error:
        with pytest.raises(RuntimeError, match=re.escape(str(error))):
            differentiate(result)
        return False
    assert differentiate(result) == differentiable
    return differentiable


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", with_cases())
def test_meta_tensors_have_the_same_geometry_as_on_the_cpu(key: str):
    e = entries()[key]
    compared = 0
    for number, case in enumerate(cases_of(key, e)):
        found = accepted(key, e, case, number)
        if found is None:
            continue
        dtype, args, kwargs, _ = found
        here = tensors_of(tuple(args), dtype), {k: tensors_of(v, dtype) for k, v in kwargs.items()}
        if e.diff_args:
            for t in flatten([here[0], list(here[1].values())]):
                if isinstance(t, ut.Tensor) and t.dtype.is_floating_point:
                    t.requires_grad_()
        there = on_meta(here[0]), on_meta(here[1])
        if e.name in DATA_DEPENDENT or key in DATA_DEPENDENT:
            with pytest.raises((NotImplementedError, RuntimeError), match="meta"):
                find(e)(*there[0], **there[1])
            return
        try:
            expected = find(e)(*here[0], **here[1])
        except RuntimeError:  # the operator raises for this gradient: compare without it
            for t in leaves(here) + leaves(there):
                t.requires_grad_(False)
            expected = find(e)(*here[0], **here[1])
        result = find(e)(*there[0], **there[1])
        assert geometry(result) == geometry(expected)
        if e.tensor_args:
            assert all(t.device.type == "meta" for t in flatten(result) if isinstance(t, ut.Tensor))
        if both_differentiate(expected, result):
            assert geometry([t.grad for t in leaves(there)]) == geometry([t.grad for t in leaves(here)])
            assert all(t.grad is None or t.grad.device.type == "meta" for t in leaves(there))
        compared += 1
    assert compared
