"""The graph from Python: nodes, edges, hooks on saved tensors and on several gradients."""

from __future__ import annotations

import copy
import pickle
import sys

import pytest

import undertow as ut
from undertow import autograd
from undertow.autograd import Variable, graph
from undertow.utils.hooks import RemovableHandle


def leaf(*shape: int) -> ut.Tensor:
    return ut.ones(shape, requires_grad=True)


# Nodes and edges.


def test_every_grad_fn_is_a_node():
    y = leaf(3) * 2
    assert isinstance(y.grad_fn, graph.Node)
    assert issubclass(type(y.grad_fn), graph.Node)
    assert isinstance(y.grad_fn.next_functions[0][0], graph.Node)
    assert not isinstance(3, graph.Node)
    with pytest.raises(TypeError, match=r"^Can't instantiate abstract class Node"):
        graph.Node()


def test_a_node_has_a_name_and_metadata():
    node = (leaf(3) * 2).grad_fn
    assert node.name() == type(node).__name__ == "MulBackward0"
    assert [tuple(m.shape) for m in node._input_metadata] == [(3,)]
    assert node._input_metadata[0].dtype == ut.float32
    node.metadata["note"] = 1
    assert node.metadata == {"note": 1}
    assert [nr for _, nr in node.next_functions] == [0, 0]
    assert node.next_functions[1][0] is None


@pytest.fixture
def recorded_lines():
    before = ut._C._record_lines(True)
    yield
    ut._C._record_lines(before)


def test_a_node_knows_the_line_that_recorded_it(recorded_lines):
    x = leaf(3)
    y = x.exp(); here = sys._getframe().f_lineno  # fmt: skip  # noqa: E702
    assert y.grad_fn.line == f"{__file__}:{here}"
    assert y.grad_fn.next_functions[0][0].line is None  # a leaf's accumulator is not made by a line
    loss = ut.nn.functional.mse_loss(y, x); here = sys._getframe().f_lineno  # fmt: skip  # noqa: E702
    assert loss.grad_fn.line == f"{__file__}:{here}"  # the user's line, not one of the package


def test_the_line_of_a_node_is_unknown_unless_lines_are_recorded():
    node = leaf(3).exp().grad_fn
    assert node.line is None
    with pytest.raises(AttributeError):
        node.line = "here"
    with autograd.set_detect_anomaly(True):
        assert leaf(3).exp().grad_fn.line.startswith(f"{__file__}:")


def test_a_custom_function_has_the_line_of_apply_unless_it_stores_its_own(recorded_lines):
    class Double(autograd.Function):
        @staticmethod
        def forward(ctx, x, line):
            if line is not None:
                ctx.line = line
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2, None

    y = Double.apply(leaf(3), None); here = sys._getframe().f_lineno  # fmt: skip  # noqa: E702
    assert y.grad_fn.line == f"{__file__}:{here}"
    mine = Double.apply(leaf(3), 7).grad_fn
    assert mine.line == 7
    del mine.line
    assert mine.line.startswith(f"{__file__}:")
    with pytest.raises(AttributeError):
        del mine.line


def test_an_edge_is_a_named_tuple():
    x = leaf(3)
    y = x * 2
    edge = graph.get_gradient_edge(y)
    assert edge.node is y.grad_fn
    assert edge.output_nr == 0
    assert edge == (y.grad_fn, 0, None)
    assert edge._fields == ("node", "output_nr", "ownership_token")
    assert repr(edge).startswith("GradientEdge(node=<MulBackward0 object at ")
    assert graph.get_gradient_edge(x).node.name().endswith("AccumulateGrad")
    assert graph.get_gradient_edge(x).node is graph.get_gradient_edge(x).node


def test_an_edge_names_which_output():
    first, second = leaf(4).split(2)
    assert [graph.get_gradient_edge(t).output_nr for t in (first, second)] == [0, 1]


def test_the_edge_of_a_leaf_exists_inside_no_grad():
    with ut.no_grad():
        assert graph.get_gradient_edge(leaf(2)).node.name().endswith("AccumulateGrad")


def test_a_constant_has_no_edge():
    clause = "^It is not possible to get the gradient edge for a Tensor that does not require grad"
    with pytest.raises(RuntimeError, match=clause):
        graph.get_gradient_edge(ut.ones(2))


def test_variable_is_an_old_name_of_tensor():
    assert isinstance(ut.ones(1), Variable)
    assert not issubclass(int, Variable)
    x = leaf(2)
    v = Variable(x, requires_grad=True)
    assert type(v) is ut.Tensor
    assert v is not x
    assert v.is_leaf
    assert v.requires_grad
    assert v.data_ptr() == x.data_ptr()
    assert not Variable(x * 2).requires_grad
    assert Variable().shape == (0,)
    with pytest.raises(TypeError, match=r"^Variable data has to be a tensor, but got list"):
        Variable([1.0])
    with pytest.warns(UserWarning, match=r"^volatile was removed and now has no effect"):
        Variable(ut.ones(1), volatile=True)


