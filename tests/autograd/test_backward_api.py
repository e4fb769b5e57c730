"""`backward` and `grad` from Python: what they accept, and which errors they raise."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow import autograd
from undertow.autograd.graph import get_gradient_edge


def leaf(*shape: int, dtype=None) -> ut.Tensor:
    return ut.ones(shape, dtype=dtype, requires_grad=True)


def expect_error(kind: type[Exception], clause: str):
    """Expects the exception, with a message that starts with torch's first clause."""
    return pytest.raises(kind, match=r"^" + clause)


# Errors raised before the engine runs.


def test_a_vector_needs_a_gradient():
    with expect_error(RuntimeError, "grad can be implicitly created only for scalar outputs"):
        (leaf(3) * 2).backward()
    with expect_error(RuntimeError, "grad can be implicitly created only for scalar outputs"):
        autograd.grad(leaf(3) * 2, leaf(3))
    with expect_error(RuntimeError, "grad can be implicitly created only for scalar outputs"):
        (leaf(0) * 2).backward()


def test_one_element_of_any_rank_is_a_scalar():
    x = leaf(1, 1)
    (x * 2).backward()
    assert x.grad.tolist() == [[2.0]]


def test_a_complex_scalar_needs_a_gradient():
    clause = "grad can be implicitly created only for real scalar outputs but got "
    with expect_error(RuntimeError, clause + str(ut.complex64)):
        (leaf(3, dtype=ut.complex64) * 2).sum().backward()


def test_a_gradient_must_have_the_shape_of_its_output():
    clause = r"Mismatch in shape: grad_output\[0\] has a shape of .* and output\[0\] has a shape of"
    with expect_error(RuntimeError, clause):
        (leaf(3) * 2).backward(ut.ones(2))
    with expect_error(RuntimeError, clause):
        autograd.grad(leaf(3) * 2, leaf(3), ut.ones(1))


def test_complex_and_real_do_not_mix_in_a_gradient():
    clause = "For complex Tensors, both grad_output and output are required to have the same dtype"
    with expect_error(RuntimeError, clause):
        (leaf(3) * 2).backward(ut.ones(3, dtype=ut.complex64))
    with expect_error(RuntimeError, clause):
        (leaf(3, dtype=ut.complex64) * 2).backward(ut.ones(3))


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_a_gradient_of_another_real_dtype_is_converted(dtype):
    x = leaf(3)
    (x * 2).backward(ut.ones(3, dtype=getattr(ut, dtype)))
    assert x.grad.dtype == ut.float32
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_gradients_are_tensors_or_none():
    with expect_error(TypeError, "gradients can be either Tensors or None, but got float"):
        autograd.backward([leaf() * 1], [3.0])
    with expect_error(TypeError, "gradients can be either Tensors or None, but got str"):
        autograd.backward([leaf() * 1], ["a"])
    with pytest.raises(TypeError):
        (leaf() * 1).backward(3.0)


def test_there_is_a_gradient_for_each_tensor():
    two = [leaf() * 1, leaf() * 1]
    with expect_error(RuntimeError, "got 2 tensors and 1 gradients"):
        autograd.backward(two, [ut.ones(())])
    with expect_error(RuntimeError, "got 2 tensors and 1 gradients"):
        autograd.grad(two, leaf(), [ut.ones(())])


def test_an_output_is_a_tensor_or_an_edge():
    with pytest.raises((TypeError, AssertionError), match=r"^Expected output to be a"):
        autograd.backward(["a"])
    with pytest.raises((TypeError, AssertionError), match=r"^Expected output to be a"):
        autograd.grad([None], [leaf()])


@pytest.mark.parametrize("empty", [[], (), {}])
def test_inputs_cannot_be_empty(empty):
    y = (leaf(3) * 2).sum()
    with expect_error(RuntimeError, r"`inputs` argument to `backward\(\)` cannot be empty"):
        y.backward(inputs=empty)
    with expect_error(RuntimeError, r"`inputs` argument to `grad\(\)` cannot be empty"):
        autograd.grad(y, empty)


