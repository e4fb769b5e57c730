"""Names and kinds of arguments that torch's functions accept besides the documented ones."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow.nn import functional as F


@pytest.mark.parametrize("name", ["input", "x", "a", "x1"])
def test_the_first_argument_has_numpy_names(name):
    assert ut.abs(**{name: ut.tensor([-1.0])}).item() == 1
    assert ut.searchsorted(ut.tensor([1.0, 3.0]), **{name: ut.tensor([2.0])}).item() == 1


def test_the_second_argument_has_the_name_of_the_array_standard():
    assert ut.add(x1=ut.tensor(1), x2=ut.tensor(2)).item() == 3
    assert ut.where(ut.tensor(False), x1=ut.tensor(1), x2=ut.tensor(2)).item() == 2


def test_two_names_of_one_argument_raise():
    with pytest.raises(TypeError):
        ut.abs(ut.ones(2), a=ut.ones(2))
    with pytest.raises(TypeError):
        ut.fft.fft(ut.ones(2), dim=0, axis=0)


@pytest.mark.parametrize("name", [name for name in ut.fft.__all__ if "freq" not in name])
def test_fourier_transforms_accept_axis(name):
    function, x = getattr(ut.fft, name), ut.arange(6.0).reshape(2, 3)
    assert ut.equal(function(x, axis=(0,) if name[-1] in "2n" else 0), function(x, dim=(0,) if name[-1] in "2n" else 0))


def test_functions_written_in_python_accept_numpy_names():
    x = ut.arange(6.0).reshape(2, 3)
    assert ut.equal(ut.gradient(x, axis=1)[0], ut.gradient(x, dim=1)[0])
    assert ut.frobenius_norm(x, axis=0, keepdims=True).shape == (1, 3)
    assert ut.nuclear_norm(x, axis=(0, 1), keepdims=True).shape == (1, 1)
    assert ut.equal(ut.norm_except_dim(x, axis=1), ut.norm_except_dim(x, 2, 1))


def test_frobenius_norm_along_the_first_dimension_keeps_the_others():
    x = ut.tensor([[3.0, 0.0], [4.0, 2.0]])
    assert ut.frobenius_norm(x, 0).tolist() == [5.0, 2.0]
    assert ut.frobenius_norm(x, ()).item() == pytest.approx(29**0.5)


@pytest.mark.parametrize("function", [ut.any, ut.all])
def test_any_and_all_keep_dimensions_without_dim(function):
    x = ut.tensor([[True, True], [True, True]])
    assert function(x, keepdim=True).tolist() == [[True]]
    assert function(x, dim=None, keepdims=True).tolist() == [[True]]


def test_inplace_of_nn_functions_may_be_a_number():
    x = ut.tensor([-1.0, 2.0])
    assert F.relu(x, 0).tolist() == [0.0, 2.0] and x.tolist() == [-1.0, 2.0]
    assert F.elu(x, 1.0, 1) is x and x[0] < -0.5
    assert ut.nn.ReLU(inplace=1)(x) is x and x[0] == 0


def test_copy_takes_a_number():
    x = ut.zeros(2, dtype=ut.int64)
    assert x.copy_(3.7) is x and x.tolist() == [3, 3]
    leaf = ut.ones(2, requires_grad=True)
    y = leaf * 2
    y.copy_(1.0)
    y.sum().backward()
    assert leaf.grad.tolist() == [0.0, 0.0]


def test_the_class_tensor_stands_for_the_default_dtype_in_type():
    assert ut.tensor([1]).type(ut.Tensor).dtype is ut.float32
    with pytest.raises(ValueError, match="invalid type"):
        ut.ones(1).type(ut.nn.Parameter)