def test_queueing_a_callback_outside_backward_raises():
    clause = "^Final callbacks can only be installed during backward pass"
    with pytest.raises(RuntimeError, match=clause):
        Variable._execution_engine.queue_callback(lambda: None)


def test_a_final_callback_runs_when_the_pass_ends():
    x, order = leaf(2), []

    def hook(grad):
        Variable._execution_engine.queue_callback(lambda: order.append("end"))
        order.append("hook")

    y = x * 2
    y.register_hook(hook)
    y.sum().backward()
    assert order == ["hook", "end"]


# Versions and saved tensors.


def test_increment_version():
    x, y = ut.ones(2), ut.ones(2)
    graph.increment_version(x)
    graph.increment_version([x, y])
    assert (x._version, y._version) == (2, 1)
    with pytest.raises(RuntimeError, match=r"^increment_version expect"):
        graph.increment_version(3)
    with pytest.raises(RuntimeError, match=r"^increment_version expects each element"):
        graph.increment_version([3])


def test_saved_tensors_are_packed_and_unpacked():
    x, events = leaf(2), []

    def pack(t):
        events.append("pack")
        return t.tolist()

    def unpack(values):
        events.append("unpack")
        return ut.tensor(values) * 10

    with graph.saved_tensors_hooks(pack, unpack):
        y = x.exp()
    assert events == ["pack"]
    y.sum().backward()
    assert events == ["pack", "unpack"]
    assert x.grad.tolist() == pytest.approx([27.18281828] * 2)


def test_the_innermost_saved_tensors_hooks_are_used():
    x, used = leaf(2), []

    def hooks(name):
        return graph.saved_tensors_hooks(lambda t: used.append(name) or t, lambda t: t)

    with hooks("outer"):
        with hooks("inner"):
            x.exp()
        x.exp()
    x.exp()
    assert used == ["inner", "outer"]


def test_save_on_cpu_changes_no_gradient():
    x = leaf(2)
    with graph.save_on_cpu():
        y = (x * x).sum()
    y.backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_saved_tensors_hooks_can_be_disabled():
    hooks = graph.saved_tensors_hooks(lambda t: t, lambda t: t)
    with graph.disable_saved_tensors_hooks("outer"):
        inner = graph.disable_saved_tensors_hooks("inner")
        with inner, pytest.raises(RuntimeError, match=r"^inner"), hooks:
            pass
        with pytest.raises(RuntimeError, match=r"^outer"), hooks:
            pass
    late = graph.disable_saved_tensors_hooks("late")
    with hooks, pytest.raises(RuntimeError, match=r"^late"), late:
        pass
    with hooks:
        pass


def test_disabling_saved_tensors_hooks_decorates():
    @graph.disable_saved_tensors_hooks("not here")
    def run():
        with graph.save_on_cpu():
            pass

    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"^not here"):
            run()


def test_saved_tensors_may_be_mutated_in_the_context():
    with graph.allow_mutation_on_saved_tensors():
        x = leaf(2)
        y = x * 3
        out = (y * y).sum()
        y.zero_()
        out.backward()
    assert x.grad.tolist() == [18.0, 18.0]


@pytest.mark.parametrize("cleared", [False, True])
def test_a_graph_of_the_mutation_context_dies_with_it(cleared):
    with graph.allow_mutation_on_saved_tensors() as context:
        out = (leaf(2) ** 2).sum()
        if cleared:
            context.clear()
            with pytest.raises(AssertionError, match=r"^Trying to backward outside of the"):
                out.backward()
    with pytest.raises((AssertionError, RuntimeError), match=r"^Trying to backward"):
        out.backward()


def test_mutation_contexts_do_not_nest():
    clause = "^allow_mutation_on_saved_tensors contexts cannot be nested"
    outer, inner = (graph.allow_mutation_on_saved_tensors() for _ in range(2))
    with outer, pytest.raises(RuntimeError, match=clause), inner:
        pass
    with graph.allow_mutation_on_saved_tensors():
        pass


# One hook for several gradients.


def listed(grads):
    return [None if g is None else g.tolist() for g in grads]


def test_a_multi_grad_hook_waits_for_all():
    a, b, c = leaf(1), leaf(1), leaf(1)
    calls = []
    handle = graph.register_multi_grad_hook((a, b, c), lambda grads: calls.append(listed(grads)))
    (a * 2 + b * 3).sum().backward()
    (a * 2 + b * 3 + c * 4).sum().backward()
    (a * 2 + b * 3).sum().backward(inputs=[a])
    assert calls == [[[2.0], [3.0], None], [[2.0], [3.0], [4.0]], [[2.0], None, None]]
    handle.remove()
    (a * 2).sum().backward()
    assert len(calls) == 3


