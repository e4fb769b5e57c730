"""`library.custom_op` and the parts registered for it. Tests with the argument `lib` also run with torch, where it is installed."""

import logging
import typing
from collections.abc import Sequence

import numpy as np
import pytest

import undertow as ut
from tests.library.both_libraries import both, fresh_namespace


def _sine(lib, **options):
    """An operator that computes with NumPy, so that only its registered parts can differentiate or batch it."""

    @lib.library.custom_op(f"{fresh_namespace()}::sine", mutates_args=(), **options)
    def sine(x: lib.Tensor, by: int = 1, *, plus: float = 0.0) -> lib.Tensor:
        return lib.from_numpy(np.sin(x.detach().numpy())) * by + plus

    return sine


@both
def test_the_operator_is_an_overload_of_a_packet(lib):
    sine = _sine(lib)
    op, ns = sine._opoverload, sine._namespace
    assert getattr(lib.ops, ns).sine.default is op and op(lib.zeros(1), plus=3).item() == 3
    assert str(op._schema) == f"{ns}::sine(Tensor x, SymInt by=1, *, float plus=0.) -> Tensor"
    assert repr(sine) == f"<CustomOpDef({ns}::sine)>" and sine._qualname == f"{ns}::sine"


@both
def test_a_derivative_sees_all_inputs_and_the_keywords(lib):
    sine = _sine(lib)
    seen = []

    def setup_context(ctx, inputs, keyword_only_inputs, output):
        seen.append((len(inputs), keyword_only_inputs, output.shape))
        ctx.save_for_backward(inputs[0])
        ctx.by = inputs[1]

    lib.library.register_autograd(sine, lambda ctx, g: (g * ctx.saved_tensors[0].cos() * ctx.by, None), setup_context=setup_context)
    x = lib.rand(3, dtype=lib.float64, requires_grad=True)
    y = sine(x, 2, plus=1.0)
    assert seen == [(2, {"plus": 1.0}, (3,))] and "GeneratedBackwardFor" in y.grad_fn.name()
    assert lib.autograd.gradcheck(lambda x: sine(x, 2), (x,)) and lib.autograd.gradgradcheck(lambda x: sine(x, 2), (x,))


@both
def test_lists_of_tensors_have_gradients(lib):
    @lib.library.custom_op(f"{fresh_namespace()}::scaled", mutates_args=())
    def scaled(xs: list[lib.Tensor], by: float) -> list[lib.Tensor]:
        return [lib.from_numpy(x.detach().numpy() * by) for x in xs]

    def setup_context(ctx, inputs, output):
        assert isinstance(inputs[0], list) and isinstance(output, list)
        ctx.by = inputs[1]

    scaled.register_autograd(lambda ctx, grads: ([g * ctx.by for g in grads], None), setup_context=setup_context)
    a, b = lib.ones(2, requires_grad=True), lib.ones(3, requires_grad=True)
    first, second = scaled([a, b], 4.0)
    (first.sum() + 2 * second.sum()).backward()
    assert a.grad.tolist() == [4.0, 4.0] and b.grad.tolist() == [8.0] * 3
    scaled.register_autograd(lambda ctx, grads: (grads[:1], None), setup_context=setup_context)
    with pytest.raises(RuntimeError, match="same structure as the inputs"):
        scaled([a, b], 4.0)[0].sum().backward()


@both
def test_needs_input_grad_has_the_structure_of_the_inputs_in_every_pass(lib):
    @lib.library.custom_op(f"{fresh_namespace()}::blend", mutates_args=())
    def blend(a: lib.Tensor, xs: list[lib.Tensor], by: float, *, plus: float = 0.0) -> lib.Tensor:
        return a + xs[0] * by + xs[1] * by + plus

    seen = []

    def backward(ctx, grad):
        seen.append(ctx.needs_input_grad)
        return grad, [None, grad], None

    blend.register_autograd(backward)
    a, b = lib.ones(2, requires_grad=True), lib.ones(2, requires_grad=True)
    y = blend(a, [lib.ones(2), b], 3.0, plus=1.0).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert seen == [(True, [False, True], False)] * 2


