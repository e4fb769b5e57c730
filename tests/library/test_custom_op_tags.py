"""Operators tagged `inplace` or `out`, which return the arguments that they write to, and other operators that write."""

import pytest

import undertow as ut
from tests.library.both_libraries import both, fresh_namespace


def _adding(lib, **options):
    """An operator that adds a number in place and returns its argument."""

    @lib.library.custom_op(f"{fresh_namespace()}::add_", mutates_args=("x",), tags=lib.Tag.inplace, **options)
    def add_(x: lib.Tensor, y: float) -> lib.Tensor:
        x.add_(y)
        return x

    return add_


def _adding_to(lib):
    @lib.library.custom_op(f"{fresh_namespace()}::add_out", mutates_args=("out",), tags=(lib.Tag.out,))
    def add_out(x: lib.Tensor, y: float, *, out: lib.Tensor) -> lib.Tensor:
        lib.add(x, y, out=out)
        return out

    return add_out


@both
def test_an_operator_tagged_inplace_returns_its_argument(lib):
    add_ = _adding(lib)
    x = lib.ones(2)
    version = x._version
    assert add_(x, 2.0) is x and x.tolist() == [3, 3] and x._version > version
    assert str(add_._opoverload._schema).endswith("(Tensor(a0!) x, float y) -> Tensor(a0!)")
    assert lib.Tag.inplace in add_._opoverload.tags and lib.Tag.pt2_compliant_tag in add_._opoverload.tags
    on_meta = lib.ones(2, device="meta")
    assert add_(on_meta, 2.0).shape == (2,)  # without a fake kernel


@both
def test_an_operator_tagged_out_returns_what_it_wrote(lib):
    add_out = _adding_to(lib)
    out = lib.empty(2)
    assert add_out(lib.ones(2), 2.0, out=out) is out and out.tolist() == [3, 3]
    assert str(add_out._opoverload._schema).endswith("(Tensor x, float y, *, Tensor(a2!) out) -> Tensor(a2!)")

    @lib.library.custom_op(f"{fresh_namespace()}::both", mutates_args=("a", "b"), tags=lib.Tag.out)
    def two(x: lib.Tensor, *, a: lib.Tensor, b: lib.Tensor) -> tuple[lib.Tensor, lib.Tensor]:
        return a.copy_(x), b.copy_(x)

    a, b = lib.empty(1), lib.empty(1)
    first, second = two(lib.ones(1), a=a, b=b)
    assert first is a and second is b and a.item() == b.item() == 1
    assert two(lib.ones(1, device="meta"), a=lib.empty(1, device="meta"), b=lib.empty(1, device="meta"))[1].shape == (1,)


@both
def test_a_tagged_operator_that_returns_something_else_raises(lib):
    @lib.library.custom_op(f"{fresh_namespace()}::wrong_", mutates_args=("x",), tags=lib.Tag.inplace)
    def wrong_(x: lib.Tensor) -> lib.Tensor:
        return x + 1

    with pytest.raises(RuntimeError, match="tagged with torch.Tag.inplace must return its first argument"):
        wrong_(lib.ones(1))

    @lib.library.custom_op(f"{fresh_namespace()}::wrong_out", mutates_args=("out",), tags=lib.Tag.out)
    def wrong_out(x: lib.Tensor, *, out: lib.Tensor) -> lib.Tensor:
        return x + 1

    with pytest.raises(RuntimeError, match="tagged with torch.Tag.out must return its mutable keyword-only arguments"):
        wrong_out(lib.ones(1), out=lib.ones(1))


@both
def test_a_derivative_of_a_tagged_operator_raises(lib):
    x = lib.ones(2, requires_grad=True)
    result = _adding(lib)(x.clone(), 1.0)
    assert result.requires_grad
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        result.sum().backward()
    for op in (_adding(lib), _adding_to(lib)):
        with pytest.raises(RuntimeError, match="Cannot register autograd formula for"):
            op.register_autograd(lambda ctx, g: g)


