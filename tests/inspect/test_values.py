"""Recorded values: the statistics of gradients are those of the gradients that hooks see."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow.inspect import record
from undertow.inspect._statistics import statistics
from undertow.inspect._tables import STARTED


def test_values_are_the_statistics_of_the_gradients_that_hooks_see():
    x = ut.rand(6, requires_grad=True)
    seen = {}
    y = x.exp()
    z = y * ut.tensor([0.0, 1, 2, float("nan"), float("inf"), -4])
    y.register_hook(lambda g: seen.setdefault("y", g.clone()))
    with record(values=True) as r:
        z.sum().backward()
    values = r.data["values"]
    row = next(i for i, node in enumerate(values["node"]) if r.name(node) == "ExpBackward0")
    finite = seen["y"][seen["y"].isfinite()]
    assert (values["nan"][row], values["inf"][row], values["zeros"][row], values["size"][row]) == (1, 1, 1, 6)
    assert values["norm"][row] == pytest.approx(float(finite.norm()))
    assert (values["min"][row], values["max"][row]) == (-4.0, 2.0)
    assert sum(values["histogram"][row]["counts"]) == finite.numel()
    event = values["event"][row]
    assert r.data["events"]["kind"][event] == STARTED and r.data["events"]["node"][event] == values["node"][row]


def test_values_do_not_change_the_gradients_or_the_accumulation():
    x, w = ut.rand(3, requires_grad=True), ut.rand(3, requires_grad=True)
    h = x * w
    loss = (h.exp() * h + h.sin()).sum()
    with record(values=True):
        loss.backward(retain_graph=True)
    with_values = (x.grad.clone(), w.grad.clone())
    x.grad = w.grad = None
    loss.backward()
    assert with_values[0].equal(x.grad) and with_values[1].equal(w.grad)


def test_workers_add_the_values_of_every_node():
    x = ut.rand(4, requires_grad=True)
    total = sum(((x * float(i)).exp() * 0.5 for i in range(40)), ut.zeros(4)).sum()
    ut.autograd.set_num_workers(4)
    try:
        with record(values=True) as r:
            total.backward()
    finally:
        ut.autograd.set_num_workers(1)
    events, values = r.data["events"], r.data["values"]
    assert sorted(values["node"]) == sorted(r.ran())
    for event, node in zip(values["event"], values["node"], strict=True):
        assert events["kind"][event] == STARTED and events["node"][event] == node


@pytest.mark.parametrize("dtype", [ut.float16, ut.bfloat16, ut.float64, ut.complex64])
def test_statistics_of_other_dtypes(dtype):
    found = statistics(ut.tensor([3.0, 0.0, 4.0]).to(dtype))
    assert (found["norm"], found["zeros"], found["size"]) == (5.0, 1, 3)


def test_statistics_of_sparse_empty_and_meta_tensors():
    found = statistics(ut.tensor([0.0, 3.0, 0.0, 4.0]).to_sparse())
    assert (found["norm"], found["zeros"], found["size"], found["mean"]) == (5.0, 2, 4, 7 / 4)
    assert statistics(ut.ones(0))["norm"] is None and statistics(ut.ones(3, device="meta"))["nan"] is None


def test_large_numbers_do_not_overflow():
    found = statistics(ut.full((4,), 1e300, dtype=ut.float64))
    assert found["norm"] == pytest.approx(2e300) and found["mean"] == pytest.approx(1e300)
    wide = statistics(ut.tensor([-1.7e308, 1.7e308], dtype=ut.float64))
    assert wide["histogram"]["counts"] == [2]


def test_a_gradient_without_a_finite_element_has_only_counts():
    found = statistics(ut.tensor([float("nan"), float("inf")]))
    assert (found["nan"], found["inf"], found["zeros"], found["norm"]) == (1, 1, 0, None)
