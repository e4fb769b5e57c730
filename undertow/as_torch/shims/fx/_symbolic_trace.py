"""`torch.fx._symbolic_trace`: runs a module on stand-ins and records its calls."""

from __future__ import annotations

import builtins
import contextlib
import functools
import inspect
import math
from types import FunctionType as FunctionType

import undertow
from undertow import nn
from undertow.as_torch.shims.fx.graph import Graph
from undertow.as_torch.shims.fx.proxy import ParameterProxy, Proxy, Scope, TracerBase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

__all__ = ["PH", "ProxyableClassMeta", "Tracer", "symbolic_trace", "wrap"]

_orig_module_call, _orig_module_getattr = nn.Module.__call__, nn.Module.__getattr__
_wrapped_fns_to_patch: dict[tuple[int, str], dict[str, Any]] = {}
_tracing: list[Tracer] = []


class ScriptObject:
    """Objects of TorchScript. There are none."""


class PHBase:
    """A part of a concrete argument that stays an argument of the graph."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class ProxyableClassMeta(type):
    """A class whose construction from stand-ins is one call in the graph."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        found: list[Proxy] = []
        for a in (*args, *kwargs.values()):
            if isinstance(a, Proxy):
                found.append(a)
        if found:
            return found[0].tracer.create_proxy("call_function", cls, args, kwargs)
        return super().__call__(*args, **kwargs)


def wrap(fn_or_name: Any) -> Any:
    """Record calls of a function of this module as one node, instead of tracing through it."""
    frame = inspect.currentframe()
    caller = frame.f_back if frame is not None else None
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    if caller is None or caller.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    _wrapped_fns_to_patch[(id(caller.f_globals), name)] = caller.f_globals
    return fn_or_name


def compatibility(is_backward_compatible: bool) -> Callable[[Any], Any]:
    """Return a decorator that returns its function: it only documents torch's promise."""
    return lambda fn: fn


def is_fx_tracing() -> bool:
    """Return True while a module is traced."""
    return bool(_tracing)


def is_fx_symbolic_tracing() -> bool:
    """Return True while a module is traced."""
    return bool(_tracing)


def _first_proxy(values: Any) -> Proxy | None:
    for v in values:
        if isinstance(v, Proxy):
            return v
        if isinstance(v, (tuple, list)) and (inner := _first_proxy(v)) is not None:
            return inner
    return None


