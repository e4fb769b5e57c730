"""How gradients reach `.grad`: what is moved, copied or added in place, and in which layout."""

from __future__ import annotations

import pytest

import undertow as ut


def leaf(*values: float) -> ut.Tensor:
    return ut.tensor(values, requires_grad=True)


def same_memory(a: ut.Tensor, b: ut.Tensor) -> bool:
    return a.data_ptr() == b.data_ptr()


def test_a_leaf_has_no_gradient_before_backward():
    assert leaf(1.0).grad is None


def test_the_gradient_given_by_the_user_is_copied_not_kept():
    x, given = leaf(1.0, 2.0), ut.ones(2)
    x.backward(given)
    assert not same_memory(x.grad, given)
    given.fill_(7.0)
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_gradient_that_passes_through_unchanged_is_copied_too():
    x, given = leaf(1.0, 2.0), ut.ones(2)
    (x + 1).backward(given)
    assert not same_memory(x.grad, given)


def test_two_leaves_fed_by_one_gradient_do_not_share_it():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (x + y).sum().backward()
    assert not same_memory(x.grad, y.grad)
    x.grad.mul_(0)
    assert y.grad.tolist() == [1.0, 1.0]


def test_a_second_backward_adds_to_the_same_tensor():
    x = leaf(1.0, 2.0)
    (x * 3).sum().backward()
    first = x.grad
    (x * 4).sum().backward()
    assert x.grad is first
    assert first.tolist() == [7.0, 7.0]


def test_an_accumulated_gradient_has_its_version_counted():
    x = leaf(1.0)
    (x * 3).backward()
    before = x.grad._version
    (x * 3).backward()
    assert x.grad._version == before + 1


def test_references_to_the_gradient_see_it_accumulate():
    x = leaf(1.0)
    (x * 3).backward()
    seen = x.grad.detach()
    (x * 3).backward()
    assert seen.item() == 6.0


def test_with_create_graph_the_sum_is_a_new_tensor():
    x = leaf(2.0)
    (x * x).backward(create_graph=True, inputs=x)
    first = x.grad
    (x * x).backward(create_graph=True, inputs=x)
    assert x.grad is not first
    assert (first.item(), x.grad.item()) == (4.0, 8.0)
    assert x.grad.grad_fn is not None
    x.grad = None


def test_without_create_graph_the_gradient_requires_no_grad():
    x = leaf(2.0)
    (x * x).backward()
    assert not x.grad.requires_grad
    assert x.grad.is_leaf


def test_setting_grad_to_none_starts_over():
    x = leaf(1.0)
    (x * 3).backward()
    first = x.grad
    x.grad = None
    (x * 3).backward()
    assert x.grad is not first
    assert x.grad.item() == 3.0


def test_the_same_leaf_used_many_times_gets_the_sum():
    x = leaf(2.0)
    total = x * 1
    for factor in range(2, 11):
        total = total + x * factor
    total.backward()
    assert x.grad.item() == sum(range(1, 11))


def test_a_leaf_used_twice_by_one_operation_gets_both_contributions():
    x = leaf(3.0)
    (x * x).backward()
    assert x.grad.item() == 6.0


def test_gradients_reach_a_leaf_through_several_roots():
    x = leaf(2.0)
    ut.autograd.backward([x * 2, x * 3, x])
    assert x.grad.item() == 6.0


def test_the_same_root_twice_counts_twice():
    x = leaf(2.0)
    y = x * 5
    ut.autograd.backward([y, y])
    assert x.grad.item() == 10.0


def test_the_gradient_follows_the_layout_of_a_dense_leaf():
    x = ut.ones(2, 3).t().clone().detach().as_strided((3, 2), (1, 3)).requires_grad_()
    (x * 2).sum().backward()
    assert x.grad.stride() == x.stride() == (1, 3)


def test_the_gradient_of_an_expanded_leaf_is_contiguous():
    x = ut.ones(1).expand(3).requires_grad_()
    (x * 2).sum().backward()
    assert x.grad.stride() == (1,)
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_a_gradient_does_not_keep_a_larger_tensor_alive():
    x = ut.ones(3, requires_grad=True)
    ut.cat([x, ut.ones(1000)]).exp().sum().backward()
    assert x.grad.untyped_storage().nbytes() == 12
    y = ut.ones(2, requires_grad=True)
    ut.nn.functional.pad(y, (500, 500)).exp().sum().backward()
    assert y.grad.untyped_storage().nbytes() == 8
    assert x.grad.tolist() == pytest.approx([2.718282] * 3) and y.grad.tolist() == pytest.approx([2.718282] * 2)


