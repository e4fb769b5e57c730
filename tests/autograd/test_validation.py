"""Gradients must match their tensors in shape, dtype and complexness; which tensors may require grad."""

from __future__ import annotations

import copy

import pytest

import undertow as ut
from undertow import autograd


def leaf(*values: float, dtype=None) -> ut.Tensor:
    return ut.tensor(values, dtype=dtype, requires_grad=True)


# Root gradients.


@pytest.mark.parametrize("shape", [(2,), (1,), (3, 1), (1, 3), ()])
def test_a_root_gradient_of_another_shape_raises(shape):
    with pytest.raises(RuntimeError, match=r"^Mismatch in shape: grad_output\[0\] has a shape of"):
        (leaf(1.0, 2.0, 3.0) * 2).backward(ut.ones(shape))


def test_a_root_gradient_may_be_strided_or_expanded():
    x = ut.ones(2, 3, requires_grad=True)
    (x * 2).backward(ut.ones(3, 2).t())
    (x * 2).backward(ut.ones(1).expand(2, 3))
    assert x.grad.tolist() == [[4.0] * 3] * 2


def test_a_root_gradient_is_not_changed():
    x, given = leaf(1.0, 2.0), ut.tensor([3.0, 4.0])
    y = x * 1
    (y + y).backward(given)
    assert given.tolist() == [3.0, 4.0]
    assert given._version == 0


def test_a_root_gradient_that_requires_grad_is_not_recorded_without_create_graph():
    x, given = leaf(1.0), leaf(2.0)
    (x * 3).backward(given)
    assert not x.grad.requires_grad
    assert given.grad is None


# Gradients within the graph.


def test_broadcast_operands_get_summed_gradients():
    row, column, scalar = ut.ones(3, requires_grad=True), ut.ones(2, 1, requires_grad=True), ut.tensor(1.0, requires_grad=True)
    (row * column * scalar).sum().backward()
    assert row.grad.tolist() == [2.0, 2.0, 2.0]
    assert column.grad.tolist() == [[3.0], [3.0]]
    assert scalar.grad.item() == 6.0


def test_mixed_dtypes_give_each_operand_a_gradient_of_its_dtype():
    a, b = leaf(1.0, dtype=ut.float32), leaf(2.0, dtype=ut.float64)
    (a * b).sum().backward()
    assert (a.grad.dtype, b.grad.dtype) == (ut.float32, ut.float64)


def test_a_half_operand_gets_a_half_gradient():
    a, b = ut.ones(2, dtype=ut.bfloat16, requires_grad=True), leaf(2.0, 3.0)
    (a * b).sum().backward()
    assert a.grad.dtype == ut.bfloat16
    assert a.grad.tolist() == [2.0, 3.0]


def test_a_real_operand_of_a_complex_product_gets_the_real_part():
    a = leaf(1.0, dtype=ut.float64)
    b = ut.tensor([2.0 + 3.0j], dtype=ut.complex128, requires_grad=True)
    (a * b).backward(ut.ones(1, dtype=ut.complex128))
    assert a.grad.tolist() == [2.0]
    assert b.grad.tolist() == [1.0 + 0.0j]


def test_grad_of_a_complex_tensor_is_complex():
    z = ut.tensor([1.0 + 1.0j], dtype=ut.complex64, requires_grad=True)
    (g,) = autograd.grad(z * z.conj(), z, ut.ones(1, dtype=ut.complex64))
    assert g.dtype == ut.complex64
    assert g.tolist() == [2.0 + 2.0j]


# Which tensors may require grad.


@pytest.mark.parametrize("name", ["int64", "bool", "uint8", "int32"])
def test_only_floating_point_and_complex_tensors_require_grad(name):
    dtype = getattr(ut, name)
    clause = r"^[Oo]nly Tensors of floating point and complex dtype can require gradients"
    with pytest.raises(RuntimeError, match=clause):
        ut.ones(2, dtype=dtype, requires_grad=True)
    with pytest.raises(RuntimeError, match=clause):
        ut.tensor([1], dtype=dtype, requires_grad=True)
    clause = r"^only Tensors of floating point (and complex )?dtype can require gradients"
    with pytest.raises(RuntimeError, match=clause):
        ut.ones(2, dtype=dtype).requires_grad_()
    with pytest.raises(RuntimeError, match=clause):
        ut.ones(2, dtype=dtype).requires_grad = True


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
def test_floating_point_and_complex_tensors_may_require_grad(name):
    assert ut.ones(2, dtype=getattr(ut, name), requires_grad=True).requires_grad


