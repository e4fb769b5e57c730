"""__torch_function__: subclasses, foreign classes and modes that override calls."""

import threading

import pytest

import undertow as ut
from undertow.overrides import (
    BaseTorchFunctionMode,
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    TorchFunctionMode,
    handle_torch_function,
    has_torch_function,
    is_tensor_like,
    resolve_name,
    wrap_torch_function,
)


class Logging(ut.Tensor):
    """Records the calls."""

    calls: list = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(resolve_name(func))
        return super().__torch_function__(func, types, args, kwargs)


@pytest.fixture
def log():
    Logging.calls = []
    return Logging.calls


def logged(*data):
    t = ut.tensor(data).as_subclass(Logging)
    Logging.calls.clear()
    return t


class Foreign:
    """Not a tensor, but supports the protocol."""

    def __init__(self, answer="foreign"):
        self.answer = answer

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return self.answer, func, types, args, kwargs


def test_operators_methods_and_functions_go_through_the_subclass(log):
    x = logged(1.0, 2.0)
    y = x + 1
    assert log == ["Tensor.add"] and type(y) is Logging
    log.clear()
    ut.exp(x), x.exp(), 2 * x, -x, x.sum(), 1 - x, 1 / x
    assert log == ["undertow.exp", "Tensor.exp", "Tensor.mul", "Tensor.neg", "Tensor.sum", "Tensor.__rsub__", "Tensor.__rtruediv__"]
    assert all(type(r) is Logging for r in (2 * x, 1 - x, 1 / x, -x))
    log.clear()
    x.add_(1)
    assert log == ["Tensor.add_"]


def test_attributes_go_through_the_subclass(log):
    x = logged(1.0)
    assert x.shape == (1,) and x.dtype is ut.float32 and x.size(0) == 1 and x.dim() == 1
    assert log == ["Tensor.shape.__get__", "Tensor.dtype.__get__", "Tensor.size", "Tensor.dim"]
    log.clear()
    x.requires_grad = True
    assert log == ["Tensor.requires_grad.__set__"]
    log.clear()
    x.backward(ut.ones(1))
    assert "Tensor.backward" in log


def test_results_have_the_most_derived_subclass():
    class A(ut.Tensor): ...

    class B(A): ...

    class C(ut.Tensor): ...

    a, b, c, t = (ut.ones(2).as_subclass(cls) for cls in (A, B, C, ut.Tensor))
    assert type(a + t) is A and type(t + a) is A and type(a + b) is B and type(b + a) is B
    with pytest.raises(TypeError, match="no implementation found"):
        a + c
    assert type(ut.add(t, b)) is B


def test_gradients_flow_through_a_subclass():
    class A(ut.Tensor): ...

    x = ut.ones(2, requires_grad=True)
    y = (x.as_subclass(A) * 3).exp()
    assert type(y) is A and y.requires_grad
    y.sum().backward()
    assert x.grad is not None and type(x.grad) is ut.Tensor


def test_foreign_objects_can_override():
    f = Foreign()
    answer, func, types, args, kwargs = ut.add(ut.ones(1), f, alpha=2)
    assert answer == "foreign" and func is ut.add and types == (Foreign,) and args[1] is f and kwargs == {"alpha": 2}
    assert (ut.ones(1) + f)[0] == "foreign"
    assert ut.ones(1).mul(f)[0] == "foreign"


def test_an_error_lists_the_types_if_all_return_not_implemented():
    with pytest.raises(TypeError, match="no implementation found for 'undertow.add'.*NoAnswer"):
        ut.add(ut.ones(1), NoAnswer())


class NoAnswer:
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return NotImplemented


def test_disabling(log):
    x = logged(1.0)
    with DisableTorchFunctionSubclass():
        assert type(x + 1) is ut.Tensor
    assert not log
    assert type(x + 1) is Logging


def test_a_class_may_opt_out():
    class Quiet(ut.Tensor):
        __torch_function__ = ut._C._disabled_torch_function_impl

    q = ut.ones(1).as_subclass(Quiet)
    assert type(q + 1) is ut.Tensor and q.shape == (1,) and not has_torch_function((q,))


class Names(TorchFunctionMode):
    def __init__(self):
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(resolve_name(func))
        return func(*args, **(kwargs or {}))


def test_modes_see_everything_in_their_thread():
    x = ut.ones(2)
    with Names() as mode:
        y = x.exp() * 2
        x.shape
        thread = threading.Thread(target=lambda: x.exp())
        thread.start()
        thread.join()
    assert mode.seen[0] == "Tensor.exp" and "Tensor.shape.__get__" in mode.seen and mode.seen.count("Tensor.exp") == 1
    mode.seen.clear()
    x.exp()
    assert not mode.seen and y.tolist() == (ut.ones(2).exp() * 2).tolist()


def test_modes_nest_innermost_first():
    order = []

    class Tagged(TorchFunctionMode):
        def __init__(self, tag):
            self.tag = tag

        def __torch_function__(self, func, types, args=(), kwargs=None):
            order.append(self.tag)
            return func(*args, **(kwargs or {}))

    with Tagged("outer"), Tagged("inner"), BaseTorchFunctionMode():
        ut.ones(1).exp()
    assert order[-2:] == ["inner", "outer"]


