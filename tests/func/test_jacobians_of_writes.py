"""Jacobians of functions that fill a tensor piece by piece: forward mode under vmap, and forward over reverse."""

from __future__ import annotations

import warnings

import pytest

import undertow as ut
from undertow.func import hessian, jacfwd, jacrev, jvp, vmap


def row(lib, x):
    y = lib.zeros_like(x)
    y[0] = x[0] * x[1]
    return y


def row_of_a_new_tensor(lib, x):
    y = lib.zeros(2, 2, dtype=x.dtype)
    y[0] = x[0] * x[1]
    return y


def through_a_view(lib, x):
    y = lib.zeros(4, dtype=x.dtype)
    y.view(2, 2)[1] = x[0] ** 3
    return y


def slice_of_a_flat_view(lib, x):
    y = lib.zeros(2, 2, dtype=x.dtype)
    y.view(-1)[1:3] = x.view(-1)[:2] ** 2
    return y


def copy_then_scale_a_column(lib, x):
    y = lib.zeros(2, 2, dtype=x.dtype)
    y[0].copy_(x[1] ** 2)
    y[:, 1].mul_(2)
    return y


def selected_and_added(lib, x):
    y = lib.zeros(2, 2, dtype=x.dtype)
    y.select(0, 1).add_(x[0] * x[0])
    return y


def whole_then_a_row(lib, x):
    y = lib.zeros(2, 2, dtype=x.dtype)
    y.copy_(x**3)
    y[0] = x[1] ** 2
    return y


def element_by_element(lib, x):
    y = lib.empty(3, dtype=x.dtype)
    y[0] = x[0, 0] ** 2
    y[1] = x[1, 0] * x[0, 1]
    y[2] = 1.0
    return y


def by_index_tensors(lib, x):
    y = lib.zeros(2, 2, dtype=x.dtype)
    y[lib.tensor([0]), lib.tensor([1])] = x[0, 0] ** 2
    return y


def transposed_and_diagonal(lib, x):
    y = lib.zeros(2, 2, dtype=x.dtype)
    y.t()[0] = x[0] ** 2
    y.diagonal().copy_(x[1] * x[0])
    return y


def mask_slice_and_unsqueezed(lib, x):
    y = lib.zeros(2, 2, dtype=x.dtype)
    y[x.detach() > 5] = 1.0
    y[:1] = x[:1].sin()
    y.unsqueeze(0)[0, 1] = x[0] ** 2
    return y


def narrowed(lib, x):
    y = lib.ones(2, 2, dtype=x.dtype)
    y.narrow(0, 0, 1).mul_(x[0])
    y.narrow(0, 1, 1).add_(x[0] * x[0], alpha=2)
    y.narrow(1, 0, 1).mul_(x[:1, :1])
    return y


FUNCTIONS = [
    row,
    row_of_a_new_tensor,
    through_a_view,
    slice_of_a_flat_view,
    copy_then_scale_a_column,
    selected_and_added,
    whole_then_a_row,
    element_by_element,
    by_index_tensors,
    transposed_and_diagonal,
    mask_slice_and_unsqueezed,
    narrowed,
]


def point(lib):
    return lib.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=lib.float64)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_forward_mode_matches_reverse_mode(function):
    f, x = lambda x: function(ut, x), point(ut)
    wanted = jacrev(f)(x)
    assert ut.allclose(jacfwd(f)(x), wanted)
    assert ut.allclose(ut.autograd.functional.jacobian(f, x, vectorize=True, strategy="forward-mode"), wanted)
    assert ut.allclose(vmap(lambda v: jvp(f, (x,), (v,))[1])(ut.eye(4, dtype=x.dtype).reshape(4, 2, 2)).movedim(0, -1).reshape(wanted.shape), wanted)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_second_derivatives_of_all_combinations_match(function):
    f, x = lambda x: function(ut, x) ** 2, point(ut)
    wanted = jacrev(jacrev(f))(x)
    for outer, inner in ((jacfwd, jacrev), (jacrev, jacfwd), (jacfwd, jacfwd)):
        assert ut.allclose(outer(inner(f))(x), wanted)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_hessians_match_torch(function, same_as_torch):
    def scenario(lib):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # torch's first use of vmap deprecates its own jit
            return lib.func.hessian(lambda x: (function(lib, x) ** 2).sum())(point(lib))

    same_as_torch(scenario)


def test_random_numbers_that_differ_between_tangents_are_values_that_differ():
    ut.manual_seed(0)
    columns = jacfwd(jacrev(lambda x: (x * x * ut.rand(3)).sum()), randomness="different")(ut.ones(3))
    assert len({round(v, 6) for v in columns.diagonal().tolist()}) == 3
    assert hessian(lambda x: (x**3).sum())(ut.ones(2)).tolist() == [[6.0, 0.0], [0.0, 6.0]]