def test_an_expanded_gradient_becomes_dense():
    x = ut.ones(2, 3, requires_grad=True)
    x.sum().backward()
    assert x.grad.stride() == (3, 1)
    x.grad[0, 0] = 5.0
    assert x.grad.tolist() == [[5.0, 1.0, 1.0], [1.0, 1.0, 1.0]]


def test_a_gradient_assigned_by_hand_is_added_to():
    x = leaf(1.0, 1.0)
    mine = ut.tensor([10.0, 20.0])
    x.grad = mine
    (x * 2).sum().backward()
    assert x.grad is mine
    assert mine.tolist() == [12.0, 22.0]


def test_the_float64_gradient_of_a_float32_leaf_is_float32():
    x = leaf(1.0)
    (x * ut.tensor([2.0], dtype=ut.float64)).sum().backward()
    assert x.grad.dtype == ut.float32


def test_a_non_leaf_keeps_no_gradient_and_warns_when_asked():
    y = leaf(1.0) * 2
    y.sum().backward()
    with pytest.warns(UserWarning, match=r"The \.grad attribute of a Tensor that is not a leaf Tensor is being accessed"):
        assert y.grad is None


def test_a_retained_gradient_is_kept_for_a_non_leaf():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.retain_grad()
    assert y.retains_grad
    (y * 3).sum().backward()
    assert y.grad.tolist() == [3.0, 3.0]
    assert x.grad.tolist() == [6.0, 6.0]


def test_a_retained_gradient_accumulates_out_of_place():
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    first = y.grad
    y.sum().backward()
    assert first.tolist() == [1.0]
    assert y.grad.tolist() == [2.0]


def test_a_retained_gradient_shares_nothing_with_the_one_given():
    x, given = leaf(1.0), ut.ones(1)
    y = x * 2
    y.retain_grad()
    y.backward(given)
    given.fill_(9.0)
    assert y.grad.tolist() == [1.0]


def test_retaining_twice_counts_once():
    y = leaf(1.0) * 2
    y.retain_grad()
    y.retain_grad()
    y.sum().backward()
    assert y.grad.tolist() == [1.0]


def test_retaining_on_a_leaf_does_nothing():
    x = leaf(1.0)
    x.retain_grad()
    assert not x.retains_grad
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0]


def test_retaining_needs_requires_grad():
    with pytest.raises(RuntimeError, match=r"^can't retain_grad on Tensor that has requires_grad=False"):
        ut.ones(1).retain_grad()


def test_a_tensor_that_no_longer_requires_grad_gets_none():
    x, y = leaf(1.0), leaf(2.0)
    z = (x * y).sum()
    x.requires_grad_(False)
    z.backward()
    assert x.grad is None
    assert y.grad.tolist() == [1.0]


# Assigning .grad.


def test_a_gradient_must_be_a_tensor():
    x = leaf(1.0)
    with pytest.raises(TypeError, match=r"^assigned grad expected to be a Tensor or None but got grad of type"):
        x.grad = 3.0


def test_a_tensor_cannot_be_its_own_gradient():
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match=r"^can't assign Variable as its own grad"):
        x.grad = x


def test_an_assigned_gradient_must_have_the_same_shape():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match=r"^attempting to assign a gradient of size '\[3\]' to a tensor of size '\[2\]'"):
        x.grad = ut.ones(3)


def test_an_assigned_gradient_must_have_the_same_dtype():
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match=r"^attempting to assign a gradient with dtype"):
        x.grad = ut.ones(1, dtype=ut.float64)
    assert x.grad is None


def test_a_gradient_can_be_deleted():
    x = leaf(1.0)
    (x * 2).sum().backward()
    del x.grad
    assert x.grad is None


def test_backward_runs_with_no_grad_on():
    x = leaf(1.0)
    y = x * 2
    with ut.no_grad():
        y.backward()
    assert x.grad.tolist() == [2.0]


def test_inputs_limit_what_is_accumulated():
    x, y = leaf(1.0), leaf(2.0)
    (x * y).backward(inputs=[x])
    assert x.grad.tolist() == [2.0]
    assert y.grad is None


