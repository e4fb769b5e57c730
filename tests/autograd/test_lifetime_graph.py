"""Graphs of any size are built, differentiated and freed without recursion, and leave nothing behind."""

from __future__ import annotations

import gc
import weakref

import pytest

import undertow as ut
from undertow import autograd


class Marker:
    """Something to hold by a weak reference: put into a node's metadata, it lives as long as the node."""


def mark(tensor: ut.Tensor) -> weakref.ref:
    marker = Marker()
    tensor.grad_fn.metadata["marker"] = marker
    return weakref.ref(marker)


def in_use() -> int:
    """Bytes of tensor memory in use, if the library reports them."""
    stats = getattr(ut._C, "_memory_stats", None)
    if stats is None:
        pytest.skip("memory statistics are undertow's own")
    gc.collect()
    return stats()["in_use"]


def chain(length: int) -> tuple[ut.Tensor, ut.Tensor]:
    x = ut.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(length):
        y = y + 1.0
    return x, y


def test_a_chain_of_300_000_nodes_is_differentiated_and_freed():
    x, y = chain(300_000)
    y.backward()
    assert x.grad.item() == 1.0
    del y
    assert x.grad.item() == 1.0


def test_a_long_chain_that_is_never_differentiated_is_freed():
    x, y = chain(300_000)
    gone = mark(y)
    del x, y
    assert gone() is None


@pytest.mark.slow
def test_a_chain_of_ten_million_nodes_is_differentiated_and_freed():
    x, y = chain(10_000_000)
    y.backward()
    assert x.grad.item() == 1.0
    gone = mark(y)
    del y
    assert gone() is None


def test_a_long_chain_of_saved_tensors_is_freed():
    x = ut.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y * x
    (g,) = autograd.grad(y, x)
    assert g.item() == 100_001.0


def test_a_long_chain_of_views_is_freed():
    x = ut.ones(2, requires_grad=True)
    y = x * 1
    for i in range(50_000):
        y = y.view(2, 1) if i % 2 == 0 else y.view(2)
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_long_chain_of_in_place_operations_is_freed():
    x = ut.ones(2, requires_grad=True)
    y = x * 1
    for _ in range(50_000):
        y.add_(1)
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_long_chain_of_second_derivatives_is_freed():
    x = ut.tensor(1.0, dtype=ut.float64, requires_grad=True)
    y = x
    for _ in range(10_000):
        y = y * x
    (g,) = autograd.grad(y, x, create_graph=True)
    (gg,) = autograd.grad(g, x)
    assert gg.item() == 10_001.0 * 10_000.0


def test_nodes_die_with_the_last_tensor():
    x = ut.tensor(1.0, requires_grad=True)
    y = x * 2
    z = y * 3
    gone = mark(y)
    del y
    assert gone() is not None
    del z
    assert gone() is None


def test_a_node_held_from_python_keeps_the_nodes_below_alive():
    x = ut.tensor(2.0, requires_grad=True)
    node = (x * x).grad_fn
    below = node.next_functions[0][0]
    assert below.variable is x
    assert node._saved_self is x


def test_a_leaf_lives_as_long_as_its_graph():
    x = ut.tensor(2.0, requires_grad=True)
    x.note = Marker()
    gone = weakref.ref(x.note)
    y = x * 2
    del x
    gc.collect()
    assert gone() is not None
    y.backward()
    del y
    gc.collect()
    assert gone() is None


def test_python_attributes_survive_while_a_graph_holds_the_tensor():
    x = ut.tensor(2.0, requires_grad=True)
    x.note = "mine"
    y = x * x
    del x
    assert y.grad_fn._saved_self.note == "mine"


def test_a_cycle_through_create_graph_is_collected():
    x = ut.tensor(2.0, requires_grad=True)
    x.note = Marker()
    gone = weakref.ref(x.note)
    (x * x).backward(create_graph=True, inputs=x)
    del x
    gc.collect()
    assert gone() is None


def test_a_cycle_through_an_attribute_is_collected():
    x = ut.tensor(2.0, requires_grad=True)
    x.note = Marker()
    gone = weakref.ref(x.note)
    x.itself = x
    del x
    gc.collect()
    assert gone() is None


def test_a_cycle_through_node_metadata_is_collected():
    y = ut.tensor(2.0, requires_grad=True) * 2
    gone = mark(y)
    node = y.grad_fn
    node.metadata["itself"] = node
    del y, node
    gc.collect()
    assert gone() is None


def test_backward_frees_saved_tensors_at_once():
    x = ut.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    y.note = Marker()
    gone = weakref.ref(y.note)
    z = (y * y).sum()
    del y
    assert gone() is not None
    z.backward()
    assert gone() is None


def test_memory_returns_after_training_steps():
    w = ut.ones(1000, requires_grad=True)

    def step():
        y = w
        for _ in range(50):
            y = y * 1.001
        y.sum().backward()
        w.grad = None

    step()
    before = in_use()
    for _ in range(20):
        step()
    assert in_use() == before


def test_memory_returns_after_a_failed_pass():
    w = ut.ones(1000, requires_grad=True)

    def step():
        y = w * 2
        z = y * y
        y.register_hook(lambda g: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            z.sum().backward()

    step()
    before = in_use()
    for _ in range(10):
        step()
    assert in_use() == before


def test_memory_returns_after_grad_over_chosen_inputs():
    x, y = ut.ones(1000, requires_grad=True), ut.ones(1000, requires_grad=True)

    def step():
        autograd.grad((x.exp() * y.exp()).sum(), x)

    step()
    before = in_use()
    for _ in range(10):
        step()
    assert in_use() == before
