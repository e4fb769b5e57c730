"""`library.opcheck`: does what is registered for an operator fit its schema, its fake kernel and its derivative?"""

from __future__ import annotations

import undertow
from undertow import _C
from undertow._aten import tensors_in
from undertow._library._fake import DynamicSizes, known_sizes
from undertow._library._overload import LibraryOverload
from undertow._library._parts import backend_key
from undertow._ops import OpOverload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


class OpCheckError(Exception):
    """A test of `opcheck` failed."""


def _mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_mapped(v, function) for v in value)
    if isinstance(value, dict):
        return {k: _mapped(v, function) for k, v in value.items()}
    return function(value) if isinstance(value, _C.Tensor) else value


def _copied(arguments: Any) -> Any:
    """Return copies of the tensors that can be written to and differentiated separately."""
    return _mapped(arguments, lambda t: t.detach().clone().requires_grad_(t.requires_grad))


def _results(result: Any) -> list[Any]:
    return list(tensors_in(result if isinstance(result, (list, tuple)) else (result,)))


def _memory(t: Any) -> int:
    return t.untyped_storage().data_ptr()


def _test_schema(op: OpOverload, args: Any, kwargs: Any) -> None:
    args, kwargs = _copied((args, kwargs))
    with undertow.no_grad():
        given = op._schema.bind(args, kwargs)
        before = _mapped(given, lambda t: t.detach().clone())
        results = _results(op(*args, **kwargs))
    aliased = {_memory(t) for a in op._schema.arguments if a.alias_info is not None for t in tensors_in((given[a.name],))}
    for argument in op._schema.arguments:
        alias = argument.alias_info
        for old, new in zip(tensors_in((before[argument.name],)), tensors_in((given[argument.name],)), strict=True):
            if not (alias is not None and alias.is_write) and not undertow.allclose(old, new, rtol=0, atol=0, equal_nan=True):
                raise RuntimeError(f"Argument {argument.name} is not defined as mutable but was mutated")
            if alias is None and any(_memory(r) == _memory(new) and _memory(new) not in aliased for r in results if r.numel()):
                raise RuntimeError(f"Argument {argument.name} is not defined to alias output but was aliasing")


def _test_autograd_registration(op: OpOverload, args: Any, kwargs: Any) -> None:
    tensors = list(tensors_in((*args, *kwargs.values())))
    if not isinstance(op, LibraryOverload) or op.is_custom or op.parts.backward is not None or not any(t.requires_grad for t in tensors):
        return
    device = tensors[0].device.type
    if op._is_composed(device) or op.parts.kernel("Autograd", f"Autograd{backend_key(device)}") is not None:
        return
    args, kwargs = _copied((args, kwargs))
    given = list(tensors_in((*args, *kwargs.values())))
    if any(r.requires_grad and not any(r is t for t in given) for r in _results(op._run_seen(op._schema.bind(args, kwargs)))):
        raise AssertionError(
            f"{op.name()} does not have an autograd kernel, but its results require grad, because its kernel uses operators that have one. "
            "Register a derivative with library.register_autograd, or the kernel under the key CompositeImplicitAutograd."
        )


def _test_faketensor(op: OpOverload, args: Any, kwargs: Any) -> None:
    args, kwargs = _copied((args, kwargs))

    def faked(sizes: DynamicSizes) -> list[Any]:
        with known_sizes(sizes):
            found = _results(op(*_mapped(args, lambda t: t.to("meta")), **_mapped(kwargs, lambda t: t.to("meta"))))
        if len(found) != len(results):
            raise AssertionError(f"{op.name()}: the fake kernel returns {len(found)} tensors, the kernel {len(results)}")
        return found

    with undertow.no_grad():
        given = _mapped((args, kwargs), lambda t: t.clone())
        results = _results(op(*given[0], **given[1]))
        sizes = DynamicSizes()
        fakes = faked(sizes)
        if sizes.asked:  # their values follow from the shapes of the results; with them the fake kernel can be compared
            fakes = faked(sizes.read_from(op.name(), [f.shape for f in fakes], [r.shape for r in results]))
    for fake, real in zip(fakes, results, strict=True):
        for what in ("shape", "dtype", "layout"):
            if getattr(fake, what) != getattr(real, what):
                raise AssertionError(
                    f"{op.name()}: the fake kernel's result has the {what} {getattr(fake, what)}, the kernel's {getattr(real, what)}"
                )
        if fake.stride() != real.stride() and not sizes.asked:  # the layout may depend on values too, as that of nonzero
            raise AssertionError(f"{op.name()}: the fake kernel's result has strides {fake.stride()}, the kernel's {real.stride()}")