def test_backward_into_a_non_leaf_input_retains_it():
    x = leaf(1.0)
    y = x * 2
    (y * 3).backward(inputs=[y, x])
    assert y.grad.tolist() == [3.0]
    assert x.grad.tolist() == [6.0]


def test_a_complex_leaf_gets_the_conjugate_derivative():
    z = ut.tensor([1.0 + 2.0j], dtype=ut.complex128, requires_grad=True)
    w = ut.tensor([3.0 - 1.0j], dtype=ut.complex128)
    (z * w).backward(ut.ones(1, dtype=ut.complex128))
    assert z.grad.tolist() == [3.0 + 1.0j]


def test_a_real_leaf_under_complex_operations_gets_a_real_gradient():
    x = ut.tensor([2.0], dtype=ut.float64, requires_grad=True)
    w = ut.tensor([3.0 - 1.0j], dtype=ut.complex128)
    (x * w).backward(ut.tensor([1.0 + 1.0j], dtype=ut.complex128))
    assert x.grad.dtype == ut.float64
    assert x.grad.tolist() == [2.0]


def test_a_conjugated_gradient_is_resolved_in_grad():
    z = ut.tensor([1.0 + 2.0j], dtype=ut.complex128, requires_grad=True)
    z.conj().backward(ut.tensor([1.0 + 1.0j], dtype=ut.complex128))
    assert z.grad.tolist() == [1.0 - 1.0j]


def test_an_empty_leaf_gets_an_empty_gradient():
    x = ut.ones(0, 3, requires_grad=True)
    (x * 2).sum().backward()
    assert x.grad.shape == (0, 3)


def test_a_scalar_leaf_gets_a_scalar_gradient():
    x = ut.tensor(2.0, requires_grad=True)
    (x * ut.ones(3)).sum().backward()
    assert x.grad.shape == ()
    assert x.grad.item() == 3.0


def test_gradients_are_cast_to_the_dtype_chosen_for_them():
    x = ut.ones(2, dtype=ut.float16, requires_grad=True)
    assert x.grad_dtype == ut.float16
    x.grad_dtype = ut.float32
    for _ in range(2):
        (x * 2).sum().backward()
    assert x.grad.dtype == ut.float32 and x.grad.tolist() == [4.0, 4.0]
    with pytest.raises(RuntimeError, match="Cannot set grad_dtype to"):
        x.grad_dtype = ut.float64
    x.grad = None
    x.grad_dtype = None
    assert x.grad_dtype is None
    x.grad = ut.ones(2, dtype=ut.float64)
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad.dtype == ut.float16


def test_a_gradient_of_another_dtype_raises_unless_grad_dtype_allows_it():
    x = ut.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="attempting to assign a gradient with dtype .* to a tensor with grad_dtype"):
        x.grad = ut.ones(2, dtype=ut.float64)
    x.grad_dtype = ut.float64
    x.grad = ut.ones(2, dtype=ut.float64)
    assert x.grad.dtype == ut.float64
    with pytest.raises(RuntimeError, match="grad_dtype can only be accessed on leaf tensors"):
        (x * 2).grad_dtype
    with pytest.raises(RuntimeError, match="grad_dtype can only be set on leaf tensors"):
        (x * 2).grad_dtype = ut.float64
    with pytest.raises(RuntimeError, match="grad_dtype must be a torch.dtype or None"):
        x.grad_dtype = 3


@pytest.mark.filterwarnings("ignore:Using backward")
def test_a_recorded_gradient_is_copied_by_a_copy_node():
    x = leaf(2.0, 3.0)
    (x**3).sum().backward(create_graph=True)
    assert type(x.grad.grad_fn).__name__ == "CopyBackwards"
    assert x.grad.grad_fn.next_functions[0] == (None, 0)
    (second,) = ut.autograd.grad(x.grad.sum(), x)
    assert second.tolist() == [12.0, 18.0]
    x.grad = None


def test_a_sparse_gradient_that_is_not_contiguous_is_copied():
    made = []

    class Expanded(ut.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            made.append(ut.ones(1, 2).expand(3, 2))
            return ut.sparse_coo_tensor(ut.ones(1, 1, dtype=ut.int64).expand(1, 3), made[0], (4, 2))

    x = ut.ones(4, 2, requires_grad=True)
    Expanded.apply(x).sum().backward()
    assert not same_memory(x.grad._values(), made[0])
    assert x.grad.to_dense().tolist() == [[0, 0], [3, 3], [0, 0], [0, 0]]