def test_grad_variables_is_the_old_name_of_grad_tensors():
    x = leaf()
    with pytest.warns(FutureWarning, match=r"^`grad_variables` is deprecated"):
        autograd.backward(x * 2, grad_variables=ut.tensor(3.0))
    assert x.grad.item() == 6.0
    both = r"`grad_tensors` and `grad_variables` \(deprecated\) arguments both passed"
    with pytest.warns(FutureWarning), expect_error(RuntimeError, both):
        autograd.backward(x * 2, ut.ones(()), grad_variables=ut.ones(()))


def test_only_inputs_is_ignored_with_a_warning():
    x = leaf()
    with pytest.warns(
        FutureWarning, match=r"^only_inputs argument is deprecated and is ignored now"
    ):
        assert autograd.grad(x * 2, x, only_inputs=False)[0].item() == 2.0


# Errors raised by the engine.


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_an_output_outside_any_graph_is_named_by_its_index(dtype):
    constant = ut.ones((), dtype=getattr(ut, dtype))
    clause = "element {} of tensors does not require grad and does not have a grad_fn"
    with expect_error(RuntimeError, clause.format(0)):
        constant.backward()
    with expect_error(RuntimeError, clause.format(1)):
        autograd.backward([leaf() * 2, constant])
    with expect_error(RuntimeError, clause.format(0)):
        autograd.grad(constant, leaf())


def test_an_output_outside_any_graph_is_reported_before_a_missing_gradient():
    with expect_error(RuntimeError, "element 0 of tensors does not require grad"):
        autograd.backward([ut.ones(3), leaf() * 2], [None, None])


def test_inputs_are_tensors_or_edges():
    clause = "all inputs have to be Tensors or GradientEdges, but got "
    with expect_error(RuntimeError, clause + "str"):
        autograd.grad(leaf() * 2, ["a"])
    with expect_error(RuntimeError, clause + "NoneType"):
        autograd.grad(leaf() * 2, [None])
    with expect_error(RuntimeError, clause + "str"):
        (leaf() * 2).backward(inputs="a")
    with pytest.raises(TypeError):
        (leaf() * 2).backward(inputs=3)


def test_an_input_must_require_grad():
    with expect_error(RuntimeError, "One of the differentiated Tensors does not require grad"):
        autograd.grad(leaf(3).sum(), ut.ones(3))
    with expect_error(RuntimeError, "can't retain_grad on Tensor that has requires_grad=False"):
        autograd.backward(leaf(3).sum(), inputs=ut.ones(2))


def test_a_second_backward_without_retain_graph_raises():
    y = (leaf(3) ** 2).sum()
    y.backward()
    with expect_error(RuntimeError, "Trying to backward through the graph a second time"):
        y.backward()


def test_backward_with_create_graph_warns_of_the_cycle():
    x = leaf(3)
    with pytest.warns(UserWarning, match=r"^Using backward\(\) with create_graph=True will create"):
        (x * x).sum().backward(create_graph=True)
    assert x.grad.requires_grad
    x.grad = None


# Unused inputs.


def test_an_unused_input_raises_is_allowed_or_is_materialized():
    x, y = leaf(3), leaf(2)
    clause = "The differentiated Tensor at index 1 appears to not have been used in the graph"
    with expect_error(RuntimeError, clause):
        autograd.grad((x * 2).sum(), [x, y])
    assert autograd.grad((x * 2).sum(), y, allow_unused=True) == (None,)
    (zeros,) = autograd.grad((x * 2).sum(), y, materialize_grads=True)
    assert zeros.tolist() == [0.0, 0.0]
    assert not zeros.requires_grad


def test_materialized_zeros_require_grad_when_the_graph_is_created():
    x, y = leaf(3), leaf(2)
    grads = autograd.grad((x * x).sum(), [x, y], materialize_grads=True, create_graph=True)
    assert grads[0].requires_grad
    assert grads[1].requires_grad


def test_materialize_grads_contradicts_allow_unused_false():
    x = leaf()
    with expect_error(
        ValueError, "Expected allow_unused to be True or not passed when materialize_grads"
    ):
        autograd.grad(x * 2, x, allow_unused=False, materialize_grads=True)


