"""Classes with a `__torch_dispatch__`: wrappers without memory see every operator below autograd, and gradients flow through them."""

from __future__ import annotations

import copy
import io
import pickle

import pytest

import undertow as ut
from undertow import nn
from undertow.utils._python_dispatch import (
    TorchDispatchMode,
    _DisableTorchDispatch,
    is_traceable_wrapper_subclass,
    return_and_correct_aliasing,
    transform_subclass,
)
from undertow.utils._pytree import tree_map

aten = ut.ops.aten


class Logging(ut.Tensor):
    """Wraps one tensor and notes the operators."""

    log: list[str] = []

    @staticmethod
    def __new__(cls, inner):
        made = ut.Tensor._make_wrapper_subclass(
            cls, inner.size(), strides=inner.stride(), storage_offset=inner.storage_offset(), dtype=inner.dtype, layout=inner.layout,
            device=inner.device, requires_grad=inner.requires_grad,
        )  # fmt: skip
        made.inner = inner.detach() if inner.requires_grad else inner
        return made

    def __repr__(self):
        return f"Logging({self.inner})"

    __torch_function__ = ut._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def unwrap(t):
            return t.inner if isinstance(t, cls) else t

        cls.log.append(str(func))
        result = func(*tree_map(unwrap, args), **tree_map(unwrap, kwargs or {}))
        wrapped = tree_map(lambda t: cls(t) if isinstance(t, ut.Tensor) else t, result)
        return return_and_correct_aliasing(func, args, kwargs or {}, wrapped)


class Two(ut.Tensor):
    """Wraps two tensors and computes every operator on both."""

    @staticmethod
    def __new__(cls, a, b, requires_grad=False):
        return ut.Tensor._make_wrapper_subclass(cls, a.size(), a.stride(), a.storage_offset(), dtype=a.dtype, device=a.device, requires_grad=requires_grad)

    def __init__(self, a, b, requires_grad=False):
        self.a, self.b = a, b

    def __repr__(self):
        return f"Two({self.a}, {self.b})"

    def __tensor_flatten__(self):
        return ["a", "b"], None

    @staticmethod
    def __tensor_unflatten__(inner, context, size, stride):
        assert context is None
        return Two(inner["a"], inner["b"])

    __torch_function__ = ut._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        a = func(*tree_map(lambda t: t.a if isinstance(t, Two) else t, args), **tree_map(lambda t: t.a if isinstance(t, Two) else t, kwargs))
        b = func(*tree_map(lambda t: t.b if isinstance(t, Two) else t, args), **tree_map(lambda t: t.b if isinstance(t, Two) else t, kwargs))
        if isinstance(a, ut.Tensor):
            out = Two(a, b)
        elif isinstance(a, (tuple, list)):
            out = type(a)(Two(x, y) if isinstance(x, ut.Tensor) else x for x, y in zip(a, b, strict=True)) if not hasattr(a, "_fields") else tuple(
                Two(x, y) for x, y in zip(a, b, strict=True)
            )
        else:
            out = a
        return return_and_correct_aliasing(func, args, kwargs, out)


class Int8Weight(ut.Tensor):
    """A matrix stored as int8 and one scale per row, as quantization libraries do it."""

    @staticmethod
    def __new__(cls, data, scale, dtype):
        return ut.Tensor._make_wrapper_subclass(cls, data.shape, dtype=dtype, device=data.device)

    def __init__(self, data, scale, dtype):
        self.int_data, self.scale = data, scale

    @classmethod
    def quantize(cls, weight):
        scale = weight.abs().amax(1, keepdim=True) / 127
        return cls((weight / scale).round().to(ut.int8), scale, weight.dtype)

    def dequantize(self):
        return self.int_data.to(self.scale.dtype) * self.scale

    def __tensor_flatten__(self):
        return ["int_data", "scale"], [self.dtype]

    @classmethod
    def __tensor_unflatten__(cls, inner, context, size, stride):
        return cls(inner["int_data"], inner["scale"], *context)

    def __repr__(self):
        return f"Int8Weight({tuple(self.shape)})"

    def _changed(self, f):
        return type(self)(f(self.int_data), f(self.scale), self.dtype)

    __torch_function__ = ut._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in (aten.detach.default, aten.clone.default, aten.alias.default):
            return return_and_correct_aliasing(func, args, kwargs, args[0]._changed(func))
        if func is aten.t.default:
            return Transposed(args[0])
        if func is aten._to_copy.default:
            dtype = kwargs.get("dtype") or args[0].dtype
            return return_and_correct_aliasing(func, args, kwargs, cls(args[0].int_data.clone(), args[0].scale.to(dtype), dtype))
        if func in (aten.mm.default, aten.addmm.default):
            return func(*(a.dequantize() if isinstance(a, (cls, Transposed)) else a for a in args), **kwargs)
        if func is aten.copy_.default:
            args[0].int_data.copy_(args[1].int_data)
            args[0].scale.copy_(args[1].scale)
            return args[0]
        raise NotImplementedError(f"{cls.__name__}: {func}")