@both
def test_several_results_of_which_some_are_integers(lib):
    @lib.library.custom_op(f"{fresh_namespace()}::ordered", mutates_args=())
    def ordered(x: lib.Tensor) -> tuple[lib.Tensor, lib.Tensor]:
        order = np.argsort(x.detach().numpy())
        return lib.from_numpy(x.detach().numpy()[order]), lib.from_numpy(order)

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output[1])
        ctx.mark_non_differentiable(output[1])

    ordered.register_autograd(lambda ctx, g, none: lib.zeros_like(g).index_copy(0, ctx.saved_tensors[0], g), setup_context=setup_context)
    x = lib.tensor([3.0, 1.0, 2.0], dtype=lib.float64, requires_grad=True)
    values, order = ordered(x)
    assert order.tolist() == [1, 2, 0] and not order.requires_grad
    assert lib.autograd.gradcheck(lambda x: ordered(x)[0], (x,))


@both
def test_without_a_derivative_only_backward_raises(lib):
    y = _sine(lib)(lib.ones(2, requires_grad=True))
    assert y.requires_grad
    with pytest.raises(RuntimeError, match="no autograd formula was registered. Please use register_autograd to add one"):
        y.sum().backward()


@both
def test_an_operator_that_writes_counts_as_a_write_and_has_no_derivative(lib):
    @lib.library.custom_op(f"{fresh_namespace()}::inc", mutates_args={"x"})
    def inc(x: lib.Tensor, y: lib.Tensor | None = None) -> None:
        x.numpy()[:] += 1

    x = lib.zeros(2)
    before = x._version
    assert inc(x) is None and x.tolist() == [1.0, 1.0] and x._version == before + 1
    with pytest.raises(RuntimeError, match="Cannot register autograd formula for non-functional operator"):
        inc.register_autograd(lambda ctx: None)
    with pytest.raises(RuntimeError, match="Batching rule not implemented"):
        lib.func.vmap(inc)(lib.zeros(2, 2))


@both
def test_a_result_that_shares_memory_with_an_argument_raises(lib):
    @lib.library.custom_op(f"{fresh_namespace()}::same", mutates_args=())
    def same(x: lib.Tensor) -> lib.Tensor:
        return x.view(-1)

    with pytest.raises(RuntimeError, match="may not alias any inputs"):
        same(lib.ones(2))


@both
def test_meta_tensors_need_a_fake_kernel(lib):
    sine = _sine(lib)
    with pytest.raises(RuntimeError, match="There was no fake impl registered"):
        sine(lib.ones(2, device="meta"))
    sine.register_fake(lambda x, by=1, *, plus=0.0: lib.empty_like(x))
    assert sine(lib.ones(2, device="meta")).shape == (2,)
    assert lib.library.get_ctx() is None


@both
def test_kernels_by_device_and_turning_one_off(lib):
    sine = _sine(lib, device_types="cuda")
    with pytest.raises(NotImplementedError, match=r"only available for these backends: \[CUDA"):
        sine(lib.ones(1))
    sine.register_kernel("cpu")(lambda x, by=1, *, plus=0.0: x + 10)
    assert sine(lib.ones(1)).item() == 11
    with sine.set_kernel_enabled("cpu", False):
        assert sine(lib.zeros(1)).item() == 0
    assert sine(lib.ones(1)).item() == 11


@both
def test_vmap_uses_the_rule_or_one_call_for_each_sample(lib):
    sine = _sine(lib)
    x = lib.rand(3, 2)
    assert lib.allclose(lib.func.vmap(sine, 1)(x), x.sin().t())
    dims = []

    @sine.register_vmap
    def _(info, in_dims, x, by=1, *, plus=0.0):
        dims.append((info.batch_size, in_dims[0]))
        return sine(x) + 100, in_dims[0]

    assert lib.allclose(lib.func.vmap(sine)(x), x.sin() + 100) and dims == [(3, 0)]


