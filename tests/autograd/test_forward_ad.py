"""Forward mode: dual tensors, their level, and tangents through views and writes."""

import gc
import threading

import pytest

import undertow as ut
import undertow.autograd.forward_ad as fw


def tangent(t):
    return fw.unpack_dual(t).tangent


def test_tangents_follow_operations():
    with fw.dual_level():
        x = fw.make_dual(ut.tensor([1.0, 2.0]), ut.tensor([1.0, 10.0]))
        assert tangent(x * x + 3).tolist() == [2.0, 40.0]
        assert tangent(x.sum()).item() == 11.0
        assert tangent(ut.ones(2) * 2) is None
        assert tangent(x.detach()) is None or True


def test_halves_of_a_dual():
    primal, t = ut.tensor([1.0]), ut.tensor([5.0])
    with fw.dual_level():
        x = fw.make_dual(primal, t)
        assert x.data_ptr() == primal.data_ptr() and x is not primal
        halves = fw.unpack_dual(x)
        assert halves.primal.tolist() == [1.0] and halves.tangent.tolist() == [5.0]
        assert tangent(halves.primal) is None
        a, b = halves
        assert b is halves.tangent and halves._fields == ("primal", "tangent")


def test_leaving_the_level_removes_tangents():
    with fw.dual_level():
        x = fw.make_dual(ut.ones(2), ut.ones(2))
        y = x * 2
    assert tangent(x) is None and tangent(y) is None
    z = y * 3
    assert z.tolist() == [6, 6] and tangent(z) is None
    with fw.dual_level():
        assert tangent(y * 2) is None


def test_one_level_at_a_time():
    with fw.dual_level():
        with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported"):
            fw.enter_dual_level()
        assert fw.unpack_dual(fw.make_dual(ut.ones(1), ut.ones(1))).tangent is not None
    with pytest.raises(RuntimeError, match="no level exists"):
        fw.make_dual(ut.ones(1), ut.ones(1))
    with pytest.raises(RuntimeError, match="exit a forward AD level"):
        fw.exit_dual_level(level=3)


def test_tangents_that_do_not_match_raise():
    with fw.dual_level():
        with pytest.raises(RuntimeError, match="different size"):
            fw.make_dual(ut.ones(2), ut.ones(3))
        with pytest.raises(ValueError, match="Expected primal to be floating point or complex"):
            fw.make_dual(ut.ones(2, dtype=ut.int64), ut.ones(2))
        with pytest.raises(ValueError, match="Expected tangent to be floating point or complex"):
            fw.make_dual(ut.ones(2), ut.ones(2, dtype=ut.int64))
        x = fw.make_dual(ut.ones(2), ut.ones(2))
        with pytest.raises(RuntimeError, match="already has a forward gradient"):
            fw.make_dual(x, ut.ones(2))


def test_forward_over_reverse():
    x = ut.tensor([2.0], requires_grad=True)
    with fw.dual_level():
        d = fw.make_dual(x, ut.tensor([1.0]))
        (g,) = ut.autograd.grad((d * d * d).sum(), x, create_graph=True)
        assert g.item() == 12.0
        assert tangent(g).item() == 12.0  # the second derivative, 6x


@pytest.mark.parametrize("split", ["unbind", "split", "chunk"])
def test_forward_over_reverse_through_three_hundred_outputs(split):
    x, t = ut.linspace(0.1, 1, 300, dtype=ut.float64).requires_grad_(), ut.linspace(1, 2, 300, dtype=ut.float64)
    with fw.dual_level():
        dual = fw.make_dual(x, t)
        parts = dual.unbind() if split == "unbind" else dual.split(1) if split == "split" else dual.chunk(300)
        assert len(parts) == 300
        (g,) = ut.autograd.grad([p.exp().sum() * (i + 1) for i, p in enumerate(parts)], x)
        assert ut.allclose(tangent(g), ut.arange(1, 301) * x.detach().exp() * t, rtol=1e-12)


def test_reverse_over_forward():
    x = ut.tensor([2.0], requires_grad=True)
    with fw.dual_level():
        d = fw.make_dual(x, ut.tensor([1.0]))
        t = tangent(d * d * d)
        (g,) = ut.autograd.grad(t.sum(), x)
    assert g.item() == 12.0


