"""TorchDispatchMode sees the operators of a block, forward and backward, by torch's names; `ops.aten` has the same operators as objects."""

from __future__ import annotations

import copy
import pickle
import threading

import pytest

import undertow as ut
from undertow import nn
from undertow.utils import _python_dispatch as dispatch
from undertow.utils._python_dispatch import TorchDispatchMode

aten = ut.ops.aten


class Names(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names, self.calls = [], []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func).removeprefix("aten.").removesuffix(".default"))
        self.calls.append((func, args, kwargs))
        return func(*args, **(kwargs or {}))


def names_of(program):
    with Names() as seen:
        program()
    return seen.names


def test_a_linear_layer_and_its_backward():
    layer, x = nn.Linear(4, 3), ut.randn(2, 4)
    assert names_of(lambda: layer(x).sum().backward()) == ["t", "addmm", "sum", "ones_like", "expand", "t", "mm", "t", "sum.dim_IntList", "view", "detach", "t", "detach"]


def test_a_convolution_and_its_backward_are_one_operator_each():
    layer, x = nn.Conv2d(3, 4, 3), ut.randn(2, 3, 8, 8, requires_grad=True)
    assert names_of(lambda: layer(x).sum().backward()) == ["convolution", "sum", "ones_like", "expand", "convolution_backward", "detach", "detach", "detach"]


def test_a_mode_changes_nothing():
    def run(mode):
        ut.manual_seed(0)
        model = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.LayerNorm(27), nn.Linear(27, 5))
        x, target = ut.randn(2, 2, 8, 8, requires_grad=True), ut.tensor([1, 3])
        with mode:
            nn.functional.cross_entropy(model(x), target).backward()
        return [x.grad, *(p.grad for p in model.parameters())]

    from contextlib import nullcontext

    for with_mode, without in zip(run(Names()), run(nullcontext()), strict=True):
        assert ut.allclose(with_mode, without, atol=1e-6)


def test_arguments_are_those_of_the_schema_without_defaults():
    with Names() as seen:
        x = ut.ones(2, 3)
        x.sum(1)
        x.add(x, alpha=2)
        x * 2
        x.view(3, 2)
    calls = [(str(f), a[1:] if a and isinstance(a[0], ut.Tensor) else a, k) for f, a, k in seen.calls]
    assert calls[0] == ("aten.ones.default", ([2, 3],), {"device": ut.device("cpu"), "pin_memory": False})
    assert calls[1] == ("aten.sum.dim_IntList", ([1],), {})
    assert calls[2][2] == {"alpha": 2}
    assert calls[3] == ("aten.mul.Tensor", (2,), {})
    assert calls[4] == ("aten.view.default", ([3, 2],), {})


