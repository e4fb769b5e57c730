"""`library.Library`, `define` and `impl`: operators with a schema, and kernels by dispatch key. Each test also runs with torch, where it is installed."""

from __future__ import annotations

import gc
import warnings

import pytest

from tests.library.both_libraries import both, fresh_namespace

pytestmark = both


def test_a_schema_and_a_kernel_make_an_operator(lib):
    ns = fresh_namespace()
    library = lib.library.Library(ns, "DEF")
    assert library.define("scale(Tensor x, float by=2.0, *, int[] more=[1, 2]) -> Tensor") == "scale"
    seen = []

    def kernel(x, by=2.0, *, more=(1, 2)):
        seen.append((by, more))
        return x * by

    library.impl("scale", kernel, "CPU")
    op = getattr(lib.ops, ns).scale
    assert op(lib.ones(1)).item() == 2 and op.default(lib.ones(1), 3, more=(4,)).item() == 3
    assert seen == [(2.0, (1, 2)), (3.0, [4])] and type(seen[1][0]) is float
    assert str(op) == f"{ns}.scale" and str(op.default) == f"{ns}.scale.default" and op.overloads() == ["default"]
    assert str(op.default._schema) == f"{ns}::scale(Tensor x, float by=2., *, int[] more=[1, 2]) -> Tensor"


def test_arguments_are_checked_against_the_schema(lib):
    ns = fresh_namespace()
    library = lib.library.Library(ns, "DEF")
    library.define("f(Tensor x, float a, int n=1) -> Tensor")
    library.impl("f", lambda x, a, n=1: x, "CPU")
    op = getattr(lib.ops, ns).f
    for args, message in (
        ((1.0, 2.0), "Expected a value of type 'Tensor' for argument 'x' but instead found type 'float'"),
        ((lib.ones(1), "2"), "Expected a value of type 'float' for argument 'a' but instead found type 'str'"),
        ((lib.ones(1), 2.0, 1.5), "Expected a value of type 'int' for argument 'n' but instead found type 'float'"),
        ((lib.ones(1),), "missing value for argument 'a'"),
        ((lib.ones(1), 1.0, 2, 3), r"expected at most 3 argument\(s\) but received 4"),
    ):
        with pytest.raises(RuntimeError, match=message):
            op(*args)


def test_overloads_are_chosen_by_their_arguments(lib):
    ns = fresh_namespace()
    library = lib.library.Library(ns, "FRAGMENT")
    library.define("f.one(Tensor x) -> Tensor")
    library.define("f.two(Tensor x, int n) -> Tensor[]")
    library.impl("f.one", lambda x: x + 1, "CompositeImplicitAutograd")
    op = getattr(lib.ops, ns).f
    library.impl(op.two, lambda x, n: [x] * n, "CompositeImplicitAutograd")
    assert op(lib.ones(1)).item() == 2 and len(op(lib.ones(1), 3)) == 3 and op.overloads() == ["one", "two"]
    with pytest.raises(RuntimeError, match="failed to match any schema"):
        op("text")
    with pytest.raises(AttributeError, match="has no overload name 'three'"):
        op.three  # noqa: B018


def test_a_kernel_may_be_registered_before_the_operator_is_defined(lib):
    ns = fresh_namespace()
    kernels = lib.library.Library(ns, "IMPL", "CPU")
    kernels.impl("later", lambda x: x * 5)
    definitions = lib.library.Library(ns, "DEF")
    definitions.define("later(Tensor x) -> Tensor")
    assert getattr(lib.ops, ns).later(lib.ones(1)).item() == 5


