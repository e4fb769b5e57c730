"""Gradients of `segment_reduce`: NaN, ties, and initial values."""

from __future__ import annotations

import math

import pytest

import undertow as ut

NAN = math.nan


def gradient(values, reduce, lengths, **options):
    data = ut.tensor(values, dtype=ut.float64, requires_grad=True)
    result = ut.segment_reduce(data, reduce, lengths=ut.tensor(lengths), axis=0, **options)
    (grad,) = ut.autograd.grad(result.sum(), data)
    return result.tolist(), grad.tolist()


def same(a, b):
    assert [str(x) for x in a] == [str(x) for x in b]


@pytest.mark.parametrize("reduce", ["max", "min"])
def test_the_gradient_of_a_nan_extreme_goes_to_the_nan_elements(reduce):
    values, grads = gradient([NAN, 1.0, NAN, 2.0, NAN, 3.0], reduce, [2, 3, 1])
    same(values, [NAN, NAN, 3.0])
    assert grads == [1, 0, 0.5, 0, 0.5, 1]


def test_the_gradient_of_a_product_with_one_nan_is_the_product_of_the_others():
    values, grads = gradient([NAN, 3.0, 2.0, 4.0, 5.0], "prod", [3, 2])
    same(values, [NAN, 20.0])
    same(grads, [6.0, NAN, NAN, 5.0, 4.0])


def test_two_nans_leave_no_gradient_of_a_product():
    same(gradient([NAN, 3.0, NAN], "prod", [3])[1], [NAN] * 3)


@pytest.mark.parametrize("reduce, sign", [("max", 1.0), ("min", -1.0)])
def test_an_initial_value_takes_no_share_of_a_tie(reduce, sign):
    assert gradient([0.0, -1.0 * sign], reduce, [2], initial=0.0) == ([0.0], [1.0, 0.0])
    assert gradient([0.0, 0.0, -1.0 * sign], reduce, [3], initial=0.0) == ([0.0], [0.5, 0.5, 0.0])
    assert gradient([-1.0 * sign, -2.0 * sign], reduce, [2, 0], initial=0.0) == ([0.0, 0.0], [0.0, 0.0])


@pytest.mark.parametrize("reduce", ["max", "min", "prod", "sum", "mean"])
def test_first_and_second_derivatives_are_right(reduce):
    data = ut.tensor([1.0, 2.5, -3.0, 0.5, 4.0, 1.5], dtype=ut.float64, requires_grad=True)
    f = lambda x: ut.segment_reduce(x, reduce, lengths=ut.tensor([2, 3, 1]), axis=0, initial=1.25 if reduce == "prod" else None)
    assert ut.autograd.gradcheck(f, data) and ut.autograd.gradgradcheck(f, data)


def test_vander_takes_increasing_by_position():
    assert ut.vander(ut.tensor([2, 3]), 3, True).tolist() == [[1, 2, 4], [1, 3, 9]]


@pytest.mark.parametrize("dtype", [ut.float16, ut.bfloat16, ut.float32])
@pytest.mark.parametrize("reduce", ["max", "min", "prod", "sum", "mean"])
def test_the_result_has_the_dtype_of_the_data(reduce, dtype):
    data = ut.tensor([1.0, 2.0, 3.0], dtype=dtype, requires_grad=True)
    assert ut.segment_reduce(data, reduce, lengths=ut.tensor([2, 1]), axis=0).dtype == dtype
