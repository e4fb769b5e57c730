"""The keyword out=: its errors and warnings, in Python functions and in those of the core."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow.as_torch import shims

FUNCTIONS = {
    "fft": lambda x, out: ut.fft.fft(x, out=out),
    "histogram": lambda x, out: ut.histogram(x, 4, range=(0.0, 1.0), out=(out, ut.empty(5)))[0],
    "avg_pool2d": lambda x, out: ut.nn.functional.avg_pool2d(x.reshape(1, 2, 4), 2, out=out),
    "lu": lambda x, out: ut.lu(x.reshape(4, 2)[:2], out=(out, ut.empty(2, dtype=ut.int32)))[0],
    "permute_copy": lambda x, out: shims.permute_copy(x.reshape(2, 4), (1, 0), out=out),
    "diagonal_copy": lambda x, out: ut.diagonal_copy(x.reshape(2, 4), out=out),
    "linear": lambda x, out: ut.nn.functional.linear(x.reshape(2, 4), x.reshape(2, 4), out=out),
    "slice_scatter": lambda x, out: ut.slice_scatter(x, x[:4], start=2, end=6, out=out),
    "bessel_j0": lambda x, out: ut.special.bessel_j0(x, out=out),
}
X = ut.tensor([0.9, 0.1, 0.2, 0.8, 0.3, 0.4, 0.6, 0.7])


def result_of(name: str) -> ut.Tensor:
    plain = {"histogram": lambda: ut.histogram(X, 4, range=(0.0, 1.0))[0], "lu": lambda: ut.lu(X.reshape(4, 2)[:2])[0]}
    return plain[name]() if name in plain else FUNCTIONS[name](X, None)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_out_is_filled_in_place(name):
    expected = result_of(name)
    out = ut.full_like(expected, 7)
    at = out.data_ptr()
    FUNCTIONS[name](X, out)
    assert out.data_ptr() == at and ut.allclose(out, expected)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_empty_out_grows_silently_and_another_size_warns(name, recwarn):
    expected = result_of(name)
    out = ut.empty(0, dtype=expected.dtype)
    FUNCTIONS[name](X, out)
    assert ut.allclose(out, expected) and not recwarn.list
    out = ut.zeros(3, 3, 3, dtype=expected.dtype)
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        FUNCTIONS[name](X, out)
    assert ut.allclose(out, expected)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_out_raises_for_gradients_and_dtypes_it_cannot_hold(name):
    expected = result_of(name)
    with pytest.raises(RuntimeError, match=r"functions with out=\.\.\. arguments don't support automatic differentiation"):
        FUNCTIONS[name](X, ut.empty_like(expected).requires_grad_())
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type Long"):
        FUNCTIONS[name](X, ut.empty(expected.shape, dtype=ut.int64))


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_reading_by_index_raises_for_an_out_that_overlaps_an_argument():
    x = ut.arange(6.0)
    index = ut.tensor([2, 1, 0])
    for call in (
        lambda: ut.take(x, index, out=x[:3]),
        lambda: ut.gather(x, 0, index, out=x[1:4]),
        lambda: ut.index_select(x, 0, index, out=x[:3]),
        lambda: ut.masked_select(x, x > 2, out=x[:3]),
        lambda: ut.cat([x[:3], x[3:]], out=x),
        lambda: ut.gather(ut.arange(3), 0, index[1:], out=index[:1]),  # once resized, it overlaps the index
    ):
        with pytest.raises(RuntimeError, match="unsupported operation: some elements of the input tensor and the written-to tensor"):
            call()
    with pytest.raises(RuntimeError, match="unsupported operation: more than one element of the written-to tensor"):
        ut.index_select(x, 0, index, out=ut.zeros(1).expand(3))


def test_two_numbers_give_a_tensor():
    assert ut.add(2, 3).item() == 5 and ut.add(2, 3).dtype == ut.int64
    assert ut.add(2, 3.5, alpha=2).item() == 9.0 and ut.add(2, 3.5).dtype == ut.float32
    assert ut.sub(2, 3).item() == -1 and ut.mul(2.5, 2).dtype == ut.float32
    assert ut.div(1, 4).item() == 0.25 and ut.true_divide(1, 4).dtype == ut.float32
    assert ut.floor_divide(7, 2).item() == 3 and ut.multiply(True, False).dtype == ut.bool
    with pytest.raises(TypeError, match="invalid combination"):
        ut.add("2", 3)


def test_a_list_with_a_wrong_element_names_its_position():
    with pytest.raises(TypeError, match="expected Tensor as element 1 in argument 0, but got NoneType"):
        ut.cat([ut.ones(1), None])
