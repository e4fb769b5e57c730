"""User-defined operators, like `torch.library`: `custom_op`, `Library`, and the functions that register an operator's parts.

An operator is a schema that can be found by name (`ops.mylib.name`), with kernels by dispatch key and an optional derivative. `_library/` has the
order in which a call uses them. Operators that a C++ library defines can be given the same parts; see `_compiled_ops.py`.
"""

from __future__ import annotations

import warnings
import weakref
from functools import partial

from undertow._library._custom_op import CustomOpDef, check_functional
from undertow._library._fake import get_ctx
from undertow._library._infer import infer_schema
from undertow._library._opcheck import OpCheckError, opcheck
from undertow._library._overload import LibraryOverload, undefine
from undertow._library._overload import define as _define
from undertow._library._parts import Parts, backend_key, fallthrough_kernel, parts_of
from undertow._library._parts import register_kernel as _register
from undertow._library._tags import as_tuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = [
    "CustomOpDef", "Library", "OpCheckError", "custom_op", "define", "fallthrough_kernel", "get_ctx", "get_kernel", "impl", "impl_abstract",
    "infer_schema", "opcheck", "register_autocast", "register_autograd", "register_fake", "register_kernel", "register_torch_dispatch",
    "register_vmap",
]  # fmt: skip

_namespaces: set[str] = set()  # that a Library of the kind DEF owns
_RESERVED = ("prim",)


def _key_name(key: Any) -> str:
    return getattr(key, "name", None) or str(key)


