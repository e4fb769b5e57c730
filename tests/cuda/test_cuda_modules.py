"""Modules moved to a GPU keep their parameter objects, also those that several modules share."""
from __future__ import annotations

import pytest

import undertow as ut
from undertow import nn

pytestmark = pytest.mark.cuda


def test_shared_parameters_stay_shared_when_a_module_moves() -> None:
    module = nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 5, bias=False))
    module[1].weight = module[0].weight
    before = module[0].weight
    module.to("cuda")
    assert module[0].weight is before and module[1].weight is before
    assert before.device.type == "cuda"
    module(ut.tensor([1, 4]).cuda()).sum().backward()
    assert before.grad is not None and before.grad.device.type == "cuda"
