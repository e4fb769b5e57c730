"""Wrappers with a `__torch_dispatch__` as arguments of gradcheck, of forward mode and of `autograd.functional`, and as `out=`."""

from __future__ import annotations

import pytest

import undertow as ut
from tests.tensor.test_wrapper_subclass import Logging
from undertow.autograd import forward_ad, functional
from undertow.autograd.gradcheck import GradcheckError
from undertow.utils._python_dispatch import TorchDispatchMode


def _wrapped(*size):
    return Logging((ut.arange(float(ut.Size(size).numel()), dtype=ut.float64).reshape(size) / 10 + 0.5).requires_grad_())


def _cube(x):
    return x.exp() * x


def _scalar(x):
    return x.exp().sum()


def test_gradcheck_accepts_wrappers():
    x = _wrapped(3)
    assert ut.autograd.gradcheck(_cube, (x,)) and ut.autograd.gradcheck(_cube, (x,), fast_mode=True)
    assert ut.autograd.gradcheck(_cube, (x,), check_forward_ad=True) and ut.autograd.gradcheck(_cube, (x,), check_batched_grad=True)
    assert ut.autograd.gradgradcheck(_cube, (x,))


def test_gradcheck_finds_a_wrong_gradient_of_a_wrapper():
    class Wrong(ut.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 3

    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        ut.autograd.gradcheck(Wrong.apply, (_wrapped(3),))


def test_a_dual_wrapper_computes_with_its_class():
    x, t = _wrapped(3).detach(), Logging(ut.ones(3, dtype=ut.float64))
    with forward_ad.dual_level():
        y = _cube(forward_ad.make_dual(x, t))
        primal, tangent = forward_ad.unpack_dual(y)
    inner = x.inner
    assert [type(each) for each in (y, primal, tangent)] == [Logging] * 3
    assert ut.allclose(primal.inner, _cube(inner)) and ut.allclose(tangent.inner, inner.exp() * (inner + 1))


@pytest.mark.parametrize("options", [{}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}], ids=["rows", "all_rows", "forward"])
def test_jacobians_and_hessians_of_wrappers(options):
    x = _wrapped(3)
    found = functional.jacobian(_cube, x, **options)
    assert type(found) is Logging and ut.allclose(found.inner, functional.jacobian(_cube, x.inner))
    assert type(functional.jacobian(lambda x: x.sum(), x, **options)) is Logging
    if "strategy" in options:
        options = {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}
    found = functional.hessian(_scalar, x, **options)
    assert type(found) is Logging and ut.allclose(found.inner, functional.hessian(_scalar, x.inner))


def test_a_class_gives_the_text_between_the_brackets():
    class Shown(Logging):
        def __repr__(self):
            return super(Logging, self).__repr__(tensor_contents="inside")

    assert repr(Shown(ut.ones(2))) == "Shown(inside)" and repr(ut.ones(1)) == "tensor([1.])"


def test_a_wrapper_can_be_given_by_out():
    x, out = _wrapped(3).detach(), Logging(ut.zeros(3, dtype=ut.float64))
    Logging.log.clear()
    assert ut.add(x, x, out=out) is out and ut.equal(out.inner, 2 * x.inner)
    assert Logging.log == ["aten.add.out"]


def test_a_mode_sees_calls_with_out_and_their_arguments():
    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            calls.append((str(func), len(args), sorted(kwargs)))
            return func(*args, **kwargs)

    calls: list[object] = []
    a, values, indices = ut.tensor([3.0, 5.0]), ut.empty(()), ut.empty((), dtype=ut.int64)
    with Seen():
        ut.max(a, 0, out=(values, indices))
        ut.mul(a, 2, out=a)
    assert calls == [("aten.max.dim_max", 2, ["max", "max_values"]), ("aten.mul.out", 2, ["out"])]
    assert values.item() == 5 and indices.item() == 1 and a.tolist() == [6.0, 10.0]


def test_a_composition_with_out_is_seen_as_its_operators_and_a_copy():
    class Names(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            names.append(func._opname)
            return func(*args, **(kwargs or {}))

    names: list[str] = []
    a, out = ut.eye(2), ut.empty(0)
    with Names():
        assert ut.vdot(a[0], a[0], out=out) is out
    assert names and out.tolist() == 1.0


def test_out_overloads_can_be_called_by_name():
    a, out = ut.ones(2), ut.empty(0)
    assert ut.ops.aten.add.out(a, a, alpha=3, out=out) is out and out.tolist() == [4.0, 4.0]
    values, indices = ut.ops.aten.sort.values_stable(ut.tensor([2.0, 1.0]), stable=True, values=ut.empty(0), indices=ut.empty(0, dtype=ut.int64))
    assert values.tolist() == [1.0, 2.0] and indices.tolist() == [1, 0]
    with pytest.raises(AttributeError, match="has no overload name 'nothing'"):
        ut.ops.aten.add.nothing  # noqa: B018