def test_vmap_of_a_gradient_goes_through_the_registered_derivative():
    sine = _sine(ut)

    def setup_context(ctx, inputs, keyword_only_inputs, output):
        ctx.save_for_backward(inputs[0])

    sine.register_autograd(lambda ctx, g: (g * ctx.saved_tensors[0].cos(), None), setup_context=setup_context)
    x = ut.rand(3, 2)
    assert ut.allclose(ut.func.vmap(ut.func.grad(lambda x: sine(x).sum()))(x), x.cos())


@both
def test_autocast_converts_the_arguments(lib):
    @lib.library.custom_op(f"{fresh_namespace()}::copied", mutates_args=())
    def copied(x: lib.Tensor) -> lib.Tensor:
        return x.clone()

    copied.register_autocast("cpu", lib.bfloat16)
    assert copied(lib.ones(1)).dtype is lib.float32
    with lib.autocast("cpu", lib.bfloat16):
        assert copied(lib.ones(1)).dtype is lib.bfloat16 and copied(lib.ones(1, dtype=lib.float64)).dtype is lib.float64


@both
def test_an_operator_can_be_defined_again(lib):
    name = f"{fresh_namespace()}::f"
    for value in (1.0, 2.0):

        def f(x: lib.Tensor) -> lib.Tensor:
            return x + value  # noqa: B023  # called before the next value

        assert lib.library.custom_op(name, f, mutates_args=())(lib.zeros(1)).item() == value


@both
def test_a_given_schema_must_agree_with_the_named_writes(lib):
    def f(x, y):
        return x + y

    op = lib.library.custom_op(f"{fresh_namespace()}::f", f, mutates_args=(), schema="(Tensor x, Tensor y) -> Tensor")
    assert op(lib.ones(1), lib.ones(1)).item() == 2
    with pytest.raises(ValueError, match="mutates_args"):
        lib.library.custom_op(f"{fresh_namespace()}::g", mutates_args=(), schema="(Tensor(a!) x, Tensor y) -> ()")(f)


@both
def test_a_schema_is_inferred_from_every_kind_of_annotation(lib):
    tensor, dtype, device = lib.Tensor, lib.dtype, lib.device

    cpu = lib.device("cpu")

    def f(x: tensor, a: int = 3, *, b: float | None = None, c: str = "hi", d: device = cpu, e: bool = True) -> tuple[tensor, tensor]: ...

    assert lib.library.infer_schema(f, mutates_args=()) == (
        '(Tensor x, SymInt a=3, *, float? b=None, str c="hi", Device d="cpu", bool e=True) -> (Tensor, Tensor)'
    )

    def g(
        x: list[tensor], y: tensor | None, z: Sequence[float], w: list[tensor | None], n: typing.Union[int, float, bool], t: dtype | None = None
    ) -> int: ...

    expected = "g(Tensor(a0!)[] x, Tensor? y, float[] z, Tensor?[] w, Scalar n, ScalarType? t=None) -> SymInt"
    assert lib.library.infer_schema(g, mutates_args=("x",), op_name="g") == expected


@both
def test_annotations_that_no_schema_has_raise(lib):
    tensor = lib.Tensor

    def untyped(x) -> tensor: ...
    def unsupported(x: object) -> tensor: ...
    def without_result(x: tensor): ...
    def variable(*x: tensor) -> tensor: ...
    def default(x: Sequence[int] = (1, 2)) -> tensor: ...

    for function, message in (
        (untyped, "Parameter x must have a type annotation"),
        (unsupported, "Parameter x has unsupported type"),
        (without_result, "No return type annotation"),
        (variable, "do not support positional-only args, varargs"),
        (default, "unsupported default value type"),
    ):
        with pytest.raises(ValueError, match=message):
            lib.library.infer_schema(function, mutates_args=())

    def plain(x: tensor, n: int) -> tensor: ...

    with pytest.raises(ValueError, match="were not found in the custom op's signature"):
        lib.library.infer_schema(plain, mutates_args=("y",))
    with pytest.raises(ValueError, match="only Tensors or collections of Tensors can be mutated"):
        lib.library.infer_schema(plain, mutates_args=("n",))


