"""Golden texts of tensors as they print; the parity test compares many more with torch itself."""

from __future__ import annotations

import math

import pytest

import undertow as ut
from undertow._tensor_str import get_printoptions, printoptions, tensor_repr


@pytest.fixture(autouse=True)
def default_options():
    ut.set_printoptions(profile="default")
    yield
    ut.set_printoptions(profile="default")


CASES = [
    (lambda: ut.tensor(3), "tensor(3)"),
    (lambda: ut.tensor(-2.5), "tensor(-2.5000)"),
    (lambda: ut.tensor(True), "tensor(True)"),
    (lambda: ut.tensor(1 - 2j), "tensor(1.-2.j)"),
    (lambda: ut.tensor([]), "tensor([])"),
    (lambda: ut.zeros(0, 3), "tensor([], size=(0, 3))"),
    (lambda: ut.zeros(0, 3, dtype=ut.int64), "tensor([], size=(0, 3), dtype=undertow.int64)"),
    (lambda: ut.tensor([True, False]), "tensor([ True, False])"),
    (lambda: ut.tensor([1, -20, 300]), "tensor([  1, -20, 300])"),
    (lambda: ut.tensor([1, 2], dtype=ut.int8), "tensor([1, 2], dtype=undertow.int8)"),
    (lambda: ut.tensor([1.0, 2.0]), "tensor([1., 2.])"),
    (lambda: ut.tensor([1.0, 2.5]), "tensor([1.0000, 2.5000])"),
    (lambda: ut.tensor([1.0, 2.0], dtype=ut.float64), "tensor([1., 2.], dtype=undertow.float64)"),
    (lambda: ut.tensor([0.5], dtype=ut.bfloat16), "tensor([0.5000], dtype=undertow.bfloat16)"),
    (lambda: ut.tensor([0.1], dtype=ut.float16), "tensor([0.1000], dtype=undertow.float16)"),
    (lambda: ut.tensor([1e-5, 1.0]), "tensor([1.0000e-05, 1.0000e+00])"),
    (lambda: ut.tensor([1e9, 1.0]), "tensor([1.0000e+09, 1.0000e+00])"),
    (lambda: ut.tensor([1000.0, 1.0]), "tensor([1000.,    1.])"),
    (lambda: ut.tensor([1001.0, 1.0]), "tensor([1.0010e+03, 1.0000e+00])"),
    (lambda: ut.tensor([math.nan, 1.0]), "tensor([nan, 1.])"),
    (lambda: ut.tensor([math.inf, -math.inf, 0.25]), "tensor([   inf,   -inf, 0.2500])"),
    (lambda: ut.tensor([-0.0, 0.0]), "tensor([-0., 0.])"),
    (lambda: ut.tensor([1 + 2j, -0.5j]), "tensor([1.+2.0000j, -0.-0.5000j])"),
    (lambda: ut.tensor([[1, 2], [3, 4]]), "tensor([[1, 2],\n        [3, 4]])"),
    (lambda: ut.tensor([[[1]], [[2]]]), "tensor([[[1]],\n\n        [[2]]])"),
    (lambda: ut.arange(2000), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"),
    (
        lambda: ut.zeros(2, 1000),
        "tensor([[0., 0., 0.,  ..., 0., 0., 0.],\n        [0., 0., 0.,  ..., 0., 0., 0.]])",
    ),
    (
        lambda: ut.zeros(1000, 2),
        "tensor([[0., 0.],\n        [0., 0.],\n        [0., 0.],\n        ...,\n"
        "        [0., 0.],\n        [0., 0.],\n        [0., 0.]])",
    ),
    (
        lambda: ut.arange(30),
        "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
        "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])",
    ),
    (lambda: ut.ones(2, requires_grad=True), "tensor([1., 1.], requires_grad=True)"),
    (lambda: ut.ones(2, requires_grad=True) * 2, "tensor([2., 2.], grad_fn=<MulBackward0>)"),
]


@pytest.mark.parametrize(("make", "text"), CASES, ids=[text[:40] for _, text in CASES])
def test_golden_texts(make, text):
    expected = text.replace("undertow.", str(ut.float32).removesuffix("float32"))
    assert tensor_repr(make()) == expected
    assert repr(make()) == expected


def test_a_long_suffix_moves_to_its_own_line():
    text = repr(ut.arange(14, dtype=ut.float64).requires_grad_())
    lines = text.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("tensor([ 0.,  1.,")
    assert lines[1] == f"       dtype={ut.float64}, requires_grad=True)"


def test_grad_fn_is_printed_inside_no_grad_too():
    x = ut.ones(2, requires_grad=True)
    y = x * 2
    with ut.no_grad():
        assert repr(x) == "tensor([1., 1.], requires_grad=True)"
        assert repr(y) == "tensor([2., 2.], grad_fn=<MulBackward0>)"
        assert repr(x * 2) == "tensor([2., 2.])"


def test_printing_a_summarized_tensor_records_no_node():
    x = ut.ones(2000, requires_grad=True)
    y = x * 2
    assert repr(y).endswith("grad_fn=<MulBackward0>)")
    assert y.grad_fn.next_functions[0][0].name().endswith("AccumulateGrad")


def test_a_parameter_prints_its_contents():
    p = ut.nn.Parameter(ut.ones(2))
    assert repr(p) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"


def test_a_subclass_prints_its_own_name():
    class Celsius(ut.Tensor):
        pass

    assert repr(ut.ones(2).as_subclass(Celsius)) == "Celsius([1., 1.])"


def test_the_default_dtype_is_not_printed():
    before = ut.get_default_dtype()
    try:
        ut.set_default_dtype(ut.float64)
        assert repr(ut.ones(1)) == "tensor([1.])"
        assert "dtype" in repr(ut.ones(1, dtype=ut.float32))
        assert repr(ut.tensor([1j])) == "tensor([0.+1.j])"
    finally:
        ut.set_default_dtype(before)


def test_options_of_a_profile_can_be_overridden():
    ut.set_printoptions(profile="short", precision=1)
    assert tensor_repr(ut.tensor([1.25, 2.75])) == "tensor([1.2, 2.8])"
    assert get_printoptions()["edgeitems"] == 2


def test_sci_mode_is_reset_when_left_out():
    ut.set_printoptions(sci_mode=True)
    assert tensor_repr(ut.tensor([1.5])) == "tensor([1.5000e+00])"
    ut.set_printoptions(precision=4)
    assert tensor_repr(ut.tensor([1.5])) == "tensor([1.5000])"


def test_printoptions_restores_after_an_error():
    with pytest.raises(KeyError), printoptions(precision=1, threshold=2, edgeitems=1):
        assert tensor_repr(ut.arange(5)) == "tensor([0,  ..., 4])"
        raise KeyError
    assert get_printoptions()["precision"] == 4
    assert get_printoptions()["threshold"] == 1000


def test_with_no_edgeitems_only_the_size_is_printed():
    with printoptions(threshold=2, edgeitems=0):
        assert tensor_repr(ut.zeros(2, 3)) == "tensor([...], size=(2, 3))"


def test_several_results_print_a_line_for_each():
    assert repr(ut.tensor([3, 1]).sort()).endswith("return_types.sort(\nvalues=tensor([1, 3]),\nindices=tensor([1, 0]))")