def test_no_outputs_use_no_inputs():
    autograd.backward([])
    with expect_error(
        RuntimeError, "The differentiated Tensor at index 0 appears to not have been used"
    ):
        autograd.grad([], leaf())


# What is accepted.


def test_several_outputs_are_summed():
    x = ut.tensor([1.0, 2.0], requires_grad=True)
    autograd.backward([x * 2, (x * x).sum()], [ut.ones(2), None])
    assert x.grad.tolist() == [4.0, 6.0]


def test_outputs_and_inputs_may_be_iterators():
    x = leaf(2)
    grads = autograd.grad((y for y in [(x * 2).sum()]), (i for i in [x]))
    assert grads[0].tolist() == [2.0, 2.0]


def test_inputs_may_be_a_dictionary():
    x, y = leaf(2), leaf(2)
    grads = autograd.grad((x * 2).sum(), {"x": x, "y": y}, materialize_grads=True)
    assert {name: g.tolist() for name, g in grads.items()} == {"x": [2.0, 2.0], "y": [0.0, 0.0]}
    (x * 2 + y).sum().backward(inputs={"x": x})
    assert x.grad.tolist() == [2.0, 2.0]
    assert y.grad is None


def test_the_same_input_twice_gives_the_same_gradient_twice():
    x = leaf(2)
    a, b = autograd.grad((x * 2).sum(), [x, x])
    assert a.tolist() == b.tolist() == [2.0, 2.0]


def test_backward_on_a_leaf_sets_its_gradient():
    x = leaf()
    x.backward()
    assert x.grad.item() == 1.0


def test_inputs_of_backward_may_be_inside_the_graph():
    x = leaf(3)
    y = x * 2
    (y * 3).sum().backward(inputs=y)
    assert y.grad.tolist() == [3.0, 3.0, 3.0]
    assert x.grad is None


def test_gradient_edges_can_replace_tensors():
    x = leaf(3)
    autograd.backward(get_gradient_edge((x * 2).sum()))
    assert x.grad.tolist() == [2.0, 2.0, 2.0]
    (g,) = autograd.grad(get_gradient_edge(x * 2), x, ut.ones(3))
    assert g.tolist() == [2.0, 2.0, 2.0]
    (g,) = autograd.grad((x * 2).sum(), get_gradient_edge(x))
    assert g.tolist() == [2.0, 2.0, 2.0]
    with expect_error(RuntimeError, "grad can be implicitly created only for scalar outputs"):
        autograd.grad(get_gradient_edge(x * 2), x)


def test_an_edge_has_no_shape_to_materialize():
    x, y = leaf(3), leaf(3)
    clause = "materialize_grads cannot be used when the given input is a GradientEdge"
    with expect_error(RuntimeError, clause):
        autograd.grad((x * 2).sum(), get_gradient_edge(y), materialize_grads=True)


def test_batched_gradients_give_a_jacobian():
    x = ut.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * x
    (jacobian,) = autograd.grad(y, x, ut.eye(3), is_grads_batched=True)
    assert jacobian.tolist() == [[2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 6.0]]
    with expect_error(RuntimeError, "Trying to backward through the graph a second time"):
        autograd.grad(y, x, ut.ones(3))


def test_batched_gradients_have_the_batch_first():
    x = leaf(3)
    with expect_error(RuntimeError, "If `is_grads_batched=True`, we interpret the first dimension"):
        autograd.grad(x * 2, x, ut.ones(3), is_grads_batched=True)
    with pytest.raises(ValueError, match=r"batch|in_dim"):
        autograd.grad((x * 2).sum(), x, is_grads_batched=True)


def test_grad_runs_inside_no_grad():
    x = leaf(3)
    y = x * 2
    with ut.no_grad():
        assert autograd.grad(y, x, ut.ones(3))[0].tolist() == [2.0, 2.0, 2.0]


def test_create_graph_differentiates_again():
    x = ut.tensor(3.0, requires_grad=True)
    (dx,) = autograd.grad(x * x * x, x, create_graph=True)
    (ddx,) = autograd.grad(dx, x)
    assert (dx.item(), ddx.item()) == (27.0, 18.0)
