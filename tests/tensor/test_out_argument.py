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
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type Long|Expected out tensor to have dtype"):
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


STRICT = {
    "abs": lambda x, out: ut.abs(x, out=out),
    "neg": lambda x, out: ut.neg(x, out=out),
    "floor": lambda x, out: ut.floor(x, out=out),
    "round_decimals": lambda x, out: ut.round(x, decimals=1, out=out),
    "sign": lambda x, out: ut.sign(x, out=out),
    "signbit": lambda x, out: ut.signbit(x, out=out),
    "nan_to_num": lambda x, out: ut.nan_to_num(x, out=out),
    "softmax": lambda x, out: ut.softmax(x, 0, out=out),
    "logcumsumexp": lambda x, out: ut.logcumsumexp(x, 0, out=out),
    "diff": lambda x, out: ut.diff(x, out=out),
    "norm": lambda x, out: ut.norm(x, out=out),
    "quantile": lambda x, out: ut.quantile(x, 0.5, out=out),
    "isin": lambda x, out: ut.isin(x, x, out=out),
    "where": lambda x, out: ut.where(x > 0, x, x, out=out),
    "histc": lambda x, out: ut.histc(x, out=out),
    "take_along_dim": lambda x, out: ut.take_along_dim(x, ut.tensor([0]), out=out),
    "float_power": lambda x, out: ut.float_power(x, 2, out=out),
    "svd": lambda x, out: ut.svd(x.reshape(2, 4), out=None if out is None else (out, ut.empty(2), ut.empty(4, 2)))[0],
}


@pytest.mark.parametrize("name", STRICT)
def test_an_out_of_a_wider_dtype_raises_where_torch_does_not_convert(name):
    expected = STRICT[name](X, None)
    out = ut.full_like(expected, 7) if expected.dtype != ut.bool else ut.zeros_like(expected)
    STRICT[name](X, out)
    assert ut.equal(out, expected)
    with pytest.raises(RuntimeError, match="dtype|out type|scalar_type|boolean|histogram|cast"):
        STRICT[name](X, ut.empty_like(expected, dtype=ut.complex128))


def test_the_dtypes_are_named_when_out_has_another_one():
    with pytest.raises(RuntimeError, match="^Found dtype Double but expected Float$"):
        ut.neg(X, out=X.double())
    with pytest.raises(RuntimeError, match="^expected scalar_type Float but found Double$"):
        ut.logcumsumexp(X, 0, out=X.double())
    with pytest.raises(RuntimeError, match="^Expected out tensor to have dtype float, but got double instead$"):
        ut.log_softmax(X, 0, out=X.double())
    with pytest.raises(RuntimeError, match="^signbit does not support non-boolean outputs.: it must be Bool but is Float$"):
        ut.signbit(X, out=X.clone())
    assert ut.abs(ut.tensor([3 + 4j]), out=ut.empty(1, dtype=ut.float64)).item() == 5


def test_bernoulli_and_sums_are_computed_in_the_dtype_of_out():
    assert ut.bernoulli(ut.tensor([0.0, 1.0]), out=ut.empty(2, dtype=ut.bool)).tolist() == [False, True]
    assert ut.cumsum(ut.tensor([0.6, 0.6]), 0, out=ut.empty(2, dtype=ut.int64)).tolist() == [0, 0]
    assert ut.cumprod(ut.tensor([2, 3]), 0, out=ut.empty(2, dtype=ut.float64)).tolist() == [2.0, 6.0]


def test_a_factory_raises_for_an_out_of_another_device_or_layout():
    with pytest.raises(RuntimeError, match=r"device type meta does not match device type of out parameter \(cpu\)"):
        ut.zeros(3, device="meta", out=ut.empty(3))
    with pytest.raises(RuntimeError, match=r"device type cpu does not match device type of out parameter \(meta\)"):
        ut.ones(3, device="cpu", out=ut.empty(3, device="meta"))
    with pytest.raises(RuntimeError, match=r"layout Sparse does not match layout of out parameter \(Strided\)"):
        ut.zeros(3, layout=ut.sparse_coo, out=ut.empty(3))
    assert ut.arange(3, out=ut.empty(3, device="meta")).device.type == "meta"
    assert ut.full((2,), 4.0, device="cpu", layout=ut.strided, out=ut.empty(2)).tolist() == [4.0, 4.0]
