"""Dropout compared with torch: the same seed drops the same elements."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut

SHAPES = [(5,), (3, 4), (2, 3, 4), (2, 3, 4, 5), (2, 3, 2, 2, 2), (100, 37)]
FUNCTIONS = ["dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d", "dropout2d", "dropout3d"]


def values(L, shape, dtype="float32"):
    return (L.arange(1.0, 1.0 + int(np.prod(shape))).reshape(shape) - 3).sin().to(getattr(L, dtype))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_same_seed_drops_the_same_elements(name: str, shape: tuple[int, ...], same_as_torch):
    for p in (0.0, 0.1, 0.5, 1.0):
        for inplace in (False, True):
            for dtype in ("float32", "float64", "bfloat16"):
                scenario = lambda L: getattr(L.nn.functional, name)(values(L, shape, dtype), p, True, inplace)  # noqa: E731, B023
                tolerance = 1e-2 if dtype == "bfloat16" else 1e-5
                same_as_torch(scenario, rtol=10 * tolerance, atol=tolerance, whole_messages=True, seed=7)


@pytest.mark.parametrize("name", ["dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout"])
@pytest.mark.parametrize("end", ["", "_"])
def test_the_packages_own_functions_agree(name: str, end: str, same_as_torch):
    for shape in SHAPES:
        scenario = lambda L: getattr(L, name + end)(values(L, shape), 0.3, True)  # noqa: E731, B023
        same_as_torch(scenario, rtol=1e-4, atol=1e-5, whole_messages=True, seed=7)


SCENARIOS = {
    "not a probability": lambda L: L.nn.functional.dropout(L.ones(2), 1.5),
    "not a probability in the package's own function": lambda L: L.dropout(L.ones(2), -0.5, True),
    "not a probability in a module": lambda L: L.nn.Dropout(2.0),
    "too few dimensions": lambda L: L.feature_dropout(L.ones(2), 0.5, True),
    "wrong dimensions": lambda L: L.nn.functional.dropout1d(L.ones(2, 2, 2, 2)),
    "a leaf in place": lambda L: L.nn.functional.dropout(L.ones(2, requires_grad=True), inplace=True),
    "a gradient": lambda L: L.autograd.grad(L.nn.functional.dropout(x := values(L, (4, 5)).requires_grad_(), 0.4).sum(), x),
    "an alpha gradient": lambda L: L.autograd.grad(L.nn.functional.alpha_dropout(x := values(L, (4, 5)).requires_grad_(), 0.4, True).sum(), x),
    "modules": lambda L: [
        repr(getattr(L.nn, n)(0.2)) for n in ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout")
    ],
    "a module in training": lambda L: L.nn.Dropout(0.4)(values(L, (4, 5))),
    "a module in evaluation": lambda L: L.nn.AlphaDropout(0.4).eval()(values(L, (4, 5))),
    "rrelu": lambda L: L.nn.functional.rrelu(values(L, (5, 7)), training=True),
    "rrelu of doubles": lambda L: L.nn.functional.rrelu(values(L, (5, 7), "float64"), 0.2, 0.9, training=True),
    "rrelu in place": lambda L: L.rrelu_(values(L, (5, 7)), training=True),
    "rrelu in evaluation": lambda L: L.nn.RReLU().eval()(values(L, (5, 7))),
    "rrelu's gradient": lambda L: L.autograd.grad(L.nn.functional.rrelu(x := values(L, (4, 5)).requires_grad_(), training=True).sum(), x),
    "gumbel": lambda L: L.nn.functional.gumbel_softmax(values(L, (4, 5))),
    "gumbel, hard": lambda L: L.nn.functional.gumbel_softmax(values(L, (4, 5)), tau=0.5, hard=True, dim=0),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_matches_torch(name: str, same_as_torch):
    same_as_torch(SCENARIOS[name], rtol=1e-4, atol=1e-5, whole_messages=True, seed=7)


def test_dropout_with_probability_zero_returns_the_input():
    x = ut.ones(3)
    assert ut.nn.functional.dropout(x, 0.0) is x
    assert ut.nn.Dropout().eval()(x) is x