def test_a_multi_grad_hook_accepts_intermediate_and_repeated_tensors():
    y = leaf(1) * 2
    calls = []
    graph.register_multi_grad_hook((y, y), lambda grads: calls.append(listed(grads)))
    (y * 3).sum().backward()
    assert calls == [[[3.0], [3.0]]]


def test_a_multi_grad_hook_with_mode_any_runs_for_the_first():
    a, b = leaf(1), leaf(1)
    calls = []
    handle = graph.register_multi_grad_hook((a, b), lambda g: calls.append(g.tolist()), mode="any")
    for _ in range(2):
        (a * 2 + b * 2).sum().backward()
    assert calls == [[2.0], [2.0]]
    handle.remove()


def test_what_a_multi_grad_hook_returns_is_ignored():
    for mode in ("all", "any"):
        a = leaf(1)
        with graph.register_multi_grad_hook((a,), lambda _: ut.zeros(1), mode=mode):
            (a * 2).backward()
        assert a.grad.tolist() == [2.0]


def test_a_multi_grad_hook_that_raises_can_run_again():
    a, b = leaf(1), leaf(1)

    def fail(grads):
        raise KeyError("hook")

    with graph.register_multi_grad_hook((a, b), fail):
        for _ in range(2):
            with pytest.raises(KeyError):
                (a * b).sum().backward()


def test_a_multi_grad_hook_raises_for_unknown_modes_and_constants():
    clause = r"^Expects mode to be one of \('all', 'any'\) but got foo"
    with pytest.raises(ValueError, match=clause):
        graph.register_multi_grad_hook([leaf(1)], print, mode="foo")
    with pytest.raises(AssertionError, match=r"^Expected gradient function to be set"):
        graph.register_multi_grad_hook([ut.ones(1)], print)


# Handles.


def test_a_handle_removes_its_hook_at_the_end_of_a_with_block():
    x = leaf(1)
    with x.register_hook(lambda grad: grad * 10):
        x.sum().backward()
    x.sum().backward()
    assert x.grad.tolist() == [11.0]


def test_a_handle_may_be_removed_twice_and_after_its_owner():
    x = leaf(1)
    other = leaf(1)
    handle, kept = x.register_hook(print), other.register_hook(lambda grad: grad * 3)
    del x
    handle.remove()
    handle.remove()
    assert handle.hooks_dict_ref() is None
    other.sum().backward()
    assert other.grad.tolist() == [3.0]  # no other hook was removed with it
    kept.remove()
    kept.remove()
    other.sum().backward()
    assert other.grad.tolist() == [4.0]


def test_a_hook_may_remove_itself_and_its_neighbours():
    x, order, handles = leaf(1), [], []

    def hook(name):
        def run(grad):
            order.append(name)
            for handle in handles:
                handle.remove()

        return run

    handles.extend(x.register_hook(hook(name)) for name in "ab")
    x.sum().backward()
    x.sum().backward()
    assert order[0] == "a"
    assert len(order) <= 2


class Hooks(dict):
    """A dictionary that can be weakly referenced."""


def test_ids_only_grow():
    hooks = Hooks()
    first, second = RemovableHandle(hooks), RemovableHandle(hooks)
    assert first.id < second.id < RemovableHandle.next_id


def test_a_handle_is_pickled_with_its_dictionary():
    hooks, extra = Hooks(), Hooks()
    handle = RemovableHandle(hooks, extra_dict=extra)
    hooks[handle.id] = extra[handle.id] = "hook"
    copied_hooks, copied_extra, copied = pickle.loads(pickle.dumps((hooks, extra, handle)))
    copied.remove()
    assert copied_hooks == copied_extra == {}
    assert hooks == extra == {handle.id: "hook"}
    handle.remove()
    assert hooks == extra == {}


def test_a_copied_handle_of_a_dead_owner_does_nothing():
    handle = RemovableHandle(Hooks())
    copied = copy.deepcopy(handle)
    copied.remove()
    assert copied.id == handle.id
    assert copied.hooks_dict_ref() is None
    assert RemovableHandle.next_id > copied.id


def test_the_node_of_a_split_knows_the_parts():
    x = leaf(2, 6) * 1
    node = ut.split(x, 4, 1)[0].grad_fn
    assert (node._saved_self_sym_sizes, node._saved_split_size, node._saved_dim) == ((2, 6), 4, 1)
    node = ut.split(x, (2, 4), 1)[1].grad_fn
    assert (node._saved_self_sym_sizes, node._saved_split_sizes, node._saved_dim) == ((2, 6), (2, 4), 1)