def test_a_fake_kernel_cannot_ask_for_a_size_that_depends_on_values():
    @ut.library.custom_op(f"{fresh_namespace()}::positive", mutates_args=())
    def positive(x: ut.Tensor) -> ut.Tensor:
        return x[x > 0]

    positive.register_fake(lambda x: x.new_empty(ut.library.get_ctx().new_dynamic_size()))
    assert positive(ut.tensor([1.0, -1.0])).tolist() == [1.0]
    with pytest.raises(NotImplementedError, match="depends on values"):
        positive(ut.ones(2, device="meta"))


def test_one_kernel_for_all_operators_is_refused():
    with pytest.raises(NotImplementedError, match="TorchDispatchMode"):
        ut.library.Library("_", "IMPL").fallback(lambda op, *args: None, "CPU")


@both
def test_tensors_by_keyword_only_raise(lib):
    def plain(x: lib.Tensor, *, y: lib.Tensor) -> lib.Tensor: ...
    def several(x: lib.Tensor, *, y: list[lib.Tensor]) -> lib.Tensor: ...

    for function in (plain, several):
        with pytest.raises(NotImplementedError, match="kwarg-only Tensor args"):
            lib.library.custom_op(f"{fresh_namespace()}::f", function, mutates_args=())


@both
def test_an_operator_without_tensors_is_chosen_by_its_device(lib):
    @lib.library.custom_op(f"{fresh_namespace()}::made", mutates_args=(), device_types="cpu")
    def made(size: int, device: lib.device) -> lib.Tensor:
        return lib.ones(size)

    assert made(2, "cpu").tolist() == made(2, device="cpu").tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="made does not have a kernel registered for cuda"):
        made(2, "cuda")

    def without() -> lib.Tensor:
        return lib.ones(1)

    with pytest.raises(ValueError, match="Functions without tensor inputs are required to have a `device: torch.device` argument"):
        lib.library.custom_op(f"{fresh_namespace()}::f", without, mutates_args=(), device_types="cpu")
    for_all = lib.library.custom_op(f"{fresh_namespace()}::f", without, mutates_args=())
    assert for_all().item() == 1
    with pytest.raises(ValueError, match="Functions without tensor inputs"):
        for_all.register_kernel("cpu", without)


@both
def test_alias_sets_are_numbered_by_position(lib):
    def f(x: lib.Tensor, y: list[lib.Tensor], z: Sequence[lib.Tensor]) -> None: ...

    assert lib.library.infer_schema(f, mutates_args={"x", "z"}) == "(Tensor(a0!) x, Tensor[] y, Tensor(a2!)[] z) -> ()"


@both
def test_a_result_that_is_not_a_tensor_raises(lib):
    @lib.library.custom_op(f"{fresh_namespace()}::wrong", mutates_args=())
    def wrong(x: lib.Tensor) -> lib.Tensor:
        return 3

    with pytest.raises(RuntimeError, match="Unable to cast 3 to Tensor"):
        wrong(lib.ones(1))


@both
def test_turning_off_a_kernel_that_does_not_exist_is_logged(lib, monkeypatch):
    sine, logged = _sine(lib), []
    monkeypatch.setattr(logging.getLogger("torch._library.custom_ops"), "warning", lambda text, *args: logged.append(text % args))
    with sine.set_kernel_enabled("cuda", enabled=False):
        assert sine(lib.zeros(1)).item() == 0
    assert logged == ["Attempted to disable kernel for cuda but no kernel was registered for this device type."]


def test_a_kernel_of_a_core_operator_that_would_never_run_raises():
    library = ut.library.Library("aten", "IMPL")
    for key, kernel in (("AutocastCPU", ut.library.fallthrough_kernel), ("Conjugate", lambda x: x), ("AutogradCPU", lambda x: x)):
        with pytest.raises(NotImplementedError, match="Library.impl"):
            library.impl("sin", kernel, key)
    library.impl("sin", ut.library.fallthrough_kernel, "CPU")
    assert ut.zeros(1).sin().item() == 0
    library._destroy()