def _test_derivative(op: OpOverload, args: Any, kwargs: Any) -> None:
    """Two calls with the same random numbers, and their backward passes, give the same."""
    found = []
    state = undertow.get_rng_state()
    for _ in range(2):
        undertow.set_rng_state(state)
        own_args, own_kwargs = _copied((args, kwargs))
        leaves = [t for t in tensors_in((*own_args, *own_kwargs.values())) if t.requires_grad]
        inputs = _mapped((own_args, own_kwargs), lambda t: t.clone() if t.requires_grad else t)
        results = _results(op(*inputs[0], **inputs[1]))
        sources = [r for r in results if r.requires_grad]
        grads = undertow.autograd.grad(sources, leaves, [undertow.ones_like(r) for r in sources], allow_unused=True) if sources and leaves else ()
        found.append((results, [g for g in grads if g is not None]))
    for first, second in zip(*found, strict=True):
        undertow.testing.assert_close(first, second)
    _test_faketensor(op, args, kwargs)


_TESTS: dict[str, Callable[..., None]] = {
    "test_schema": _test_schema,
    "test_autograd_registration": _test_autograd_registration,
    "test_faketensor": _test_faketensor,
    "test_aot_dispatch_static": _test_derivative,
    "test_aot_dispatch_dynamic": _test_derivative,
}
_DEFAULT = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


def _tested(op: Any) -> OpOverload:
    """Return the overload that is tested: of a packet, the only one."""
    from undertow._library._custom_op import CustomOpDef
    from undertow._library._overload import LibraryPacket

    if isinstance(op, LibraryPacket):
        overloads = op.overloads()
        if len(overloads) != 1:
            several = f"Got the following overloads for {op._qualified_op_name}: {overloads}; pass one of them"
            raise RuntimeError(f"opcheck can only test operators without overloads. {several}")
        return getattr(op, overloads[0])
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if not isinstance(op, OpOverload):
        raise ValueError(f"opcheck(op, ...): op must be instance of torch._ops.OpOverload, e.g. torch.ops.aten.sin.default, got {type(op)}")
    return op


def opcheck(
    op: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, *, test_utils: str | Sequence[str] = _DEFAULT, raise_exception: bool = True,
    atol: float | None = None, rtol: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Test what is registered for an operator on these arguments, and return the outcome of each test.

    `test_schema`: it writes only where the schema says so. `test_autograd_registration`: it has a derivative. `test_faketensor`: its fake kernel
    returns the right shapes and dtypes. `test_aot_dispatch_*`: results and gradients do not change from call to call. Whether
    the derivative is right, `autograd.gradcheck` tests.

    >>> import undertow as ut
    >>> @ut.library.custom_op("demo::third", mutates_args=())
    ... def third(x: ut.Tensor) -> ut.Tensor:
    ...     return x / 3
    >>> ut.library.opcheck(third, (ut.ones(2),), test_utils="test_schema")
    {'test_schema': 'SUCCESS'}
    """
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    if unknown := set(names) - set(_TESTS):
        raise ValueError(f"opcheck(op, ...): expected test_utils to be subset of {sorted(_TESTS)} but got {sorted(unknown)}")
    found, outcomes = _tested(op), {}
    for name in names:
        try:
            _TESTS[name](found, args, kwargs or {})
            outcomes[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)") from error
            outcomes[name] = error  # type: ignore[assignment]  # the error itself is the outcome
    return outcomes