def _create_wrapped_func(orig_fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(orig_fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = _first_proxy((*args, *kwargs.values()))
        if proxy is not None:
            return proxy.tracer.create_proxy("call_function", orig_fn, args, kwargs)
        return orig_fn(*args, **kwargs)

    return wrapped


class _Patcher:
    """Replaced names, restored at the end of a `with` block."""

    def __init__(self) -> None:
        self._saved: list[Callable[[], Any]] = []
        self._seen: set[tuple[int, str]] = set()

    def patch(self, frame_dict: dict[str, Any], name: str, new_fn: Any, deduplicate: bool = True) -> None:
        """Replace a global."""
        if deduplicate and (id(frame_dict), name) in self._seen:
            return
        self._seen.add((id(frame_dict), name))
        if name in frame_dict:
            self._saved.append(functools.partial(frame_dict.__setitem__, name, frame_dict[name]))
        else:
            self._saved.append(functools.partial(frame_dict.pop, name, None))
        frame_dict[name] = new_fn

    def patch_method(self, cls: type, name: str, new_fn: Any, deduplicate: bool = True) -> None:
        """Replace a method."""
        if deduplicate and (id(cls), name) in self._seen:
            return
        self._seen.add((id(cls), name))
        undo = functools.partial(setattr, cls, name, getattr(cls, name)) if name in vars(cls) else functools.partial(delattr, cls, name)
        self._saved.append(undo)
        setattr(cls, name, new_fn)

    def __enter__(self) -> _Patcher:
        return self

    def __exit__(self, *error: object) -> None:
        while self._saved:
            self._saved.pop()()


def _patch_wrapped_functions(patcher: _Patcher) -> None:
    """Replace the functions that were given to `wrap`."""
    for (_, name), names in list(_wrapped_fns_to_patch.items()):
        original = names.get(name, getattr(builtins, name, None))
        if original is not None:
            patcher.patch(names, name, _create_wrapped_func(original))


def _autowrap_check(patcher: _Patcher, frame_dict: dict[str, Any], function_ids: set[int]) -> None:
    """Replace the functions among these names that are recorded as one node."""
    for name, value in list(frame_dict.items()):
        if not name.startswith("_") and callable(value) and id(value) in function_ids:
            patcher.patch(frame_dict, name, _create_wrapped_func(value))


class Tracer(TracerBase):
    """Records the calls of a module as a graph. Subclasses say what is a leaf, and may create other nodes."""

    graph: Graph
    scope: Scope
    root_module_name: str

    def __init__(self, autowrap_modules: Any = (math,), autowrap_functions: Any = (), param_shapes_constant: bool = False) -> None:
        self._autowrap_function_ids = {id(f) for m in autowrap_modules for n, f in vars(m).items() if not n.startswith("_") and callable(f)}
        self._autowrap_function_ids |= {id(f) for f in autowrap_functions}
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Any, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack: dict[str, Any] = {}
        self.tensor_attrs: dict[Any, str] = {}
        self.root: Any = None

    def create_arg(self, a: Any) -> Any:
        """Return a value as an argument; tensors become attributes of the module."""
        if isinstance(a, nn.Parameter):
            for name, p in self.root.named_parameters(remove_duplicate=False):
                if a is p:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, undertow.Tensor):
            for name, b in self.root.named_buffers(remove_duplicate=False):
                if a is b:
                    return self.create_node("get_attr", name, (), {})
        if isinstance(a, nn.Module):
            for name, m in self.root.named_modules():
                if a is m:
                    return self.create_node("get_attr", name, (), {})
        if isinstance(a, undertow.Tensor):
            name = next((n for t, n in self.tensor_attrs.items() if t is a), None)
            if name is None:
                i = 0
                while hasattr(self.root, f"_tensor_constant{i}"):
                    i += 1
                name = f"_tensor_constant{i}"
                self.tensor_attrs[a] = name
                setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        """Return True if a module is one node of the graph: those of torch.nn are."""
        module = type(m).__module__
        return module.startswith(("torch.nn", "torch.ao.nn", "undertow.nn")) and not isinstance(m, nn.Sequential)

    def path_of_module(self, mod: Any) -> str:
        """Return the name of a submodule."""
        if self.submodule_paths is not None:
            path = self.submodule_paths.get(mod)
            if path is None:
                raise NameError("module is not installed as a submodule")
            return path
        for name, m in self.root.named_modules():
            if mod is m:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(self, m: Any, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Record the call of a leaf, or trace through a module."""
        name = self.path_of_module(m)
        saved, self.scope = self.scope, Scope(name, type(m))
        self.module_stack[name] = (name, type(m))
        try:
            return forward(*args, **kwargs) if not self.is_leaf_module(m, name) else self.create_proxy("call_module", name, args, kwargs)
        finally:
            self.scope = saved
            self.module_stack.pop(name, None)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """Return an attribute of a module while it is traced: a stand-in for a parameter."""

        def found(named: Any) -> Any:
            for n, p in named:
                if attr_val is p:
                    if n not in parameter_proxy_cache:
                        factory = functools.partial(self._parameter, n, attr_val) if self.param_shapes_constant else None
                        parameter_proxy_cache[n] = self.create_proxy("get_attr", n, (), {}, proxy_factory_fn=factory)
                    return parameter_proxy_cache[n]
            return None

        if isinstance(attr_val, nn.Parameter) and (p := found(self.root.named_parameters())) is not None:
            return p
        if self.proxy_buffer_attributes and isinstance(attr_val, undertow.Tensor) and (p := found(self.root.named_buffers())) is not None:
            return p
        return attr_val

    def _parameter(self, name: str, value: Any, node: Any) -> ParameterProxy:
        return ParameterProxy(self, node, name, value)

    def create_args_for_root(self, root_fn: Callable[..., Any], is_module: bool, concrete_args: Any = None) -> tuple[Any, list[Any]]:
        """Create the arguments of the graph from the signature of the function."""
        fn = inspect.unwrap(root_fn)
        code = fn.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        names, args = list(code.co_varnames), [self.root] if is_module else []
        parameters = inspect.signature(fn).parameters
        concrete = concrete_args or {}
        if isinstance(concrete, tuple):
            concrete = dict(zip(names[is_module:], concrete, strict=False))

        def placeholder(name: str) -> Any:
            p = parameters.get(name.lstrip("*"))
            if name in concrete and concrete[name] is not PH:
                self.create_proxy("placeholder", name, () if p is None or p.default is inspect.Parameter.empty else (p.default,), {})
                return concrete[name]
            default = () if name.startswith("*") or p is None or p.default is inspect.Parameter.empty else (p.default,)
            return self.create_proxy("placeholder", name, default, {}, type_expr=fn.__annotations__.get(name))

        args += [placeholder(name) for name in names[is_module:count]]
        if code.co_kwonlyargcount or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
            if code.co_flags & inspect.CO_VARARGS:
                args.append(placeholder("*" + names[count]))
                count += 1
            if code.co_flags & inspect.CO_VARKEYWORDS:
                args.append(placeholder("**" + names[count]))
            flat = code.replace(co_flags=code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS), co_argcount=len(args), co_kwonlyargcount=0)
            fn = type(fn)(flat, fn.__globals__, fn.__name__, None, fn.__closure__)
        return fn, args

    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        """Return the graph of a module or function."""
        if isinstance(root, nn.Module):
            self.root, fn = root, getattr(type(root), self.traced_func_name)
            self.root_module_name = type(root).__name__
            self.submodule_paths = {m: name for name, m in root.named_modules()}
        else:
            self.root, fn, self.submodule_paths = nn.Module(), root, None
        self.graph = Graph(tracer_cls=type(self))
        self.tensor_attrs = _tensors_in(self.root)
        fn, args = self.create_args_for_root(fn, isinstance(root, nn.Module), concrete_args)
        cache: dict[str, Any] = {}
        with self._patched(fn, cache):
            result = fn(*args)
        self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=getattr(fn, "__annotations__", {}).get("return"))
        self.submodule_paths = None
        return self.graph

    @contextlib.contextmanager
    def _patched(self, fn: Any, cache: dict[str, Any]) -> Iterator[None]:
        original_call, original_getattr, tracer = nn.Module.__call__, nn.Module.__getattr__, self

        @functools.wraps(original_call)
        def module_call(mod: Any, *args: Any, **kwargs: Any) -> Any:
            return tracer.call_module(mod, lambda *a, **k: original_call(mod, *a, **k), args, kwargs)

        @functools.wraps(original_getattr)
        def module_getattr(mod: Any, attr: str) -> Any:
            return tracer.getattr(attr, original_getattr(mod, attr), cache)

        _tracing.append(self)
        try:
            with _Patcher() as patcher:
                patcher.patch_method(nn.Module, "__call__", module_call, deduplicate=False)
                patcher.patch_method(nn.Module, "__getattr__", module_getattr, deduplicate=False)
                _patch_wrapped_functions(patcher)
                for names in (getattr(fn, "__globals__", {}), *(vars(m) for m in self._autowrap_search)):
                    _autowrap_check(patcher, names, self._autowrap_function_ids)
                yield
        finally:
            _tracing.pop()


def _tensors_in(root: Any) -> dict[Any, str]:
    """Return the tensors that are plain attributes of modules, by name."""
    found = {}
    for prefix, m in root.named_modules():
        for name, value in vars(m).items():
            if isinstance(value, undertow.Tensor):
                found[value] = f"{prefix}.{name}" if prefix else name
    return found


def symbolic_trace(root: Any, concrete_args: dict[str, Any] | None = None) -> Any:
    """Return a GraphModule that does what a module or function does.

    >>> print(symbolic_trace(lambda x: x * 2 + 1).code.strip())
    def forward(self, x):
        mul = x * 2;  x = None
        add = mul + 1;  mul = None
        return add
    """
    from undertow.as_torch.shims.fx.graph_module import GraphModule

    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    return GraphModule(tracer.root, graph, type(root).__name__ if isinstance(root, nn.Module) else root.__name__)