def test_a_mode_that_raises_is_left_clean():
    class Bad(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise KeyError("bad")

    x = ut.ones(1)
    with pytest.raises(KeyError), Bad():
        x.exp()
    assert x.exp() is not None
    with Names() as mode:
        with DisableTorchFunction():
            x.exp()
    assert not mode.seen


def test_functions_written_in_python():
    @wrap_torch_function(lambda a, b=None: (a, b))
    def join(a, b=None):
        return "plain"

    assert join(1) == "plain"
    answer, func, types, args, kwargs = join(Foreign(), b=2)
    assert func is join and kwargs == {"b": 2}
    assert has_torch_function((1, Foreign())) and not has_torch_function((1, ut.ones(1)))
    assert handle_torch_function(join, (Foreign(),), 5)[3] == (5,)
    assert is_tensor_like(Foreign()) and is_tensor_like(ut.ones(1)) and not is_tensor_like(1)


def test_an_operator_that_is_only_a_method_is_overridden_too():
    class Plain(ut.Tensor):
        pass

    x = ut.ones(2).as_subclass(Plain)
    assert type(x.view(2, 1)) is Plain and type(x.view_as(x)) is Plain and type(x.expand_as(x)) is Plain


def test_overridable_functions_are_listed_by_module():
    found = ut.overrides.get_overridable_functions()
    assert ut.exp in found[ut] and ut.Tensor.add in found[ut.Tensor]
    assert ut.nn.functional.softmax in found[ut.nn.functional]
    assert not set(found[ut]) & ut.overrides.get_ignored_functions()
    assert ut.overrides.is_tensor_method_or_property(ut.Tensor.shape.__get__)
    assert not ut.overrides.is_tensor_method_or_property(ut.exp)

    class Loud(ut.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "taken"

    x = ut.ones(2).as_subclass(Loud)
    unary = [f for f in found[ut] if getattr(f, "__name__", "") in ("exp", "sin", "abs", "neg")]
    assert len(unary) == 4
    assert [f(x) for f in unary] == ["taken"] * 4


def test_as_subclass_is_not_overridden_and_other_methods_are():
    class Seen(ut.Tensor):
        names: list[str] = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.names.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

        def clone(self):
            return self.as_subclass(ut.Tensor).clone().as_subclass(Seen)

    x = ut.ones(2).as_subclass(Seen)
    assert type(x.as_subclass(ut.Tensor)) is ut.Tensor
    assert type(x.clone()) is Seen
    assert Seen.names == []
    assert type(x.new_tensor([1.0])) is Seen
    assert x.map_(ut.ones(2), lambda a, b: a + b).tolist() == [2.0, 2.0]
    assert "new_tensor" in Seen.names
    assert "map_" in Seen.names


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: ut.tensordot(x, x, 1), "tensordot"),
        (lambda x: ut.combinations(x), "combinations"),
        (lambda x: ut.svd_lowrank(x), "svd_lowrank"),
        (lambda x: ut.pca_lowrank(x), "pca_lowrank"),
        (lambda x: ut.is_nonzero(x), "is_nonzero"),
        (lambda x: ut.gru_cell(x, x, x, x), "gru_cell"),
        (lambda x: ut.lstm_cell(x, (x, x), x, x), "lstm_cell"),
        (lambda x: ut.nn.init.uniform_(x), "uniform_"),
        (lambda x: ut.nn.init.kaiming_uniform_(x), "kaiming_uniform_"),
        (lambda x: ut.smm(x, x), "smm"),
    ],
)
def test_functions_written_in_python_can_be_overridden(call, name):
    class Any:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__

    assert call(Any()) == name


def test_functions_that_create_tensors_go_through_a_mode():
    seen = []

    class Names(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    with Names():
        ut.tensor([1.0])
        ut.as_tensor([1.0])
        ut.asarray([1.0])
        ut.hann_window(3)
        ut.fft.fftfreq(3)
        ut.empty_permuted((2, 3), (1, 0))
        ut.sparse_coo_tensor([[0]], [1.0], (2,))
    assert seen == ["tensor", "as_tensor", "asarray", "hann_window", "fftfreq", "empty_permuted", "sparse_coo_tensor"]


def test_compositions_written_in_python_are_overridden_as_a_whole():
    class Named:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__

    x = Named()
    assert [ut.vander(x), ut.nn.init.constant_(x, 1.0)] == ["vander", "constant_"]


def test_a_mode_with_a_classmethod_raises():
    class Wrong(TorchFunctionMode):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with pytest.raises(RuntimeError, match="as a classmethod is not supported, please make it a plain method"), Wrong():
        pass
    assert ut.ones(1).tolist() == [1.0]


OPERATORS = {"-": "__rsub__", "/": "__rdiv__", "//": "__rfloordiv__", "%": "__rmod__", "@": "__rmatmul__", "**": "__rpow__"}


@pytest.mark.parametrize("operator", [*OPERATORS, "+", "*"])
def test_the_reflected_method_is_asked_if_no_override_computes_an_operator(same_as_torch, operator):
    def scenario(lib):
        class Nothing(lib.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return NotImplemented

        class Reflected(lib.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return "reflected" if func.__name__ in (OPERATORS.get(operator), "__rtruediv__") else NotImplemented

        found = []
        for left in (Nothing(), lib.ones(2)):
            try:
                found.append(eval(f"a {operator} b", {"a": left, "b": Reflected()}))
            except TypeError:
                found.append("TypeError")
        return found

    same_as_torch(scenario)


class Like:
    """Overrides functions as a tensor does, but is none and no sequence."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return [func.__name__, [type(a).__name__ for a in args], sorted((kwargs or {}).items())]


def test_grad_of_one_object_that_overrides_functions(same_as_torch):
    def scenario(lib):
        x = Like()
        return lib.autograd.grad(x, x), lib.autograd.grad([x], (x, x), retain_graph=True)

    same_as_torch(scenario)


def test_distributions_broadcast_objects_that_override_functions(same_as_torch):
    def scenario(lib):
        return lib.distributions.utils.broadcast_all(Like(), lib.ones(2)), lib.distributions.utils.broadcast_all(Like(), 2.0)[1]

    same_as_torch(scenario)