def test_only_a_leaf_changes_whether_it_requires_grad():
    y = leaf(1.0) * 2
    with pytest.raises(RuntimeError, match=r"^you can only change requires_grad flags of leaf variables"):
        y.requires_grad = False
    clause = (r"^you can only change requires_grad flags of leaf variables\. If you want to use a computed variable in a subgraph "
              r"that doesn't require differentiation use var_no_grad = var\.detach\(\)")
    with pytest.raises(RuntimeError, match=clause):
        y.requires_grad_(False)
    with pytest.raises(RuntimeError, match=r"^you can only change requires_grad flags of leaf variables"):
        y.requires_grad = True
    assert y.requires_grad_() is y


def test_requires_grad_returns_the_tensor():
    x = ut.ones(1)
    assert x.requires_grad_() is x
    assert x.requires_grad_(False) is x
    assert not x.requires_grad


def test_requires_grad_is_a_bool():
    x = ut.ones(1)
    with pytest.raises((RuntimeError, TypeError), match="requires_grad must be a bool"):
        x.requires_grad = 1


def test_a_leaf_that_requires_grad_is_not_written_in_place():
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match=r"^a leaf Variable that requires grad is being used in an in-place operation"):
        x.add_(1)
    assert x.tolist() == [1.0]
    with ut.no_grad():
        x.add_(1)
    assert x.tolist() == [2.0]


def test_a_view_of_a_leaf_that_requires_grad_is_not_written_in_place():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match=r"^a view of a leaf Variable that requires grad is being used in an in-place operation"):
        x.view(2, 1).add_(1)
    with pytest.raises(RuntimeError, match=r"^a view of a leaf Variable that requires grad is being used in an in-place operation"):
        x[0] = 5.0


def test_an_expanded_tensor_is_not_written_in_place():
    clause = r"^unsupported operation: more than one element of the written-to tensor refers to a single memory location"
    with pytest.raises(RuntimeError, match=clause):
        ut.ones(1).expand(3).add_(1)


# Detaching and copying.


def test_detach_shares_memory_and_version_but_no_history():
    x = leaf(1.0)
    y = x * 2
    d = y.detach()
    assert d.data_ptr() == y.data_ptr()
    assert not d.requires_grad
    assert d.grad_fn is None
    assert d.is_leaf
    y.add_(1)
    assert d.tolist() == [3.0]
    assert d._version == y._version == 1


def test_detach_in_place_forgets_the_history():
    x = leaf(1.0)
    y = x * 2
    assert y.detach_() is y
    assert y.grad_fn is None
    assert y.is_leaf
    assert not y.requires_grad


def test_a_view_cannot_be_detached_in_place():
    y = (leaf(1.0, 2.0) * 2).view(2, 1)
    with pytest.raises(RuntimeError, match=r"^Can't detach views in-place\. Use detach\(\) instead"):
        y.detach_()


def test_data_shares_memory_but_not_the_version():
    x = ut.ones(2)
    d = x.data
    d.add_(1)
    assert x.tolist() == [2.0, 2.0]
    assert x._version == 0
    assert d._version == 1


def test_deepcopy_of_a_leaf_copies_its_gradient():
    x = leaf(1.0, 2.0)
    (x * 3).sum().backward()
    y = copy.deepcopy(x)
    assert y is not x
    assert y.data_ptr() != x.data_ptr()
    assert y.is_leaf
    assert y.requires_grad
    assert y.grad.tolist() == [3.0, 3.0]
    assert y.grad.data_ptr() != x.grad.data_ptr()


def test_deepcopy_preserves_sharing():
    x = leaf(1.0)
    a, b = copy.deepcopy([x, x])
    assert a is b


def test_deepcopy_of_a_non_leaf_raises():
    with pytest.raises(RuntimeError, match=r"^Only Tensors created explicitly by the user \(graph leaves\) support the deepcopy protocol"):
        copy.deepcopy(leaf(1.0) * 2)


def test_copy_shares_memory():
    x = ut.ones(2)
    assert copy.copy(x).data_ptr() == x.data_ptr()


def test_a_tensor_that_requires_grad_cannot_become_an_array():
    with pytest.raises(RuntimeError, match=r"^Can't call numpy\(\) on Tensor that requires grad\. Use tensor\.detach\(\)\.numpy\(\) instead"):
        leaf(1.0).numpy()
    assert leaf(1.0).detach().numpy().tolist() == [1.0]
