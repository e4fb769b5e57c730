"""Operators that a C++ library registers by macro: `ops.ns.name`, its kernels, its derivative, and what Python adds to it."""

from __future__ import annotations

import warnings

import pytest

import undertow as ut

pytestmark = pytest.mark.usefixtures("extension")


def test_defaults_and_keywords_come_from_the_schema():
    x = ut.tensor([1.0, 2.0])
    assert ut.ops.uttest.scale(x).tolist() == [1.0, 2.0]
    assert ut.ops.uttest.scale(x, a=3).tolist() == [3.0, 6.0]
    assert ut.ops.uttest.scale.default(x, 2.0).tolist() == [2.0, 4.0]
    assert str(ut.ops.uttest.scale.default._schema) == "uttest::scale(Tensor x, float a=1) -> Tensor"
    assert ut.ops.uttest.scale.default.name() == "uttest::scale" and str(ut.ops.uttest.scale.default) == "uttest.scale.default"


def test_the_operators_of_a_namespace_are_listed():
    assert {"scale", "cube", "several", "over"} <= set(dir(ut.ops.uttest))
    with pytest.raises(AttributeError, match="no operator uttest::missing"):
        ut.ops.uttest.missing  # noqa: B018


def test_wrong_arguments_raise_and_name_the_declaration():
    with pytest.raises(RuntimeError, match="missing value for argument 'x'. Declaration: uttest::scale"):
        ut.ops.uttest.scale()
    with pytest.raises(RuntimeError, match="Unknown keyword argument 'b'"):
        ut.ops.uttest.scale(ut.ones(1), b=2)
    with pytest.raises(RuntimeError, match="Expected a value of type 'Tensor' for argument 'x' but instead found type 'float'"):
        ut.ops.uttest.scale(1.0)
    with pytest.raises(RuntimeError, match="Expected a value of type 'float' for argument 'a' but instead found type 'str'"):
        ut.ops.uttest.scale(ut.ones(1), "two")
    with pytest.raises(RuntimeError, match="Expected a value of type 'float' for argument 'a' but instead found type 'object'"):
        ut.ops.uttest.scale(ut.ones(1), object())


def test_every_type_of_argument_and_several_results():
    tensor, numbers, text = ut.ops.uttest.several(ut.ones(2), (1, 2), named={"bias": ut.ones(2)}, dtype=ut.float64)
    assert tensor.tolist() == [2.0, 2.0] and tensor.dtype is ut.float64
    assert (numbers, text) == ([1, 2, 0, -1], "hi!")
    _, numbers, text = ut.ops.uttest.several(ut.ones(2), [3], "yes", other=ut.ones(1), number=9, named={"bias": ut.zeros(2)})
    assert (numbers, text) == ([3, 1, 9], "yes!")


def test_a_schema_is_inferred_from_the_function():
    assert str(ut.ops.uttest.inferred.default._schema) == "uttest::inferred(Tensor _0, int _1, float? _2) -> Tensor"
    assert ut.ops.uttest.inferred(ut.zeros(1), 2, None).item() == 2.5


def test_overloads_are_attributes_and_a_call_finds_the_one_that_fits():
    assert ut.ops.uttest.over.overloads() == ["ints", "text"]
    assert ut.ops.uttest.over.ints(ut.zeros(1), 3).item() == 3
    assert ut.ops.uttest.over(ut.zeros(1), "four").item() == 4
    assert ut.ops.uttest.over(ut.zeros(1), 5).item() == 5


def test_an_operator_that_writes_returns_its_argument():
    x = ut.zeros(2)
    assert ut.ops.uttest.add_one_(x) is x and x.tolist() == [1.0, 1.0]


def test_the_autograd_kernel_is_the_derivative():
    x = ut.rand(4, dtype=ut.float64, requires_grad=True)
    y = ut.ops.uttest.cube(x)
    assert "Cube" in y.grad_fn.name() and y.grad_fn._saved_tensors[0] is x
    assert ut.autograd.gradcheck(ut.ops.uttest.cube, (x,))


def test_operators_that_a_kernel_calls_are_recorded():
    x = ut.ones(2, requires_grad=True)
    assert ut.ops.uttest.scale(x, 2.0).grad_fn.name() == "MulBackward0"


def test_a_tensor_on_meta_gets_the_meta_kernel(extension):
    y = ut.ops.uttest.cube(ut.empty(3, device="meta"))
    assert y.device.type == "meta" and y.shape == (3,)
    with pytest.raises(NotImplementedError, match=r"Could not run 'uttest::only_cpu' with arguments from the 'Meta' backend.*\[CPU\]"):
        ut.ops.uttest.only_cpu(ut.empty(3, device="meta"))
    assert extension.call_cube(ut.full((2,), 2.0, dtype=ut.float64)).tolist() == [8.0, 8.0]


def test_without_a_derivative_backward_warns():
    x = ut.ones(2, dtype=ut.float64, requires_grad=True)
    y = ut.ops.uttest.only_cpu(x)
    assert y.grad_fn.name() == "WarnNotImplemented"
    with pytest.warns(UserWarning, match="uttest::only_cpu: an autograd kernel was not registered"):
        y.sum().backward()
    assert x.grad is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ut.ops.uttest.only_cpu(x.detach()).grad_fn is None


def test_python_adds_a_derivative_a_fake_kernel_and_a_vmap_rule():
    name = "uttest::plain_cube"

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    ut.library.register_autograd(name, lambda ctx, grad: 3 * ctx.saved_tensors[0] ** 2 * grad, setup_context=setup_context)
    ut.library.register_fake(name, lambda x: ut.empty_like(x))
    x = ut.rand(3, dtype=ut.float64, requires_grad=True)
    assert ut.autograd.gradcheck(ut.ops.uttest.plain_cube, (x,))
    assert ut.ops.uttest.plain_cube(ut.empty(2, device="meta")).shape == (2,)
    ut.library.register_vmap(name, lambda info, in_dims, x: (ut.ops.uttest.plain_cube(x), in_dims[0]))
    batch = ut.rand(4, 2, dtype=ut.float64)
    assert ut.equal(ut.func.vmap(ut.ops.uttest.plain_cube)(batch), ut.ops.uttest.plain_cube(batch))


def test_load_library_refuses_what_was_compiled_for_pytorch(tmp_path):
    (tmp_path / "foreign.so").write_bytes(b"\x7fELF needs libtorch_cpu.so")
    with pytest.raises(OSError, match="cannot be loaded without libtorch"):
        ut.ops.load_library(str(tmp_path / "foreign.so"))