class Transposed(Int8Weight):
    @staticmethod
    def __new__(cls, weight):
        return ut.Tensor._make_wrapper_subclass(cls, tuple(weight.shape[::-1]), dtype=weight.dtype)

    def __init__(self, weight):
        self.weight = weight

    def dequantize(self):
        return self.weight.dequantize().t()

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is aten.t.default:
            return args[0].weight._changed(aten.alias.default)
        if func is aten.detach.default:
            return cls(args[0].weight)
        return Int8Weight.__torch_dispatch__.__func__(cls, func, types, args, kwargs)


def test_a_wrapper_has_sizes_strides_and_dtype_but_no_memory():
    x = Logging(ut.ones(2, 3, dtype=ut.float64).t())
    assert (tuple(x.shape), x.stride(), x.dtype, x.dim(), x.numel()) == ((3, 2), (1, 3), ut.float64, 2, 6)
    assert isinstance(x, ut.Tensor) and type(x) is Logging and x.is_leaf
    assert x.data_ptr() == 0
    with pytest.raises(RuntimeError, match="Cannot access data pointer|.numpy\\(\\) is not supported for tensor subclasses"):
        x.numpy()


def test_a_class_without_torch_dispatch_cannot_be_a_wrapper():
    class Plain(ut.Tensor):
        pass

    with pytest.raises(TypeError, match="must define __torch_dispatch__"):
        ut.Tensor._make_wrapper_subclass(Plain, (2,))


def test_operators_reach_the_class_and_results_are_its_instances():
    Logging.log.clear()
    x = Logging(ut.tensor([1.0, 2.0]))
    y = (x * x + 1).exp()
    assert type(y) is Logging
    assert Logging.log == ["aten.mul.Tensor", "aten.add.Tensor", "aten.exp.default"]
    assert y.inner.tolist() == (ut.tensor([1.0, 2.0]) ** 2 + 1).exp().tolist()


def test_gradients_flow_through_a_wrapper_and_formulas_reach_the_class():
    x = Logging(ut.tensor([1.0, 2.0, 3.0], requires_grad=True))
    Logging.log.clear()
    y = (x.sin() * x).sum()
    assert type(y) is Logging and y.grad_fn is not None
    forward = list(Logging.log)
    y.backward()
    plain = ut.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (plain.sin() * plain).sum().backward()
    assert type(x.grad) is Logging
    assert x.grad.inner.tolist() == plain.grad.tolist()
    assert forward == ["aten.sin.default", "aten.mul.Tensor", "aten.sum.default"]
    assert "aten.cos.default" in Logging.log and "aten.expand.default" in Logging.log


def test_saved_results_keep_their_class():
    x = Logging(ut.tensor([0.5, 1.0], requires_grad=True))
    x.exp().tanh().sum().backward()
    plain = ut.tensor([0.5, 1.0], requires_grad=True)
    plain.exp().tanh().sum().backward()
    assert x.grad.inner.tolist() == plain.grad.tolist()


def test_second_derivatives_flow_through_a_wrapper():
    x = Logging(ut.tensor([0.5, 1.0], requires_grad=True))
    (g,) = ut.autograd.grad((x**3).sum(), x, create_graph=True)
    (h,) = ut.autograd.grad(g.sum(), x)
    assert h.inner.tolist() == [3.0, 6.0]


def test_views_and_writes_in_place():
    x = Logging(ut.zeros(2, 3))
    row = x[0]
    row.add_(2)
    assert x.inner.tolist() == [[2.0, 2.0, 2.0], [0.0, 0.0, 0.0]]
    y = Logging(ut.ones(2, requires_grad=True)) * 1
    assert y.mul_(3) is y
    y.sum().backward()


def test_a_module_with_wrapped_parameters_trains():
    ut.manual_seed(0)
    plain = nn.Linear(3, 2)
    wrapped = copy.deepcopy(plain)
    wrapped.weight = nn.Parameter(Two(plain.weight.detach().clone(), plain.weight.detach().clone()))
    assert type(wrapped.weight) is Two and isinstance(wrapped.weight, nn.Parameter) and wrapped.weight.requires_grad
    x = ut.randn(4, 3)
    for model in (plain, wrapped):
        optimizer = ut.optim.SGD(model.parameters(), lr=0.1, foreach=False)
        model(x).sum().backward()
        optimizer.step()
    assert wrapped.weight.a.tolist() == plain.weight.tolist() == wrapped.weight.b.tolist()
    assert type(wrapped.weight.grad) is Two


def test_two_tensors_compute_both():
    x = Two(ut.ones(2, 2), ut.full((2, 2), 3.0), requires_grad=True)
    y = (x @ x).relu().sum()
    assert (y.a.item(), y.b.item()) == (8.0, 72.0)
    y.backward()
    assert x.grad.a.tolist() == [[4.0, 4.0], [4.0, 4.0]] and x.grad.b.tolist() == [[12.0, 12.0], [12.0, 12.0]]


