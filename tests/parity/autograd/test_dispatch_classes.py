"""Classes and modes with a `__torch_dispatch__`, run with both libraries: the class of results, and what is refused."""

from __future__ import annotations

import pytest

import undertow as ut
from tests.library.both_libraries import both


def _counting(lib, base=None):
    class Counting(base or lib.Tensor):
        seen: list = []

        @staticmethod
        def __new__(cls, data):
            return lib.Tensor._make_subclass(cls, data)

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            cls.seen.append(str(func))
            return super().__torch_dispatch__(func, types, args, kwargs)

    Counting.seen = []
    return Counting


@both
def test_a_class_with_a_torch_dispatch_alone_decides_the_class_of_its_results(lib):
    kind = _counting(lib)
    result = kind(lib.ones(2)) + kind(lib.ones(2))
    assert type(result) is lib.Tensor and kind.seen == ["aten.add.Tensor"]
    assert kind.__torch_function__ is lib._C._disabled_torch_function_impl

    class Plain(lib.Tensor):
        pass

    class Converting(lib.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs)

    assert type(_counting(lib, Plain)(lib.ones(2)) * 2) is lib.Tensor
    converting = _counting(lib, Converting)
    assert type(converting(lib.ones(2)) * 2) is converting  # it has a __torch_function__ of its own
    assert type(lib.ones(2).as_subclass(Plain) * 2) is Plain


@both
def test_an_index_may_be_a_list_with_objects_that_override(lib):
    class Index:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "overridden"

    x = lib.ones(3)
    assert x[Index()] == x[[Index()]] == x[[0, Index()]] == x[(Index(),)] == "overridden"
    x[[Index()]] = 5
    assert x.tolist() == [1, 1, 1]


def _dispatch_mode(lib):
    return ut.utils._python_dispatch.TorchDispatchMode if lib is ut else lib.utils._python_dispatch.TorchDispatchMode


@both
def test_a_mode_whose_method_belongs_to_the_class_raises(lib):
    class Dispatch(_dispatch_mode(lib)):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    class Function(lib.overrides.TorchFunctionMode):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    for mode in (Dispatch(), Function()):
        with pytest.raises(RuntimeError, match="as a classmethod is not supported, please make it a plain method"), mode:
            lib.ones(1) + lib.ones(1)


@both
def test_modes_of_the_infrastructure_can_be_left_out(lib):
    active = (ut if lib is ut else lib).utils._python_dispatch.is_in_torch_dispatch_mode

    class Infrastructure(_dispatch_mode(lib)):
        @classmethod
        def is_infra_mode(cls):
            return True

    with Infrastructure():
        assert active() and not active(include_infra_modes=False)
        with _dispatch_mode(lib)():
            assert active(include_infra_modes=False)
    assert not active()


@both
def test_a_wrapper_can_be_made_with_arguments_by_position(lib):
    class Wrapper(lib.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    x = lib.ones(2, 3, dtype=lib.float64)
    made = lib.Tensor._make_wrapper_subclass(Wrapper, x.size(), x.stride(), 0, lib.contiguous_format, x.dtype, x.layout, x.device, False, True)
    assert made.shape == (2, 3) and made.dtype is lib.float64 and made.requires_grad