def test_the_mode_is_not_active_while_it_runs():
    class Nested(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(dispatch._get_current_dispatch_mode())
            (ut.ones(2) + 1).exp()
            return func(*args, **(kwargs or {}))

    seen = []
    with Nested() as mode:
        assert dispatch._get_current_dispatch_mode() is mode
        ut.ones(2)
    assert seen == [None] and dispatch._get_current_dispatch_mode() is None


def test_modes_nest_the_innermost_first():
    class Named(TorchDispatchMode):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            order.append(self.name)
            return func(*args, **(kwargs or {}))

    order = []
    with Named("outer"), Named("inner"):
        ut.ones(1)
    assert order == ["inner", "outer"]


def test_a_mode_can_replace_results():
    class Zeros(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            return ut.zeros_like(result) if func is aten.exp.default else result

    x = ut.ones(2, requires_grad=True)
    with Zeros():
        y = x.exp()
    assert y.tolist() == [0.0, 0.0]
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]  # the derivative uses the result


def test_an_error_in_a_mode_leaves_the_state_as_it_was():
    class Broken(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"), Broken():
        ut.ones(2)
    assert dispatch._get_current_dispatch_mode() is None and ut.is_grad_enabled()
    assert ut.ones(2).tolist() == [1.0, 1.0]


def test_disabled_modes_see_nothing():
    with Names() as seen:
        with dispatch._disable_current_modes() as modes:
            ut.ones(2)
        with dispatch._DisableTorchDispatch():
            ut.ones(2)
        with dispatch._pop_mode_temporarily():
            ut.ones(2)
        assert seen.names == [] and modes == [seen]
        ut.ones(2)
    assert seen.names == ["ones"]


def test_modes_belong_to_a_thread():
    with Names() as seen:
        thread = threading.Thread(target=lambda: ut.ones(2).exp())
        thread.start()
        thread.join()
    assert seen.names == []


def test_writes_views_and_indexing():
    x = ut.zeros(3, 3)

    def program():
        y = x * 1
        y.add_(1)
        y[0].mul_(2)
        y[1:] = 0
        y[ut.tensor([0, 2])]

    names = names_of(program)
    assert names[:4] == ["mul.Tensor", "add_.Tensor", "select.int", "mul_.Tensor"]
    assert "index.Tensor" in names and "slice.Tensor" in names


def test_views_of_a_mode_are_views_for_autograd():
    x = ut.ones(4, requires_grad=True)
    with Names():
        y = x * 1
        y.view(2, 2)[0].mul_(5)
    y.sum().backward()
    assert x.grad.tolist() == [5.0, 5.0, 1.0, 1.0]


def test_memory_of_a_backward_pass_can_be_tracked():
    class Memory(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.bytes = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            for t in result if isinstance(result, (tuple, list)) else (result,):
                if isinstance(t, ut.Tensor) and not func.is_view:
                    self.bytes += t.numel() * t.element_size()
            return result

    model, x = nn.Linear(8, 8), ut.randn(4, 8)
    with Memory() as forward:
        loss = model(x).relu().sum()
    with Memory() as backward:
        loss.backward()
    assert forward.bytes >= 2 * 4 * 8 * 4 and backward.bytes >= 8 * 8 * 4


def test_operators_are_objects_with_names_and_schemas():
    op = aten.add.Tensor
    assert (str(op), op.name(), op.__name__, op.namespace, op._overloadname) == ("aten.add.Tensor", "aten::add.Tensor", "add.Tensor", "aten", "Tensor")
    assert repr(op) == "<OpOverload(op='aten.add', overload='Tensor')>" and repr(aten.add) == "<OpOverloadPacket(op='aten.add')>"
    assert op.overloadpacket is aten.add and op is aten.add.Tensor and {op: 1}[aten.add.Tensor] == 1
    assert copy.deepcopy(op) is op and pickle.loads(pickle.dumps(op)) is op
    assert str(op._schema) == "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    assert [a.name for a in op._schema.arguments] == ["self", "other", "alpha"]
    assert aten.add_.Tensor._schema.is_mutable and not op._schema.is_mutable
    assert aten.view.default.is_view and not op.is_view
    assert "default" in aten.mm.overloads()
    with pytest.raises(AttributeError, match="no overload name 'nothing'"):
        aten.add.nothing  # noqa: B018
    with pytest.raises(AttributeError):
        aten.not_an_operator  # noqa: B018


def test_operators_can_be_called():
    x = ut.arange(6.0).reshape(2, 3)
    assert aten.mm.default(x, x.t()).tolist() == (x @ x.t()).tolist()
    assert aten.add.Tensor(x, x, alpha=2).tolist() == (3 * x).tolist()
    assert aten.mul.Scalar(x, 2).tolist() == aten.mul.Tensor(x, 2).tolist() == aten.mul(x, 2).tolist() == (2 * x).tolist()
    assert aten.sum.dim_IntList(x, [1], True).shape == (2, 1)
    assert aten._softmax.default(x, 1, False).tolist() == x.softmax(1).tolist()
    assert aten.slice.Tensor(x, 1, 0, 2).shape == (2, 2)
    assert aten._to_copy.default(x, dtype=ut.float64).dtype is ut.float64
    assert aten.linear.default(x, x).shape == (2, 2)
    y = x.clone()
    assert aten.add_.Tensor(y, 1) is y and y.tolist() == (x + 1).tolist()
    with pytest.raises(RuntimeError, match="missing value for argument 'mat2'"):
        aten.mm.default(x)


def test_operators_are_recorded():
    x = ut.ones(2, 2, requires_grad=True)
    aten.mm.default(x, x).sum().backward()
    assert x.grad.tolist() == [[4.0, 4.0], [4.0, 4.0]]


def test_function_modes_and_dispatch_modes_together():
    class Functions(ut.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            order.append(func.__name__)
            return func(*args, **(kwargs or {}))

    order = []
    x = ut.ones(2)
    with Functions(), Names() as seen:
        x.exp()
    assert order[0] == "exp" and seen.names == ["exp"]


@pytest.mark.parametrize("result", ["text", None, 3, object(), [ut.ones(1)] * 3], ids=["str", "None", "int", "object", "list"])
def test_a_result_that_is_no_tensor_is_refused(result):
    class Returns(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return result

    x = ut.ones(2, 2)
    with Returns():
        for call in (lambda: x.neg(), lambda: x + 1, lambda: x.max(0)):
            with pytest.raises(RuntimeError, match="Unable to cast"):
                call()


def test_an_assigned_number_is_a_tensor_that_the_mode_sees_first():
    x = ut.zeros(3, 3)

    def program():
        x[0] = 1
        x[1:, 0] = 2.5
        x[...] += 0
        x[x > 2] = 7

    seen = names_of(program)
    assert seen[:3] == ["lift_fresh", "select.int", "fill_.Tensor"]
    assert seen[-3:] == ["gt.Scalar", "lift_fresh", "index_put_"]
    assert x.tolist() == [[1.0, 1.0, 1.0], [7.0, 0.0, 0.0], [7.0, 0.0, 0.0]]
    with Names(), pytest.raises(RuntimeError, match="value cannot be converted to type int8_t without overflow"):
        ut.zeros(2, dtype=ut.int8)[0] = 1000
