"""Numbers before tensors, as in torch's older signatures: x.add_(alpha, y), addmm(beta, x, alpha, y, z)."""

from __future__ import annotations

import pytest

import undertow as ut

x = ut.arange(4.0).view(2, 2)
y, z, v = x + 1, x - 2, ut.tensor([1.0, -1.0])
b = x[None]

pytestmark = pytest.mark.filterwarnings("ignore:This overload of")

CASES = {
    "add": (lambda: x.add(2, y), lambda: x + 2 * y),
    "add_": (lambda: x.clone().add_(2.5, y), lambda: x + 2.5 * y),
    "add as a function": (lambda: ut.add(x, 2, y), lambda: x + 2 * y),
    "sub_": (lambda: x.clone().sub_(2, y), lambda: x - 2 * y),
    "addcmul_": (lambda: x.clone().addcmul_(3, y, z), lambda: x + 3 * y * z),
    "addcmul": (lambda: ut.addcmul(x, 3, y, z), lambda: x + 3 * y * z),
    "addcdiv_": (lambda: x.clone().addcdiv_(-0.5, z, y), lambda: x - 0.5 * z / y),
    "addmm_ with beta": (lambda: x.clone().addmm_(2, y, z), lambda: 2 * x + y @ z),
    "addmm_ with both": (lambda: x.clone().addmm_(2, 3, y, z), lambda: 2 * x + 3 * y @ z),
    "addmm": (lambda: ut.addmm(2, x, 3, y, z), lambda: 2 * x + 3 * y @ z),
    "addmm with beta": (lambda: ut.addmm(2, x, y, z), lambda: 2 * x + y @ z),
    "addmv": (lambda: ut.addmv(2, v, 3, x, v), lambda: 2 * v + 3 * x @ v),
    "addr_": (lambda: x.clone().addr_(2, 3, v, v), lambda: 2 * x + 3 * ut.outer(v, v)),
    "addbmm": (lambda: ut.addbmm(2, x, 3, b, b), lambda: 2 * x + 3 * x @ x),
    "baddbmm_": (lambda: b.clone().baddbmm_(2, 3, b, b), lambda: 2 * b + 3 * b @ b),
    "out=": (lambda: ut.add(x, 2, y, out=ut.empty(2, 2)), lambda: x + 2 * y),
}


@pytest.mark.parametrize("name", CASES)
def test_numbers_before_tensors_multiply_what_follows(name):
    ours, expected = CASES[name]
    ut.testing.assert_close(ours(), expected())


def test_gradients_flow_through_the_older_order():
    w = y.clone().requires_grad_()
    x.add(3, w).sum().backward()
    assert w.grad.tolist() == [[3.0, 3.0], [3.0, 3.0]]


@pytest.mark.parametrize(
    "call",
    [lambda: x.add_(2, 3, y), lambda: x.add(y, 2, z), lambda: ut.add(2, x, y), lambda: x.addcmul_(1, 2, y, z), lambda: x.addmm(1, 2, 3, y, z),
     lambda: ut.addmm(x, 2, y, 3, z), lambda: x.addcmul(2, y), lambda: x.mul(2, y), lambda: x.addmm("2", y, z)],
)  # fmt: skip
def test_other_argument_orders_raise_as_before(call):
    with pytest.raises(TypeError):
        call()


def test_a_number_given_twice_raises():
    with pytest.raises(TypeError, match="add"):
        x.add(2, y, alpha=3)


def test_two_numbers_give_a_tensor():
    assert ut.div(7, 2, rounding_mode="floor").item() == 3 and ut.add(1, 2).dtype is ut.int64
    assert ut.mul(2, 3.5).item() == 7.0 and ut.sub(1, 2, alpha=3).item() == -5
    with pytest.raises(TypeError):
        ut.addcmul(1, 2, 3)


@pytest.mark.parametrize(
    "call, expected, dtype",
    [
        (lambda x: ut.div(7, x, rounding_mode="floor"), [3, -4], ut.int32),
        (lambda x: ut.div(7, x, rounding_mode=None), [3.5, -3.5], ut.float32),
        (lambda x: ut.div(7, x[0], rounding_mode="trunc"), 3, ut.int32),
        (lambda x: ut.divide(True, x.double(), rounding_mode="floor"), [0.0, -1.0], ut.float64),
        (lambda x: ut.divide(7, 2, rounding_mode="floor"), 3, ut.int64),
        (lambda x: ut.div(7, x, out=ut.empty(2)), [3.5, -3.5], ut.float32),
        (lambda x: ut.add(1.5, x, alpha=2), [5.5, -2.5], ut.float32),
        (lambda x: ut.sub(1, x, out=ut.empty(2, dtype=ut.int32)), [-1, 3], ut.int32),
        (lambda x: ut.multiply(3, x), [6, -6], ut.int32),
        (lambda x: ut.floor_divide(7, x), [3, -4], ut.int32),
    ],
)
def test_a_number_may_be_the_first_operand(call, expected, dtype):
    result = call(ut.tensor([2, -2], dtype=ut.int32))
    assert (result.tolist(), result.dtype) == (expected, dtype)


def test_the_other_operand_of_a_number_gets_its_gradient():
    x = ut.tensor([2.0, 4.0], requires_grad=True)
    ut.div(8, x, rounding_mode=None).sum().backward()
    assert x.grad.tolist() == [-2.0, -0.5]