def test_multiple_results_and_lists():
    x = Two(ut.arange(4.0), ut.arange(4.0) + 1)
    values, indices = x.sort(descending=True)
    assert values.b.tolist() == [4.0, 3.0, 2.0, 1.0] and type(indices) is Two
    parts = x.split(2)
    assert [p.a.tolist() for p in parts] == [[0.0, 1.0], [2.0, 3.0]]
    assert ut.cat([x, x]).b.shape == (8,)


def test_a_quantized_weight_in_a_linear_layer():
    ut.manual_seed(0)
    layer = nn.Linear(4, 3)
    exact = layer.weight.detach().clone()
    layer.weight = nn.Parameter(Int8Weight.quantize(exact), requires_grad=False)
    x = ut.randn(2, 4, requires_grad=True)
    y = layer(x)
    assert type(y) is ut.Tensor
    expected = nn.functional.linear(x.detach(), layer.weight.dequantize(), layer.bias)
    assert ut.allclose(y, expected)
    y.sum().backward()
    assert ut.allclose(x.grad, layer.weight.dequantize().sum(0).expand(2, 4)) and layer.bias.grad is not None
    assert list(layer.state_dict()) == ["weight", "bias"] and type(layer.state_dict()["weight"]) is Int8Weight


def test_a_quantized_module_is_copied_converted_loaded_and_pickled():
    layer = nn.Linear(4, 3, bias=False)
    layer.weight = nn.Parameter(Int8Weight.quantize(layer.weight.detach()), requires_grad=False)
    again = copy.deepcopy(layer)
    assert type(again.weight) is Int8Weight and isinstance(again.weight, nn.Parameter)
    assert again.weight.int_data.data_ptr() != layer.weight.int_data.data_ptr()
    assert again.weight.int_data.tolist() == layer.weight.int_data.tolist()
    again.weight.int_data.zero_()
    again.load_state_dict(layer.state_dict())
    assert again.weight.int_data.tolist() == layer.weight.int_data.tolist()
    again.to(ut.float64)
    assert again.weight.dtype is ut.float64 and again.weight.scale.dtype is ut.float64
    loaded = pickle.loads(pickle.dumps(layer.weight.detach()))
    assert type(loaded) is Int8Weight and loaded.scale.tolist() == layer.weight.scale.tolist()
    file = io.BytesIO()
    ut.save(layer.state_dict(), file)
    file.seek(0)
    with pytest.warns(UserWarning, match="can run any code"):
        assert type(ut.load(file, weights_only=False)["weight"]) is Int8Weight


def test_traceable_wrappers_are_taken_apart_and_put_together():
    x = Two(ut.ones(2), ut.zeros(2))
    assert is_traceable_wrapper_subclass(x) and not is_traceable_wrapper_subclass(ut.ones(2))
    doubled = transform_subclass(x, lambda name, inner: inner + 1)
    assert type(doubled) is Two and doubled.a.tolist() == [2.0, 2.0] and doubled.b.tolist() == [1.0, 1.0]


def test_an_operator_that_no_class_handles_raises():
    class Silent(Logging):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch._ops.aten.exp.default'"):
        Silent(ut.ones(2)).exp()


def test_a_subclass_goes_before_its_base():
    class Inner(Logging):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append((cls.__name__, tuple(t.__name__ for t in types)))
            return ut.ones(())

    seen = []
    ut.add(Logging(ut.ones(2)), Inner(ut.ones(2)))
    assert seen == [("Inner", ("Inner", "Logging"))]


def test_errors_of_the_class_are_raised_in_both_passes():
    class Broken(Logging):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            if func is aten.cos.default:
                raise ValueError("no cosine here")
            return Logging.__torch_dispatch__.__func__(cls, func, types, args, kwargs)

    with pytest.raises(ValueError, match="no cosine here"):
        Broken(ut.ones(2)).cos()
    y = Broken(ut.ones(2, requires_grad=True)).sin().sum()
    with pytest.raises(ValueError, match="no cosine here"):
        y.backward()


def test_a_subclass_with_memory_is_dispatched_too():
    class Counted(ut.Tensor):
        calls = 0

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            cls.calls += 1
            with _DisableTorchDispatch():
                return func(*args, **(kwargs or {}))

    x = ut.Tensor._make_subclass(Counted, ut.tensor([1.0, 2.0]), True)
    y = (x * 2).sum()
    y.backward()
    assert x.grad.tolist() == [2.0, 2.0] and Counted.calls == 1  # the product is a plain tensor
    assert x.data_ptr() != 0


def test_a_wrapper_dies_with_its_last_owner():
    import gc
    import weakref

    x = Logging(ut.ones(2, requires_grad=True))
    y = x.exp()
    ref = weakref.ref(x.inner)
    del x, y
    gc.collect()
    assert ref() is None


def test_a_mode_sees_operators_before_the_class():
    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            order.append("mode")
            return func(*args, **(kwargs or {}))

    order = []
    Logging.log.clear()
    with Mode():
        y = Logging(ut.ones(2)).exp()
    assert type(y) is Logging and order[-1] == "mode" and Logging.log[-1] == "aten.exp.default"
