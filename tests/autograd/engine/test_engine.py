"""What a pass computes: which nodes run, in which order, with which gradients, and what it leaves behind."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow import autograd


def leaf(*values: float) -> ut.Tensor:
    return ut.tensor(values, requires_grad=True)


def accumulator(x: ut.Tensor):
    return x.view_as(x).grad_fn.next_functions[0][0]


# Nodes and their identity.


def test_a_node_keeps_its_identity():
    y = leaf(1.0) * 2
    assert y.grad_fn is y.grad_fn
    z = y + 1
    assert z.grad_fn.next_functions[0][0] is y.grad_fn


def test_nodes_are_named_after_their_operation():
    x = leaf(1.0)
    names = [t.grad_fn.name() for t in (x * 2, x + 1, x - 1, x / 2, -x, x.exp(), x.sum(), x.clone(), x.view(1, 1), x.expand(2, 1))]
    assert names == ["MulBackward0", "AddBackward0", "SubBackward0", "DivBackward0", "NegBackward0", "ExpBackward0",
                     "SumBackward0", "CloneBackward0", "ViewBackward0", "ExpandBackward0"]


def test_a_scalar_operand_has_no_edge():
    assert (leaf(1.0) * 2).grad_fn.next_functions[1] == (None, 0)


def test_an_operand_that_requires_no_grad_has_no_edge():
    assert (leaf(1.0) * ut.ones(1)).grad_fn.next_functions[1] == (None, 0)


def test_a_leaf_leads_to_its_accumulator():
    x = leaf(1.0)
    node = accumulator(x)
    assert node.name().endswith("AccumulateGrad")
    assert node.variable is x
    assert node.next_functions == ()


def test_a_leaf_has_one_accumulator_while_a_graph_holds_it():
    x = leaf(1.0)
    a, b = x * 2, x * 3
    assert a.grad_fn.next_functions[0][0] is b.grad_fn.next_functions[0][0]


def test_results_without_history_have_no_node():
    assert ut.ones(1).grad_fn is None
    assert (ut.ones(1) * 2).grad_fn is None
    assert leaf(1.0).grad_fn is None


def test_integer_results_of_float_operands_have_no_history():
    x = leaf(1.0, 2.0)
    assert not (x > 1).requires_grad
    assert not x.argmax().requires_grad


def test_leaves_and_others():
    x = leaf(1.0)
    assert x.is_leaf
    assert ut.ones(1).is_leaf
    assert (ut.ones(1) * 2).is_leaf
    assert not (x * 2).is_leaf
    assert x.detach().is_leaf
    assert (x * 2).output_nr == 0


# Order.


def order_of(nodes: dict, root: ut.Tensor) -> list[str]:
    """The names of the nodes in the order in which they run."""
    order: list[str] = []
    for name, tensor in nodes.items():
        tensor.grad_fn.register_prehook(lambda grads, name=name: order.append(name))
    root.backward(retain_graph=True)
    return order


def test_nodes_created_later_run_first():
    x = leaf(1.0)
    a = x * 2
    b = x * 3
    c = x * 4
    assert order_of({"a": a, "b": b, "c": c}, (a + b + c).sum()) == ["c", "b", "a"]


def test_a_node_waits_for_all_that_use_it():
    x = leaf(1.0)
    a = x * 2
    b = a * 3
    c = a * 4
    d = b + c
    assert order_of({"a": a, "b": b, "c": c, "d": d}, d.sum()) == ["d", "c", "b", "a"]


def test_leaves_accumulate_as_soon_as_they_are_ready():
    x, y = leaf(1.0), leaf(2.0)
    order = []
    a = x * 2
    b = y * 3
    a.grad_fn.register_prehook(lambda g: order.append("a"))
    b.grad_fn.register_prehook(lambda g: order.append("b"))
    x.register_post_accumulate_grad_hook(lambda t: order.append("x"))
    y.register_post_accumulate_grad_hook(lambda t: order.append("y"))
    (a + b).sum().backward()
    assert order == ["b", "y", "a", "x"]


# What runs.


def test_only_nodes_that_lead_to_the_inputs_run():
    x, y = leaf(1.0), leaf(2.0)
    ran = []
    a, b = x * 2, y * 3
    a.register_hook(lambda g: ran.append("a"))
    b.register_hook(lambda g: ran.append("b"))
    autograd.grad((a + b).sum(), x)
    assert ran == ["a"]


def test_grad_does_not_touch_the_leaves():
    x, y = leaf(1.0), leaf(2.0)
    autograd.grad((x * y).sum(), [x, y])
    assert x.grad is None
    assert y.grad is None


def test_grad_of_an_intermediate_tensor():
    x = leaf(2.0)
    y = x * x
    assert autograd.grad((y * 3).sum(), y)[0].tolist() == [3.0]


def test_grad_of_a_tensor_and_of_its_own_input():
    x = leaf(2.0)
    y = x * x
    dy, dx = autograd.grad((y * 3).sum(), [y, x])
    assert dy.tolist() == [3.0]
    assert dx.tolist() == [12.0]


def test_grad_of_the_output_itself_is_the_gradient_given():
    x = leaf(2.0)
    y = x * x
    given = ut.tensor([5.0])
    assert autograd.grad(y, y, given)[0].tolist() == [5.0]


def test_grad_of_a_leaf_with_respect_to_itself():
    x = leaf(2.0)
    assert autograd.grad(x, x, ut.tensor([5.0]))[0].tolist() == [5.0]


def test_roots_may_depend_on_each_other():
    x = leaf(2.0)
    y = x * 3
    z = y * 4
    autograd.backward([y, z])
    assert x.grad.tolist() == [15.0]


def test_grad_sums_over_roots_with_their_weights():
    x = leaf(2.0)
    (g,) = autograd.grad([x * 3, x * 4], x, [ut.tensor([10.0]), ut.tensor([100.0])])
    assert g.tolist() == [430.0]


def test_none_means_one_for_scalar_roots():
    x = leaf(2.0)
    autograd.backward([(x * 3).sum(), x * 4], [None, ut.tensor([10.0])])
    assert x.grad.tolist() == [43.0]


def test_an_unused_input_is_none_when_allowed():
    x, y = leaf(1.0), leaf(1.0)
    assert autograd.grad((x * 2).sum(), [x, y], allow_unused=True)[1] is None


def test_an_input_reached_by_no_gradient_is_none_too():
    x = leaf(1.0)
    y = x.detach().requires_grad_()
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        autograd.grad((x * 2).sum(), y)


def test_materialized_gradients_are_zeros():
    x, y = leaf(1.0), leaf(1.0, 2.0)
    assert autograd.grad((x * 2).sum(), [x, y], materialize_grads=True)[1].tolist() == [0.0, 0.0]


# The life of the graph.


def test_retain_graph_allows_another_pass():
    x = leaf(3.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [12.0]


def test_a_graph_without_saved_values_may_be_walked_again():
    x = leaf(3.0)
    y = (x + 1).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [2.0]


def test_a_second_pass_over_a_freed_graph_raises_and_says_why():
    x = leaf(3.0)
    y = (x * x).sum()
    y.backward()
    clause = r"^Trying to backward through the graph a second time \(or directly access saved tensors after they have already been freed\)"
    with pytest.raises(RuntimeError, match=clause):
        y.backward()
    assert x.grad.tolist() == [6.0]


def test_freed_saved_values_cannot_be_read():
    x = leaf(3.0)
    y = x * x
    y.sum().backward()
    with pytest.raises(RuntimeError, match=r"^Trying to backward through the graph a second time"):
        y.grad_fn._saved_self  # noqa: B018


def test_grad_frees_only_the_nodes_that_ran():
    x, y = leaf(3.0), leaf(4.0)
    a, b = x * x, y * y
    z = (a + b).sum()
    autograd.grad(z, x)
    assert autograd.grad(b.sum(), y)[0].tolist() == [8.0]
    with pytest.raises(RuntimeError, match="second time"):
        autograd.grad(a.sum(), x)


def test_grad_keeps_the_graph_when_asked():
    x = leaf(3.0)
    z = (x * x).sum()
    first = autograd.grad(z, x, retain_graph=True)[0]
    assert first.tolist() == autograd.grad(z, x)[0].tolist() == [6.0]


def test_two_roots_can_use_a_shared_subgraph_in_turn():
    x = leaf(3.0)
    shared = x + 1
    a, b = (shared * 2).sum(), (shared * 3).sum()
    a.backward()
    b.backward()
    assert x.grad.tolist() == [5.0]


def test_dropping_every_reference_to_a_graph_before_backward_is_harmless():
    x = leaf(3.0)
    y = x * x
    del y
    assert x.grad is None


def test_a_wide_graph():
    leaves = [ut.tensor(float(i), requires_grad=True) for i in range(2000)]
    total = leaves[0] * 1
    for x in leaves[1:]:
        total = total + x * x
    total.backward()
    assert leaves[0].grad.item() == 1.0
    assert all(x.grad.item() == 2.0 * i for i, x in enumerate(leaves) if i)


def test_one_node_feeding_thousands():
    x = leaf(1.0)
    shared = x * 2
    total = shared * 0
    for _ in range(3000):
        total = total + shared
    total.sum().backward()
    assert x.grad.tolist() == [6000.0]


def test_a_ladder_with_exponentially_many_paths_is_linear_work():
    x = ut.tensor(1.0, dtype=ut.float64, requires_grad=True)
    y = x
    for _ in range(200):
        y = (y + y) * 0.5
    y.backward()
    assert x.grad.item() == 1.0


def test_undefined_gradients_do_not_stop_the_others():
    x = leaf(1.0, 2.0, 3.0, 4.0)
    first, second = x.split(2)
    (first * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 0.0, 0.0]


def test_a_detached_branch_gets_nothing():
    x = leaf(2.0)
    (x * x.detach()).sum().backward()
    assert x.grad.tolist() == [2.0]


def test_a_graph_built_in_no_grad_is_none():
    x = leaf(2.0)
    with ut.no_grad():
        y = x * 2
    assert y.is_leaf
    assert not y.requires_grad
    (y * x).sum().backward()
    assert x.grad.tolist() == [4.0]


def test_the_current_node_and_task_are_known_inside_a_hook():
    x = leaf(2.0)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append((ut._C._current_autograd_node(), ut._C._current_graph_task_id())))
    y.sum().backward()
    assert seen[0][0] is y.grad_fn
    assert seen[0][1] >= 0
    assert ut._C._current_graph_task_id() == -1
    assert ut._C._current_autograd_node() is None


def test_grad_mode_inside_a_pass_is_create_graph():
    x = leaf(2.0)
    y = x * x
    seen = []
    y.register_hook(lambda g: seen.append(ut.is_grad_enabled()))
    autograd.grad(y.sum(), x, retain_graph=True)
    autograd.grad(y.sum(), x, create_graph=True)
    assert seen == [False, True]
    assert ut.is_grad_enabled()