class Library:
    """Defines operators in a namespace, or registers kernels for operators that exist.

    `kind` is "DEF" for the only owner of a namespace, "FRAGMENT" for more definitions in it, "IMPL" for kernels. What a Library registered is removed
    when the Library is deleted.

    >>> import undertow as ut
    >>> lib = ut.library.Library("shop", "DEF")
    >>> lib.define("price(Tensor x, float tax=0.5) -> Tensor")
    'price'
    >>> lib.impl("price", lambda x, tax=0.5: x * (1 + tax), "CPU")
    >>> ut.ops.shop.price(ut.ones(2))
    tensor([1.5000, 1.5000])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: Any = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in _RESERVED and kind in ("DEF", "FRAGMENT"):
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        if kind == "DEF":
            if ns in _namespaces or ns == "aten":
                raise RuntimeError(
                    f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; use the kind FRAGMENT to define operators in several "
                    "places, or IMPL to register kernels"
                )
            _namespaces.add(ns)
        self.ns, self.kind, self.dispatch_key = ns, kind, _key_name(dispatch_key)
        self._registrations: _Registrations | None = _Registrations(ns, kind)

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define an operator, such as `name.overload(Tensor x, int n=1) -> Tensor`, and return its name."""
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        if self.kind == "IMPL":
            raise RuntimeError(f'def("{schema.partition("(")[0]}"): Cannot define an operator inside of a TORCH_LIBRARY_IMPL block.')
        op = _define(self.ns, schema, as_tuple(tags))
        self.m.defined.append(op)
        return op._opname

    @property
    def m(self) -> _Registrations:
        """What the Library registered."""
        if self._registrations is None:
            raise AssertionError("Library object has been destroyed")
        return self._registrations

    def _full_name(self, op_name: Any) -> str:
        name = op_name.name() if isinstance(op_name, LibraryOverload) or hasattr(op_name, "_overloadname") else str(op_name)
        namespace, found, _ = name.partition("::")
        if found and namespace != self.ns:
            raise RuntimeError(f"{name}: this Library registers kernels of the namespace {self.ns}")
        return (name if found else f"{self.ns}::{name}").removesuffix(".default")

    def impl(self, op_name: Any, fn: Callable[..., Any], dispatch_key: Any = "", *, with_keyset: bool = False, allow_override: bool = True) -> None:
        """Register a kernel for an operator under a dispatch key; without one, it is the kernel of all devices, and consists of operators."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        key = _key_name(dispatch_key) or self.dispatch_key or "CompositeImplicitAutograd"
        if self.dispatch_key not in ("", key):
            raise RuntimeError(
                f'impl("{op_name}", ...): Explicitly provided dispatch key ({key}) is inconsistent with the dispatch key of the enclosing '
                f"TORCH_LIBRARY_IMPL block ({self.dispatch_key}). Use another Library for this key."
            )
        name = self._full_name(op_name)
        if self.ns == "aten":
            from undertow._library._aten_kernels import replace_kernel

            self.m.undo.append(replace_kernel(name, key, fn, with_keyset))
            return
        parts = parts_of(name)
        if key == "Meta":
            _refuse_composed(parts)
        if key in parts.kernels and not allow_override:
            raise RuntimeError(
                f"This is not allowed since there's already a kernel registered from python overriding {name.partition('::')[2]}'s behavior "
                f"for {key} dispatch key and {self.ns} namespace."
            )
        _register(parts, key, fn, takes_keyset=with_keyset)
        self.m.kernels.append((parts, key))

    def fallback(self, fn: Callable[..., Any], dispatch_key: Any = "", *, with_keyset: bool = False) -> None:
        """Raise NotImplementedError unless `fn` is `fallthrough_kernel`: one kernel for all operators under a key does not exist here."""
        if self.ns != "_":
            raise RuntimeError(f'Fallback can only be registered using library fragment on the global namespace "_" but it is {self.ns}')
        if fn is not fallthrough_kernel:
            raise NotImplementedError("Library.fallback: kernels are registered for one operator; a TorchDispatchMode sees all of them")

    def _register_fake(self, op_name: Any, fn: Callable[..., Any], _stacklevel: int = 1, *, allow_override: bool = True) -> None:
        _set_fake(self._full_name(op_name), fn, allow_override)

    def _register_torch_dispatch_rule(self, op_name: Any, torch_dispatch_class: type, fn: Callable[..., Any]) -> None:
        parts_of(self._full_name(op_name)).dispatch_rules[torch_dispatch_class] = fn

    def _destroy(self) -> None:
        """Remove what this Library defined and registered."""
        if self._registrations is not None:
            self._registrations.remove()
        self._registrations = None


def _refuse_composed(parts: Parts) -> None:
    """Raise RuntimeError for an operator made of other operators: tensors without values need no kernel of its own."""
    if "CompositeImplicitAutograd" in parts.kernels:
        raise RuntimeError(
            f"We should not register a meta kernel directly to the operator '{parts.qualname}', because it has a CompositeImplicitAutograd kernel. "
            "Instead we should let the operator decompose, and ensure that we have meta kernels for the base ops that it decomposes into."
        )


def _set_fake(name: str, fn: Callable[..., Any], allow_override: bool) -> None:
    parts = parts_of(name)
    _refuse_composed(parts)
    if parts.fake is not None and not allow_override:
        code = getattr(parts.fake, "__code__", None)
        place = f" at {code.co_filename}:{code.co_firstlineno}" if code is not None else ""
        raise RuntimeError(f"register_fake(...): the operator {name} already has a fake impl registered{place}.")
    parts.fake = fn


class _Registrations:
    """What a Library registered; removed when nobody holds it any more."""

    def __init__(self, ns: str, kind: str) -> None:
        self.defined: list[LibraryOverload] = []
        self.kernels: list[tuple[Parts, str]] = []
        self.undo: list[Callable[[], None]] = []
        self.remove = weakref.finalize(self, _removed, ns, kind, self.defined, self.kernels, self.undo)
        self.remove.atexit = False


def _removed(ns: str, kind: str, defined: list[LibraryOverload], kernels: list[tuple[Parts, str]], undo: list[Callable[[], None]]) -> None:
    for parts, key in kernels:
        parts.kernels.pop(key, None)
    for op in defined:
        undefine(op)
    for remove in undo:
        remove()
    if kind == "DEF":
        _namespaces.discard(ns)


_kept: list[Library] = []  # of the functions below, which register for the rest of the program


def _library_for(qualname: str, lib: Library | None, kind: str) -> Library:
    if lib is None:
        lib = Library(_split(qualname)[0], kind)
        _kept.append(lib)
    return lib


def _split(name: str) -> tuple[str, str]:
    namespace, found, rest = name.partition("::")
    if not found or not namespace or not rest:
        raise ValueError(f'Expected `qualname` to be of the form "namespace::name", but got {name}. A name consists of both, e.g. aten::sin')
    return namespace, rest


def define(qualname: Any, schema: str, alias_analysis: str = "", *, lib: Library | None = None, tags: Any = ()) -> Any:
    """Define an operator `namespace::name` with a schema such as `(Tensor x) -> Tensor`.

    >>> import undertow as ut
    >>> ut.library.define("shop2::twice", "(Tensor x) -> Tensor")
    >>> ut.library.impl("shop2::twice", "cpu", lambda x: x * 2)
    >>> ut.ops.shop2.twice(ut.ones(1))
    tensor([2.])
    """
    if isinstance(qualname, Library):  # the older form, a decorator: define(lib, "name(Tensor x) -> Tensor")
        return partial(_define_and_impl, qualname, schema, alias_analysis)
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    name = _split(qualname)[1]
    if not schema.strip().startswith("(") or "->" not in schema:
        raise ValueError(f'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but got "{schema}"')
    _library_for(qualname, lib, "FRAGMENT").define(name + schema.strip(), tags=tags)
    return None


def _define_and_impl(library: Library, schema: str, alias_analysis: str, function: Callable[..., Any]) -> Callable[..., Any]:
    library.impl(library.define(schema, alias_analysis), function)
    return function


def _registered(register: Callable[[Any], None], function: Any) -> Any:
    register(function)
    return function


def _impl_in(library: Library, name: Any, dispatch_key: Any, function: Any) -> None:
    library.impl(name, function, dispatch_key)


def impl(qualname: Any, types: Any, func: Callable[..., Any] | None = None, *, lib: Library | None = None) -> Any:
    """Register a kernel for tensors on these device types; "default" is all of them. Without `func`, return a decorator.

    A dispatch key such as "CompositeImplicitAutograd" can be given in place of a device type.
    """
    if isinstance(qualname, Library):  # the older form: impl(lib, name, dispatch_key)
        return partial(_registered, partial(_impl_in, qualname, types, func or ""))
    keys = dict.fromkeys(_key_of(each) for each in ((types,) if isinstance(types, str) else types))

    def register(function: Callable[..., Any]) -> None:
        name = qualname if isinstance(qualname, str) else _overload(qualname).name()
        target = _library_for(name, lib, "IMPL")
        for key in keys:
            target.impl(name, function, key)

    return register if func is None else register(func)


def _key_of(device_type: str) -> str:
    """Return the dispatch key of a device type, or the key itself. A device type is written in small letters."""
    if device_type == "default":
        return "CompositeExplicitAutograd"
    return device_type if device_type[:1].isupper() else backend_key(device_type)


def custom_op(
    name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: Any, device_types: Any = None, schema: str | None = None, tags: Any = None
) -> Any:
    """Make a function an operator with the name `namespace::name`; without `fn`, return a decorator.

    The schema comes from the function's annotations, unless it is given. Results must not share memory with arguments.

    >>> import undertow as ut
    >>> @ut.library.custom_op("demo::double", mutates_args=())
    ... def double(x: ut.Tensor) -> ut.Tensor:
    ...     return x * 2
    >>> ut.ops.demo.double(ut.ones(2))
    tensor([2., 2.])
    """
    namespace, rest = _split(name)

    def made(fn: Callable[..., Any]) -> CustomOpDef:
        op = CustomOpDef(namespace, rest, schema or infer_schema(fn, mutates_args=mutates_args, tags=tags), fn, tags)
        op.register_kernel(device_types, fn)
        return op

    if schema is not None and mutates_args != "unknown":
        from undertow._aten._schema import FunctionSchema

        written = {a.name for a in FunctionSchema(namespace, rest + schema).arguments if a.alias_info is not None and a.alias_info.is_write}
        if written != set(mutates_args):
            raise ValueError(
                f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema={schema}`, "
                f"which is not what the schema says: the op mutates {written}"
            )
    return made if fn is None else made(fn)


def _overload(op: Any) -> LibraryOverload:
    """Return the overload that a name, an operator or a CustomOpDef stands for."""
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if isinstance(op, LibraryOverload):
        return op
    if isinstance(op, str):
        found = named(op)
        if found is None:
            raise ValueError(f"no operator {op!r}; create it with custom_op or define")
        return found
    raise ValueError(f"got unexpected type for op: {type(op)}")


def named(name: str) -> LibraryOverload | None:
    """Return the overload `ns::name` or `ns::name.overload` that Python or a C++ library defined, or None."""
    from undertow.ops import _find_packet

    base, _, overload = name.partition(".")
    packet = _find_packet(base)
    return None if packet is None else packet._made.get(overload or "default")


def _parts(op: Any) -> Parts:
    """Return the parts of an operator; one given by name may be defined later."""
    if isinstance(op, str):
        _split(op)
        return parts_of(op.removesuffix(".default"))
    return _overload(op).parts


def register_fake(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None, _stacklevel: int = 1, allow_override: bool = True) -> Any:
    """Register the function for tensors without values, on the device "meta"; without `func`, return a decorator."""
    if func is None:
        return lambda f: register_fake(op, f, lib=lib, allow_override=allow_override)
    _set_fake(_parts(op).qualname, func, allow_override)
    return func


def impl_abstract(qualname: Any, func: Callable[..., Any] | None = None, *, lib: Any = None, _stacklevel: int = 1) -> Any:
    """Register the function for tensors without values; the older name of `register_fake`."""
    what = "`torch.library.impl_abstract` was renamed to `torch.library.register_fake`. Please use that instead; we will remove "
    warnings.warn(what + "`torch.library.impl_abstract` in a future version of PyTorch.", FutureWarning, stacklevel=2)
    return register_fake(qualname, func, lib=lib)


def register_kernel(op: Any, device_types: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None) -> Any:
    """Register the function for tensors on these device types; None means all. Without `func`, return a decorator."""
    if isinstance(op, CustomOpDef):
        return op.register_kernel(device_types, func)
    if func is None:
        return lambda f: register_kernel(op, device_types, f)
    for device in [device_types] if device_types is None or isinstance(device_types, str) else device_types:
        _register(_parts(op), "CompositeExplicitAutograd" if device is None else backend_key(device), func)
    return func


def register_autograd(op: Any, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None, lib: Any = None) -> None:
    """Register the derivative: `backward(ctx, *grads)`, which uses what `setup_context(ctx, inputs, output)` saved."""
    found = _overload(op)
    check_functional(op, found)
    found.parts.set_derivative(backward, setup_context)


def register_vmap(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None) -> Any:
    """Register the rule for `vmap`: `func(info, in_dims, *args)` returns the result and its batch dimension."""
    if func is None:
        return lambda f: register_vmap(op, f)
    _overload(op).parts.vmap = func
    return func


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Any = None) -> Any:
    """Let autocast convert the operator's floating point arguments to this dtype."""
    _overload(op).parts.autocast[device_type] = cast_inputs
    return cast_inputs


def register_torch_dispatch(op: Any, torch_dispatch_class: type, func: Callable[..., Any] | None = None, /, *, lib: Any = None) -> Any:
    """Register what a class with a `__torch_dispatch__`, of a mode or of tensors, does for an operator."""
    if func is None:
        return lambda f: register_torch_dispatch(op, torch_dispatch_class, f)
    _parts(op).dispatch_rules[torch_dispatch_class] = func
    return func


def get_kernel(op: Any, dispatch_key: Any) -> Callable[..., Any]:
    """Return the kernel that is registered for an operator under a dispatch key."""
    found, key = _overload(op), _key_name(dispatch_key)
    if key not in found.parts.kernels:
        raise RuntimeError(f"No kernel found for dispatch key {key} for operator {found.name()}")
    return found.parts.kernels[key]
