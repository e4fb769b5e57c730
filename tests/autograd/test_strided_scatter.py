"""as_strided_scatter of tensors with every layout: positions count in the storage, and derivatives follow them."""

from __future__ import annotations

import pytest

import undertow as ut

LAYOUTS = {
    "whole": lambda x: x,
    "transposed": lambda x: x.t(),
    "columns": lambda x: x[:, 1:],
    "a row": lambda x: x[1],
    "an element": lambda x: x[1, 0],
    "expanded": lambda x: x[0].unsqueeze(1).expand(3, 2),
}
PARTS = {"a pair": ((2,), (1,), None), "every second": ((2,), (2,), 1), "from the start": ((2,), (1,), 0), "before the end": ((2, 1), (1, 1), 4)}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_derivatives_agree_with_finite_differences(layout, part):
    x = ut.rand(2, 3, dtype=ut.float64, requires_grad=True)
    size, stride, offset = PARTS[part]
    source = ut.rand(size, dtype=ut.float64, requires_grad=True)

    def f(x, source):
        return LAYOUTS[layout](x * 1).as_strided_scatter(source, size, stride, offset) * 2

    if layout == "expanded" and part == "before the end":  # the copy has six elements of its own
        assert f(x, source).stride() == (2, 1)
    ut.autograd.gradcheck(f, (x, source), check_forward_ad=True, check_batched_grad=True)
    ut.autograd.gradgradcheck(f, (x, source))


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "expanded"])
def test_the_result_is_what_a_write_to_a_copy_of_the_storage_gives(layout, part):
    size, stride, offset = PARTS[part]
    memory, source = ut.arange(6.0).reshape(2, 3), ut.full(size, 9.0)
    result = LAYOUTS[layout](memory).as_strided_scatter(source, size, stride, offset)
    written = LAYOUTS[layout](memory.clone())
    written.as_strided(size, stride, offset).copy_(source)
    assert ut.equal(result, written)
    assert result.stride() == written.stride()


def test_dtype_views_ignore_the_strides_of_single_elements():
    x = ut.arange(4.0, dtype=ut.float64).unfold(0, 1, 1).transpose(0, -1)  # shape (1, 4), strides (1, 1)
    assert x.view(ut.complex128).tolist() == [[1j, 2 + 3j]]


def test_adjoint_of_a_number_is_its_conjugate():
    with pytest.warns(UserWarning, match="deprecated on 0-D tensors"):
        assert ut.tensor(1j).adjoint().item() == -1j