def test_a_namespace_has_one_owner_and_kinds_are_checked(lib):
    ns = fresh_namespace()
    owner = lib.library.Library(ns, "DEF")
    assert repr(owner) == f"Library(kind=DEF, ns={ns}, dispatch_key=)>"
    with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY"):
        lib.library.Library(ns, "DEF")
    with pytest.raises(ValueError, match="Unsupported kind"):
        lib.library.Library(ns, "OTHER")
    with pytest.raises(ValueError, match="reserved namespace"):
        lib.library.Library("prim", "DEF")
    with pytest.raises(RuntimeError, match="Cannot define an operator inside"):
        lib.library.Library(ns, "IMPL").define("f() -> ()")
    owner.define("f(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="multiple times"):
        owner.define("f(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="only the operator name was given"):
        owner.define("f")


def test_what_a_library_registered_ends_with_it(lib):
    ns = fresh_namespace()
    library = lib.library.Library(ns, "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x + 1, "CPU")
    assert getattr(lib.ops, ns).f(lib.ones(1)).item() == 2
    library._destroy()
    del library
    gc.collect()
    with pytest.raises(AttributeError):
        getattr(lib.ops, ns).f(lib.ones(1))
    again = lib.library.Library(ns, "DEF")
    again.define("f(Tensor x) -> Tensor")
    again.impl("f", lambda x: x + 2, "CPU")
    assert getattr(lib.ops, ns).f(lib.ones(1)).item() == 3


def test_without_a_kernel_for_the_device_a_call_raises(lib):
    ns = fresh_namespace()
    lib.library.define(f"{ns}::f", "(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match=f"Could not run '{ns}::f' with arguments from the 'CPU' backend"):
        getattr(lib.ops, ns).f(lib.ones(1))
    lib.library.impl(f"{ns}::f", "cpu", lambda x: x.clone())
    assert getattr(lib.ops, ns).f(lib.ones(1)).item() == 1
    with pytest.raises(NotImplementedError, match="no fake impl or Meta kernel"):
        getattr(lib.ops, ns).f(lib.ones(1, device="meta"))


def test_define_checks_names_and_schemas(lib):
    with pytest.raises(ValueError, match="Expected `qualname` to be of the form"):
        lib.library.define("plain", "(Tensor x) -> Tensor")
    with pytest.raises(ValueError, match="expected schema to look like"):
        lib.library.define(f"{fresh_namespace()}::f", "Tensor x")
    with pytest.raises(RuntimeError, match="device type at start of device string: nothing"):
        lib.library.impl(f"{fresh_namespace()}::f", "nothing", lambda x: x)


def test_impl_and_register_fake_are_decorators(lib):
    ns = fresh_namespace()
    lib.library.define(f"{ns}::f", "(Tensor x) -> Tensor")

    @lib.library.impl(f"{ns}::f", ("cpu", "cuda"))
    def f(x):
        return x * 3

    @lib.library.register_fake(f"{ns}::f")
    def _(x):
        return x.new_empty(x.shape)

    assert getattr(lib.ops, ns).f(lib.ones(2)).tolist() == [3.0, 3.0]
    assert getattr(lib.ops, ns).f(lib.ones(2, device="meta")).shape == (2,)
    library = lib.library.Library(ns, "FRAGMENT")
    library.define("g(Tensor x) -> Tensor")

    @lib.library.impl(library, "g", "CompositeExplicitAutograd")
    def g(x):
        return x * 4

    assert getattr(lib.ops, ns).g(lib.ones(1)).item() == 4


def test_a_kernel_made_of_operators_is_differentiated_through_them(lib):
    ns = fresh_namespace()
    library = lib.library.Library(ns, "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x.sin() * 2)  # no key: it is composed of operators
    x = lib.ones(2, dtype=lib.float64, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert lib.autograd.gradcheck(getattr(lib.ops, ns).f, (x,))
    assert lib.func.vmap(getattr(lib.ops, ns).f)(lib.zeros(3, 2)).shape == (3, 2)
    dispatch = __import__(f"{lib.__name__}.utils._python_dispatch", fromlist=["TorchDispatchMode"])

    class Names(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            names.append(str(func))
            return func(*args, **(kwargs or {}))

    names: list[str] = []
    with Names():
        getattr(lib.ops, ns).f(lib.zeros(2))
    assert names[1:] == ["aten.sin.default", "aten.mul.Tensor"]  # after zeros: not the operator itself


def test_an_operator_without_a_derivative_warns_in_backward(lib):
    ns = fresh_namespace()
    library = lib.library.Library(ns, "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: lib.from_numpy(x.detach().numpy() * 2), "CPU")
    x = lib.ones(2, requires_grad=True)
    y = getattr(lib.ops, ns).f(x)
    assert y.requires_grad
    with pytest.warns(UserWarning, match="an autograd kernel was not registered"):
        y.sum().backward()
    assert x.grad is None


def test_the_kernel_of_the_autograd_key_comes_first(lib, below_autograd):
    ns = fresh_namespace()
    library = lib.library.Library(ns, "DEF")
    library.define("f(Tensor x) -> Tensor")
    op = getattr(lib.ops, ns).f

    class F(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            with below_autograd():
                return op(x)

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0].cos()

    library.impl("f", lambda x: lib.from_numpy(x.detach().sin().numpy()), "CPU")
    library.impl("f", F.apply, "Autograd")
    assert lib.autograd.gradcheck(op, (lib.rand(3, dtype=lib.float64, requires_grad=True),))


def test_an_operator_that_writes_says_so_in_its_schema(lib):
    ns = fresh_namespace()
    lib.library.define(f"{ns}::inc_", "(Tensor(a!) x, *, Tensor(b!)? out=None) -> ()")

    @lib.library.impl(f"{ns}::inc_", "cpu")
    def inc(x, *, out=None):
        x.add_(1)

    x = lib.zeros(2)
    assert getattr(lib.ops, ns).inc_(x) is None and x.tolist() == [1.0, 1.0]
    schema = getattr(lib.ops, ns).inc_.default._schema
    assert schema.is_mutable and [a.alias_info.is_write for a in schema.arguments] == [True, True] and schema.arguments[1].kwarg_only


def test_modes_and_classes_see_the_operator(lib):
    ns = fresh_namespace()
    lib.library.define(f"{ns}::f", "(Tensor x, int n=1) -> Tensor")
    lib.library.impl(f"{ns}::f", "cpu", lambda x, n=1: x * n)
    op = getattr(lib.ops, ns).f
    dispatch = __import__(f"{lib.__name__}.utils._python_dispatch", fromlist=["TorchDispatchMode"])

    class Names(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            names.append((str(func), len(args)))
            return func(*args, **(kwargs or {}))

    names: list[object] = []
    x = lib.ones(2)
    with Names():
        op(x, 3)
    assert names[0] == (f"{ns}.f.default", 2)
    lib.library.register_torch_dispatch(op.default, Names, lambda mode, func, types, args, kwargs: args[0] + 100)
    with Names():
        assert op(lib.ones(1)).item() == 101

    class Seen(lib.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func

    assert op(lib.ones(1).as_subclass(Seen)) is op


def test_vmap_calls_the_kernel_for_each_sample(lib):
    ns = fresh_namespace()
    lib.library.define(f"{ns}::f", "(Tensor x, Tensor y) -> (Tensor, Tensor)")
    shapes = []

    def kernel(x, y):
        shapes.append(tuple(x.shape))
        return lib.from_numpy(x.numpy() + y.numpy()), lib.from_numpy(x.numpy() * 2)

    lib.library.impl(f"{ns}::f", "cpu", kernel)
    total, double = lib.func.vmap(getattr(lib.ops, ns).f, (1, None))(lib.arange(6.0).reshape(2, 3), lib.ones(2))
    assert shapes == [(2,)] * 3 and total.tolist() == [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]] and double.shape == (3, 2)


@pytest.mark.filterwarnings("ignore:Warning only once")  # torch's, about the replaced kernel
def test_kernels_of_the_core_can_be_replaced_while_the_library_lives(lib):
    library = lib.library.Library("aten", "IMPL", "CPU")
    x = lib.ones(2)
    try:
        library.impl("neg", lambda x: x + 41)
        assert lib.neg(x).tolist() == [42.0, 42.0]
    finally:
        library._destroy()
    del library
    gc.collect()
    assert lib.neg(x).tolist() == [-1.0, -1.0]


def test_fallthrough_skips_a_key(lib):
    ns = fresh_namespace()
    library = lib.library.Library(ns, "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x * 2, "CPU")
    library.impl("f", lib.library.fallthrough_kernel, "Autograd")
    assert getattr(lib.ops, ns).f(lib.ones(1)).item() == 2


def test_a_missing_operator_names_itself(lib):
    ns = fresh_namespace()
    lib.library.define(f"{ns}::f", "(Tensor x) -> Tensor")
    with pytest.raises(AttributeError, match=f"'_OpNamespace' '{ns}' object has no attribute 'g'"):
        getattr(lib.ops, ns).g  # noqa: B018
    assert getattr(lib.ops, ns).f.default.name() == f"{ns}::f"


def test_impl_takes_dispatch_keys_too_and_checks_devices_at_once(lib):
    ns = fresh_namespace()
    lib.library.define(f"{ns}::f", "(Tensor x) -> Tensor")
    lib.library.impl(f"{ns}::f", "CompositeImplicitAutograd", lambda x: x * 3)
    x = lib.ones(1, requires_grad=True)
    getattr(lib.ops, ns).f(x).backward()
    assert x.grad.item() == 3
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda"):
        lib.library.impl(f"{ns}::f", "nonsense")


def test_the_older_form_of_define_is_a_decorator(lib):
    ns = fresh_namespace()
    library = lib.library.Library(ns, "DEF")

    @lib.library.define(library, "f(Tensor x)->Tensor")
    def f(x):
        return x * 5

    assert getattr(lib.ops, ns).f(lib.ones(1)).item() == f(lib.ones(1)).item() == 5


def test_a_kernel_for_another_key_than_the_librarys_raises(lib):
    ns = fresh_namespace()
    lib.library.define(f"{ns}::f", "(Tensor x) -> Tensor")
    library = lib.library.Library(ns, "IMPL", "CPU")
    with pytest.raises(RuntimeError, match="inconsistent with the dispatch key"):
        library.impl("f", lambda x: x, "Meta")
    library.impl("f", lambda x: x + 1)
    assert getattr(lib.ops, ns).f(lib.ones(1)).item() == 2


def test_an_operator_made_of_operators_takes_no_fake_kernel_and_no_other_derivative(lib):
    ns = fresh_namespace()
    lib.library.define(f"{ns}::f", "(Tensor x) -> Tensor")
    library = lib.library.Library(ns, "FRAGMENT")
    library.impl("f", lambda x: x * 3, "CompositeImplicitAutograd")
    with pytest.raises(RuntimeError, match="We should not register a meta kernel directly"):
        lib.library.register_fake(f"{ns}::f", lambda x: x)
    with pytest.raises(RuntimeError, match="We should not register a meta kernel directly"):
        library.impl("f", lambda x: x, "Meta")
    lib.library.register_autograd(f"{ns}::f", lambda ctx, g: g * 100)
    x = lib.ones(1, requires_grad=True)
    getattr(lib.ops, ns).f(x).backward()
    assert x.grad.item() == 3


def test_a_second_fake_kernel_replaces_the_first_if_it_may(lib):
    name = f"{fresh_namespace()}::f"
    lib.library.define(name, "(Tensor x) -> Tensor")
    lib.library.register_fake(name, lambda x: x.new_empty(7))
    with pytest.raises(RuntimeError, match="already has a fake impl registered at .*test_library.py"):
        lib.library.register_fake(name, lambda x: x.new_empty(8), allow_override=False)
    with pytest.warns(FutureWarning, match="renamed to `torch.library.register_fake`"):
        lib.library.impl_abstract(name, func=lambda x: x.new_empty(9))
    assert getattr(lib.ops, name.partition("::")[0]).f(lib.ones(1, device="meta")).shape == (9,)


def test_a_destroyed_library_takes_nothing_more(lib):
    library = lib.library.Library(fresh_namespace(), "DEF")
    library._destroy()
    with pytest.raises(AssertionError, match="has been destroyed"):
        library.define("f(Tensor x) -> Tensor")


def test_types_that_no_schema_has_raise(lib):
    library = lib.library.Library(fresh_namespace(), "DEF")
    for schema in ("f(Foo x) -> Tensor", "f(Tensor x) -> Foo[]"):
        with pytest.raises(RuntimeError, match="unknown type specifier"):
            library.define(schema)
    with pytest.raises(RuntimeError, match="Use `SymInt` or `int`"):
        library.define("f(int64_t x) -> Tensor")


def test_autocast_uses_the_kernel_of_its_key(lib):
    ns = fresh_namespace()
    lib.library.define(f"{ns}::f", "(Tensor x) -> Tensor")
    op = getattr(lib.ops, ns).f

    def cast(x):
        with lib.autocast("cpu", enabled=False):
            return op(x.to(lib.bfloat16))

    lib.library.impl(f"{ns}::f", "CPU", lambda x: x * 2)
    lib.library.impl(f"{ns}::f", "AutocastCPU", cast)
    with lib.autocast("cpu"):
        assert op(lib.ones(1)).dtype is lib.bfloat16
    assert op(lib.ones(1)).dtype is lib.float32
