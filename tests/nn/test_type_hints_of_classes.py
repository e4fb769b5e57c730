"""Programs read the annotations of their classes with typing.get_type_hints, which evaluates those of the bases too."""

from __future__ import annotations

import inspect
import typing

import pytest

import undertow as ut
import undertow.distributions
import undertow.optim.swa_utils
import undertow.utils.data
from undertow.distributions import constraints, transforms

SPACES = [ut, ut.nn, ut.optim, ut.optim.lr_scheduler, ut.optim.swa_utils, ut.utils.data, ut.autograd, ut.distributions, constraints, transforms]
CLASSES = sorted({c for s in SPACES for c in vars(s).values() if inspect.isclass(c) and c.__module__.startswith("undertow")}, key=repr)


@pytest.mark.parametrize("cls", CLASSES, ids=[f"{c.__module__}.{c.__qualname__}" for c in CLASSES])
def test_annotations_of_public_classes_can_be_evaluated(cls):
    assert isinstance(typing.get_type_hints(cls), dict)


def test_a_module_with_its_own_annotations():
    class Model(ut.nn.Module):
        width: int
        table: ut.Tensor

    assert typing.get_type_hints(Model)["width"] is int
