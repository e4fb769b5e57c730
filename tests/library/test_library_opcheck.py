"""`library.opcheck` finds operators whose schema, fake kernel or derivative is not right. Every test also runs with torch, where it is installed."""

import pytest

from tests.library.both_libraries import both, fresh_namespace

pytestmark = both
ALL = ("test_schema", "test_autograd_registration", "test_faketensor")


def _operator(lib, kernel, fake, schema="(Tensor x) -> Tensor"):
    name = f"{fresh_namespace()}::f"
    lib.library.define(name, schema)
    lib.library.impl(name, "cpu", kernel)
    lib.library.register_fake(name, fake)
    return getattr(lib.ops, name.partition("::")[0]).f.default


def _outcomes(lib, op, x):
    found = lib.library.opcheck(op, (x,), test_utils=ALL, raise_exception=False)
    return [name for name, outcome in found.items() if outcome != "SUCCESS"]


def test_an_operator_that_is_right_succeeds(lib):
    op = _operator(lib, lambda x: x.clone(), lambda x: lib.empty_like(x))
    assert lib.library.opcheck(op, (lib.ones(2),), test_utils=ALL) == dict.fromkeys(ALL, "SUCCESS")


def test_a_write_that_the_schema_does_not_name_fails(lib):
    assert "test_schema" in _outcomes(lib, _operator(lib, lambda x: x.add_(1).clone(), lambda x: lib.empty_like(x)), lib.ones(2))


def test_a_missing_derivative_fails(lib):
    op = _operator(lib, lambda x: x * 2, lambda x: lib.empty_like(x))  # differentiated through its operators, which torch deprecates
    assert "test_autograd_registration" in _outcomes(lib, op, lib.ones(2, requires_grad=True))
    assert "test_autograd_registration" not in _outcomes(lib, op, lib.ones(2))


def test_a_fake_kernel_with_another_shape_or_dtype_fails(lib):
    for fake in (lambda x: x.new_empty(3), lambda x: lib.empty_like(x, dtype=lib.float64), lambda x: x.new_empty(4, 4).t()):
        assert _outcomes(lib, _operator(lib, lambda x: x.clone(), fake), lib.ones(4, 4)) == ["test_faketensor"]


def test_an_unknown_test_raises(lib):
    with pytest.raises(ValueError, match="test_utils"):
        lib.library.opcheck(_operator(lib, lambda x: x.clone(), lambda x: lib.empty_like(x)), (lib.ones(1),), test_utils="test_nothing")


def test_results_and_gradients_are_compared_from_call_to_call(lib):
    calls = []

    @lib.library.custom_op(f"{fresh_namespace()}::changing", mutates_args=())
    def changing(x: lib.Tensor, counts: bool) -> lib.Tensor:
        calls.append(x)
        return x + (len(calls) if counts else lib.rand(2))

    changing.register_fake(lambda x, counts: lib.empty_like(x))
    changing.register_autograd(lambda ctx, g: (g, None))
    x = lib.ones(2, requires_grad=True)
    assert set(lib.library.opcheck(changing, (x, False)).values()) == {"SUCCESS"}  # random numbers are the same in both calls
    with pytest.raises(Exception, match="test_aot_dispatch_dynamic failed"):
        lib.library.opcheck(changing, (x, True))


def test_a_packet_stands_for_its_only_overload(lib):
    op = _operator(lib, lambda x: x.clone(), lambda x: lib.empty_like(x))
    namespace = op.name().partition("::")[0]
    packet = getattr(lib.ops, namespace).f
    assert lib.library.opcheck(packet, (lib.ones(2),), test_utils="test_schema") == {"test_schema": "SUCCESS"}
    lib.library.define(f"{namespace}::f.more", "(Tensor x, Tensor y) -> Tensor")
    with pytest.raises(RuntimeError, match="opcheck can only test operators without overloads"):
        lib.library.opcheck(packet, (lib.ones(2),), test_utils="test_schema")
    for other in (lib.add, f"{namespace}::f"):
        with pytest.raises(ValueError, match="op must be instance of torch._ops.OpOverload"):
            lib.library.opcheck(other, (lib.ones(2),), test_utils="test_schema")


def test_a_size_that_depends_on_values_is_compared_with_the_result(lib):
    def made(columns, smallest=0):
        @lib.library.custom_op(f"{fresh_namespace()}::places", mutates_args=())
        def places(x: lib.Tensor) -> lib.Tensor:
            return x.nonzero()

        def fake(x):
            return x.new_empty((lib.library.get_ctx().new_dynamic_size(min=smallest), columns), dtype=lib.int64)

        places.register_fake(fake)
        return places

    x = lib.tensor([0.0, 1.0, 1.0])
    assert set(lib.library.opcheck(made(1), (x,)).values()) == {"SUCCESS"}
    assert lib.library.opcheck(made(2), (x,), raise_exception=False, test_utils="test_faketensor") != {"test_faketensor": "SUCCESS"}


def test_operators_of_the_core_can_be_tested(lib):
    for op in (lib.ops.aten.sin.default, lib.ops.aten.sin_.default):
        assert set(lib.library.opcheck(op, (lib.rand(3),)).values()) == {"SUCCESS"}
