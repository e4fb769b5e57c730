"""Functions of a C++ extension, called from Python: what arguments become, what errors become, and the graph that they record."""

from __future__ import annotations

import gc

import pytest

import undertow as ut


def test_a_tensor_comes_back_as_the_same_object(extension):
    x = ut.ones(3)
    x.note = "kept"
    assert extension.same(x) is x and extension.same(x).note == "kept"
    parameter = ut.nn.Parameter(ut.ones(2))
    assert extension.same(parameter) is parameter
    a, b = ut.ones(1), ut.ones(2)
    assert [t is u for t, u in zip(extension.reversed([a, b]), [b, a], strict=True)] == [True, True]


def test_an_undefined_tensor_is_none(extension):
    assert extension.undefined() is None
    assert extension.is_given(ut.ones(1)) and not extension.is_given(None)


def test_lists_of_tensors_and_ints_are_converted(extension):
    assert extension.sum_of([ut.ones(2), ut.ones(3)]).item() == 5
    assert extension.reshaped(ut.ones(6), (2, 3)).shape == (2, 3)
    assert extension.reshaped(ut.ones(6), [3, -1]).shape == (3, 2)
    assert extension.reshaped(ut.ones(6), 6).shape == (6,)
    x = ut.ones(4)
    assert extension.pair(x) == (x, 4)


@pytest.mark.parametrize(("value", "kind"), [(True, "bool"), (3, "int"), (2**63, "int"), (-5, "int"), (0.5, "float"), (1j, "complex")])
def test_numbers_keep_their_kind(extension, value, kind):
    assert extension.kind(value) == kind
    assert extension.scalar(value) == value and type(extension.scalar(value)) is type(value)


def test_a_tensor_with_one_element_is_a_number(extension):
    assert extension.kind(ut.tensor(2.5)) == "float" and extension.scalar(ut.tensor([7])) == 7
    with pytest.raises(TypeError, match="incompatible function arguments"):
        extension.scalar(ut.ones(2))


def test_dtypes_devices_layouts_and_formats_come_back(extension):
    for dtype in (ut.float32, ut.int64, ut.bool, ut.bfloat16, ut.complex128):
        assert extension.dtype_back(dtype) is dtype
    assert extension.device_back(ut.device("cpu")) == ut.device("cpu") and extension.device_back("meta") == ut.device("meta")
    assert extension.layout_back(ut.strided) is ut.strided
    assert extension.format_back(ut.channels_last) is ut.channels_last


@pytest.mark.parametrize("value", [None, 3, "x", [1.0], object()])
def test_what_is_no_tensor_raises_type_error(extension, value):
    with pytest.raises(TypeError, match="undertow.Tensor"):
        extension.same(value)


@pytest.mark.parametrize(
    ("kind", "error"),
    [("index", IndexError), ("type", TypeError), ("value", ValueError), ("not implemented", NotImplementedError), ("std", IndexError), ("x", RuntimeError)],
)
def test_errors_become_pythons(extension, kind, error):
    with pytest.raises(error) as caught:
        extension.raise_kind(kind)
    assert type(caught.value) is error


def test_the_error_of_an_operator_is_the_one_that_python_gets(extension):
    with pytest.raises(RuntimeError) as in_python:
        ut.ones(2, 3) @ ut.ones(7, 7)
    with pytest.raises(RuntimeError) as in_extension:
        extension.bad_product(ut.ones(2, 3))
    assert str(in_python.value) == str(in_extension.value)


@pytest.mark.parametrize("name", ["run_backward", "run_backward_unlocked"])
def test_a_python_exception_passes_through_cpp(extension, name):
    class Special(Exception):
        pass

    def hook(grad):
        raise Special("from the hook")

    x = ut.ones(2, requires_grad=True)
    x.register_hook(hook)
    with pytest.raises(Special, match="from the hook"):
        getattr(extension, name)((x * 2).sum())


def test_a_cpp_function_is_a_node_with_its_name_and_saved_tensors(extension):
    x = ut.tensor([2.0, 3.0], dtype=ut.float64, requires_grad=True)
    y = extension.square(x, factor=0.5)
    assert "Square" in y.grad_fn.name() and "Square" in type(y.grad_fn).__name__
    assert [t is x for t in y.grad_fn._saved_tensors] == [True]
    assert y.grad_fn.next_functions[0][0].variable is x
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 3.0]
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.sum().backward()


def test_hooks_of_a_cpp_node_run(extension):
    x = ut.ones(2, requires_grad=True)
    y = extension.square(x)
    seen = []
    y.grad_fn.register_prehook(lambda grads: seen.append("before") or (grads[0] * 10,))
    y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: seen.append("after") or tuple(None if g is None else g + 1 for g in grad_inputs))
    y.sum().backward()
    assert seen == ["before", "after"] and x.grad.tolist() == [21.0, 21.0]


def test_a_cpp_function_has_second_derivatives(extension):
    x = ut.rand(3, dtype=ut.float64, requires_grad=True)
    assert ut.autograd.gradcheck(lambda t: extension.square(t, 3.0), (x,))
    assert ut.autograd.gradgradcheck(lambda t: extension.square(t, 3.0), (x,))


def test_nothing_is_recorded_without_grad_mode(extension):
    x = ut.ones(2, requires_grad=True)
    with ut.no_grad():
        assert extension.square(x).grad_fn is None
    assert extension.square(x.detach()).grad_fn is None


def test_a_call_guard_releases_the_lock(extension):
    assert extension.holds_lock() and not extension.holds_lock_unlocked()


def test_parallel_for_visits_every_element_once(extension):
    assert extension.counted(100_003).tolist() == list(range(100_003))


def test_a_graph_of_cpp_nodes_is_freed(extension):
    gc.collect()
    before = ut._C._live_counts()
    x = ut.ones(5, requires_grad=True)
    for _ in range(10):
        extension.square(extension.square(x)).sum().backward()
    del x
    gc.collect()
    assert ut._C._live_counts() == before
