"""Optimizers written by users: which methods they define, which of them is called, and what a missing one says."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow import train
from undertow.train import IndexedSlices, Optimizer, Variable


def test_an_overridden_compute_gradients_is_called():
    class Clipped(train.GradientDescentOptimizer):
        def compute_gradients(self, *args, **kwargs):
            return [(train.clip_by_value(g, -1.0, 1.0), v) for g, v in super().compute_gradients(*args, **kwargs)]

    w = Variable(10.0)
    Clipped(1.0).minimize(w * w, gate_gradients=Optimizer.GATE_NONE)
    assert w.item() == 9


def test_a_new_optimizer_needs_only_its_update():
    class Signs(Optimizer):
        def __init__(self):
            super().__init__(False, "Signs")

        def _create_slots(self, var_list):
            for v in var_list:
                self._zeros_slot(v, "count", self.get_name())

        def _apply_dense(self, grad, var):
            self.get_slot(var, "count").add_(1)
            var.sub_(grad.sign())

    w = Variable([5.0, -5.0], name="w")
    opt = Signs()
    for gate in (Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH):
        opt.minimize((w * w).sum(), gate_gradients=gate)
    assert w.tolist() == [2, -2] and opt.get_slot(w, "count").tolist() == [3, 3]
    assert [v.name for v in opt.variables()] == ["w/Signs"]


class Lacking(Optimizer):
    def __init__(self):
        super().__init__(False, "Lacking")


def test_a_subclass_that_lacks_a_method_says_which_one_to_write():
    w, rows = Variable(ut.ones(2, 1)), IndexedSlices(ut.ones(1, 1), ut.tensor([0]), (2, 1))
    dense = "Lacking does not say how to apply a dense gradient: define _apply_dense\\(self, grad, var\\), or _resource_apply_dense"
    for call in (lambda o: o.minimize((w * w).sum()), lambda o: o._apply_dense(w, w), lambda o: o._resource_apply_dense(w, w)):
        with pytest.raises(NotImplementedError, match=dense):
            call(Lacking())
    some = "Lacking does not say how to apply a gradient of rows \\(IndexedSlices\\): define _apply_sparse\\(self, grad, var\\), or _resource_apply_sparse"
    for call in (
        lambda o: o.apply_gradients([(rows, w)]),
        lambda o: o._apply_sparse(rows, w),
        lambda o: o._resource_apply_sparse(rows.values, w, rows.indices),
    ):
        with pytest.raises(NotImplementedError, match=some):
            call(Lacking())


def test_a_subclass_may_define_the_methods_for_resource_variables():
    class Signs(Lacking):
        def _resource_apply_dense(self, grad, handle):
            handle.sub_(grad.sign())

        def _resource_apply_sparse(self, grad, handle, indices):
            assert indices.tolist() == [1, 0]  # once each, in order of first occurrence
            handle.index_add_(0, indices, -grad)

    w = Variable(ut.ones(2, 1))
    opt = Signs()
    opt.minimize((w * w).sum())
    assert w.tolist() == [[0], [0]]
    opt.apply_gradients([(IndexedSlices(ut.tensor([[1.0], [2.0], [4.0]]), ut.tensor([1, 0, 1]), (2, 1)), w)])
    assert w.tolist() == [[-2], [-5]]


def test_the_method_of_the_nearest_class_is_used():
    class Doubled(train.GradientDescentOptimizer):
        def _resource_apply_dense(self, grad, handle):
            return super()._resource_apply_dense(grad * 2, handle)

        def _resource_apply_sparse(self, grad, handle, indices):
            return super()._resource_apply_sparse(grad * 2, handle, indices)

    class Halved(Doubled):
        def _apply_dense(self, grad, var):
            super()._apply_dense(grad / 2, var)

    w = Variable(ut.zeros(2, 1))
    Doubled(1.0).minimize(w.sum())
    assert w.tolist() == [[-2], [-2]]
    Doubled(1.0).apply_gradients([(IndexedSlices(ut.ones(2, 1), ut.tensor([1, 1]), (2, 1)), w)])
    assert w.tolist() == [[-2], [-6]]
    Halved(1.0).minimize(w.sum())
    assert w.tolist() == [[-2.5], [-6.5]]
