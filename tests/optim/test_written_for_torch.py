"""An optimizer written for torch, with the helpers that such code imports from torch.optim.optimizer, trains here."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow.as_torch import shims
from undertow.as_torch.shims.optim import optimizer as helpers
from undertow.as_torch.shims.optim.optimizer import ParamsT, _get_value, _use_grad_for_differentiable, _view_as_real
from undertow.optim import Optimizer


class Lion(Optimizer):
    """Sign of a running mean, as implemented in many repositories."""

    def __init__(self, params: ParamsT, lr: float = 0.1, *, differentiable: bool = False):
        super().__init__(params, {"lr": lr, "differentiable": differentiable})

    @_use_grad_for_differentiable
    def step(self, closure=None):
        self._cuda_graph_capture_health_check()
        for group in self.param_groups:
            with_grad = [p for p in group["params"] if p.grad is not None]
            grads = [p.grad for p in with_grad]
            states = [self.state[p].setdefault("mean", ut.zeros_like(p)) for p in with_grad]
            for (ps, gs, ms), _ in self._group_tensors_by_device_and_dtype([with_grad, grads, states]).values():
                shims._foreach_lerp_(ms, gs, 0.1)
                shims._foreach_add_(ps, [m.sign() for m in ms], alpha=-_get_value(group["lr"]))


def test_the_loss_decreases():
    w = ut.nn.Parameter(ut.tensor([1.0, -1.0]))
    double = ut.nn.Parameter(ut.tensor([1.0], dtype=ut.float64))
    optimizer = Lion([w, double])
    for _ in range(5):
        optimizer.zero_grad()
        ((w * w).sum() + (double * double).sum()).backward()
        optimizer.step()
    assert w.tolist() == pytest.approx([0.5, -0.5])
    assert double.tolist() == pytest.approx([0.5])


def test_a_step_is_recorded_only_where_it_is_differentiable():
    seen = []

    class Looks(Lion):
        @_use_grad_for_differentiable
        def step(self, closure=None):
            seen.append(ut.is_grad_enabled())

    for differentiable in (False, True):
        Looks([ut.nn.Parameter(ut.ones(1))], differentiable=differentiable).step()
    assert seen == [False, True]
    assert ut.is_grad_enabled()


def test_complex_parameters_are_seen_as_pairs():
    params, grads = [ut.ones(1, dtype=ut.complex64), ut.ones(2)], [ut.ones(1, dtype=ut.complex64), ut.ones(2)]
    _view_as_real(params, grads)
    assert [tuple(p.shape) for p in params + grads] == [(1, 2), (2,), (1, 2), (2,)]


def test_a_missing_name_is_an_attribute_error():
    assert not hasattr(helpers, "_no_such_helper")
    assert helpers._get_scalar_dtype() is ut.float32