@both
def test_functions_that_do_not_fit_their_tag_raise(lib):
    def make(tag, writes, function):
        return lib.library.custom_op(f"{fresh_namespace()}::f", mutates_args=writes, tags=tag)(function)

    def plain(x: lib.Tensor) -> lib.Tensor: ...
    def no_result(x: lib.Tensor) -> None: ...
    def positional(x: lib.Tensor, out: lib.Tensor) -> lib.Tensor: ...
    def keyword(x: lib.Tensor, *, out: lib.Tensor) -> lib.Tensor: ...
    def several(x: lib.Tensor, *, out: list[lib.Tensor]) -> lib.Tensor: ...

    with pytest.raises(ValueError, match="requires mutates_args to contain exactly the first positional argument"):
        make(lib.Tag.inplace, (), plain)
    with pytest.raises(ValueError, match="requires mutates_args to contain exactly the first positional argument"):
        make(lib.Tag.inplace, ("x", "out"), positional)
    with pytest.raises(ValueError, match="requires the return annotation to be"):
        make(lib.Tag.inplace, ("x",), no_result)
    with pytest.raises(ValueError, match="requires mutable arguments to be keyword-only"):
        make(lib.Tag.out, ("out",), positional)
    with pytest.raises(ValueError, match="at least one mutable keyword-only Tensor"):
        make(lib.Tag.out, (), plain)
    with pytest.raises(ValueError, match="only supports mutable keyword-only Tensor"):
        make(lib.Tag.out, ("out",), several)
    with pytest.raises(AssertionError, match="mutually exclusive"):
        make((lib.Tag.out, lib.Tag.inplace), ("out",), keyword)


@both
@pytest.mark.parametrize(
    ("tag", "schema", "message"),
    [
        ("inplace", "f(*, Tensor(a!) x) -> Tensor(a!)", "must have at least one positional argument"),
        ("inplace", "f(Tensor x) -> Tensor", "requires the first positional argument to be mutable"),
        ("inplace", "f(Tensor(a!)[] x) -> Tensor(a!)", "requires the first positional argument to be a Tensor"),
        ("inplace", "f(Tensor(a!) x) -> ()", "must return exactly one value"),
        ("inplace", "f(Tensor(a!) x) -> Tensor", "must return"),
        ("inplace", "f(Tensor(a!) x, Tensor(b!) y) -> Tensor(a!)", "must only mutate the first positional argument"),
        ("out", "f(Tensor x) -> Tensor", "must have at least one mutable argument"),
        ("out", "f(Tensor(a!) x) -> Tensor(a!)", "keyword-only"),
        ("out", "f(*, Tensor(a!)[] x) -> Tensor(a!)", "only supports Tensor mutable arguments"),
        ("out", "f(Tensor x, *, Tensor(a!) out) -> ()", "must return all mutable arguments"),
        ("out", "f(Tensor x, *, Tensor(a!) out, Tensor(b!) o) -> (Tensor(b!), Tensor(a!))", "must alias mutable arg 'out'"),
    ],
)
def test_schemas_that_do_not_fit_their_tag_raise(lib, tag, schema, message):
    with pytest.raises(ValueError, match=message):
        lib.library.Library(fresh_namespace(), "DEF").define(schema, tags=lib.Tag[tag] if lib is ut else getattr(lib.Tag, tag))


@both
def test_the_kernel_of_an_operator_that_writes_runs_below_autograd(lib):
    @lib.library.custom_op(f"{fresh_namespace()}::triple", mutates_args=("x",))
    def triple(x: lib.Tensor) -> None:
        assert not lib.is_grad_enabled()
        x.mul_(3)

    leaf = lib.ones(2, requires_grad=True)
    triple(leaf)  # so that it may write to a leaf
    assert leaf.tolist() == [3, 3] and leaf._version > 0
    assert triple(lib.ones(2, device="meta")) is None


@both
def test_an_operator_that_writes_and_returns_has_no_silent_gradient(lib):
    @lib.library.custom_op(f"{fresh_namespace()}::counted", mutates_args=("count",))
    def counted(count: lib.Tensor, x: lib.Tensor) -> lib.Tensor:
        count.add_(1)
        return x * 2

    result = counted(lib.zeros(1), lib.ones(2, requires_grad=True))
    assert result.requires_grad
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        result.sum().backward()


@both
def test_a_given_schema_may_say_that_the_result_is_a_view(lib):
    @lib.library.custom_op(f"{fresh_namespace()}::flat", mutates_args=(), schema="(Tensor(a) x) -> Tensor(a)")
    def flat(x):
        return x.view(-1)

    x = lib.ones(2, 2)
    assert flat(x)._base is x