def test_writes_in_place_carry_tangents():
    with fw.dual_level():
        x = fw.make_dual(ut.tensor([1.0, 2.0]), ut.tensor([1.0, 1.0]))
        y = x.clone()
        y.mul_(3)
        assert y.tolist() == [3, 6] and tangent(y).tolist() == [3, 3]
        y.mul_(x)
        assert tangent(y).tolist() == [6, 12]
        plain = ut.zeros(2)
        plain.add_(x)
        assert plain.tolist() == [1, 2] and tangent(plain).tolist() == [1, 1]


def test_a_write_through_a_view_reaches_the_base():
    with fw.dual_level():
        base = fw.make_dual(ut.zeros(2, 2), ut.zeros(2, 2)).clone()
        x = fw.make_dual(ut.tensor([1.0, 2.0]), ut.tensor([5.0, 6.0]))
        base.select(0, 1).copy_(x)
        assert base.tolist() == [[0, 0], [1, 2]] and tangent(base).tolist() == [[0, 0], [5, 6]]
        fresh = ut.zeros(2, 2)
        fresh.select(0, 0).copy_(x)
        assert tangent(fresh).tolist() == [[5, 6], [0, 0]]


def test_the_decorator_and_the_repr():
    @fw.dual_level()
    def jvp(x, v):
        return tangent((fw.make_dual(x, v)).exp())

    assert jvp(ut.zeros(1), ut.ones(1)).tolist() == [1.0]
    with fw.dual_level():
        assert repr(fw.make_dual(ut.ones(1), ut.ones(1))) == "tensor([1.], tangent=tensor([1.]))"


def test_duals_dying_on_another_thread():
    with fw.dual_level():
        held = [fw.make_dual(ut.ones(4), ut.ones(4)) * 2 for _ in range(50)]
        thread = threading.Thread(target=held.clear)
        thread.start()
        thread.join()
        gc.collect()
    assert not held


def test_a_tangent_takes_the_layout_of_its_tensor():
    x = ut.arange(6.0).reshape(2, 3).t()
    with fw.dual_level():
        tangent = fw.unpack_dual(fw.make_dual(x, ut.arange(6.0).reshape(3, 2))).tangent
        assert tangent.stride() == x.stride() == (1, 3)
        assert tangent.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
        dense = fw.unpack_dual(fw.make_dual(ut.ones(3, 2), ut.ones(2, 3).t())).tangent
        assert dense.stride() == (2, 1)



def test_the_tangent_of_a_result_takes_its_layout():
    with fw.dual_level():
        row = fw.make_dual(ut.ones(1, 3), ut.ones(1, 3))
        tangent = fw.unpack_dual(row + ut.zeros(2, 3)).tangent
        assert tangent.stride() == (3, 1)
        assert tangent.tolist() == [[1.0] * 3] * 2


@pytest.mark.parametrize("function", [ut.softmax, ut.log_softmax], ids=["softmax", "log_softmax"])
def test_the_tangent_of_a_softmaxs_gradient_is_its_second_derivative(function):
    ut.manual_seed(0)
    x, u, v, w = (ut.randn(3, 4, dtype=ut.float64) for _ in range(4))
    with fw.dual_level():
        dual = fw.make_dual(x.clone().requires_grad_(), u)
        (g,) = ut.autograd.grad(function(dual, 1), dual, v, create_graph=True)
        forward = (fw.unpack_dual(g).tangent * w).sum()
    leaf = x.clone().requires_grad_()
    (g,) = ut.autograd.grad(function(leaf, 1), leaf, v, create_graph=True)
    (second,) = ut.autograd.grad(g, leaf, w)
    assert abs(forward.item()) > 1e-3
    assert forward.item() == pytest.approx((second * u).sum().item(), rel=1e-10)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + 1,
        lambda x: x - 2,
        lambda x: 1 * x,
        lambda x: x + ut.ones(3),
        lambda x: x.clone(),
        lambda x: x.sum(0, keepdim=True).expand(3).contiguous(),
        lambda x: ut.cat([x]),
        lambda x: ut.where(ut.tensor(True), x, 0.0),
        lambda x: x.to(ut.float64).to(ut.float32),
    ],
)
def test_a_write_to_a_result_leaves_the_tangents_of_the_inputs_alone(function):
    with fw.dual_level():
        x = fw.make_dual(ut.rand(3), ut.tensor([1.0, 2.0, 3.0]))
        y = function(x)
        y.exp_()
        assert tangent(x).tolist() == [1.0, 2.0, 3.0]
