"""Make `import torch` import Undertow: a finder on sys.meta_path, and the module `torch`.

The command line is in _run.py; the messages about missing names are in undertow/_missing_names.py.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import ModuleType

import undertow
from undertow import _missing_names
from undertow.as_torch import _children, _missing_methods, _type_names
from undertow.as_torch.shims.torch_version import TorchVersion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.abc import Loader
    from types import FrameType
    from typing import Any
else:
    Loader = object  # importlib.abc takes long to import

TORCH_VERSION = "2.13.0"
_OURS = "undertow"
# Programs look for classes in `torch.optim.__dict__`, where names that are loaded on first use would be missing.
_READ_AS_DICTS = ("undertow.optim", "undertow.nn")
_SHIMS = "undertow.as_torch.shims"  # names that only torch programs need


def _our_name(torch_name: str) -> str | None:
    """Return the name of our module for a torch module: Undertow's own, or a shim; None for other modules of as_torch."""
    path = torch_name[len("torch") :]
    if path == ".as_torch" or path.startswith(".as_torch."):
        return None
    return next((root + path for root in (_OURS, _SHIMS) if _exists(root + path)), None)


def _torch_name(our_name: str) -> str:
    root = _SHIMS if our_name == _SHIMS or our_name.startswith(f"{_SHIMS}.") else _OURS
    return "torch" + our_name[len(root) :]


def _is_torchs(value: Any) -> bool:
    """Return True if `value` is one of our modules that has a torch name."""
    if not isinstance(value, ModuleType) or not value.__name__.startswith(f"{_OURS}."):
        return False
    return value.__name__.startswith(f"{_SHIMS}.") or not f"{value.__name__}.".startswith(f"{__package__}.")


def _from_shim(torch_name: str, name: str) -> Any:
    """Return a name that is missing from Undertow's module from the shim that lists it; raise AttributeError if none does."""
    ours = _SHIMS + torch_name[len("torch") :]
    if _exists(ours) and sys.modules.get(torch_name) is not sys.modules.get(ours, ...):  # a shim that is the module itself was searched already
        shim = importlib.import_module(ours)
        if name in shim.__all__:
            return getattr(shim, name)
    raise AttributeError(name)


def _part(name: str) -> Any:
    """Import a rarely needed module of this package."""
    return importlib.import_module(f"{__package__}.{name}")


def _instead(frame: Any, name: str) -> Any:
    """Return the replacement for a missing torch name in the frame that looks it up, or None if the lookup should raise."""
    if frame.f_globals.get("__name__", "").startswith("undertow."):
        return None  # our own modules import their parts in ways that begin with a failed lookup
    standin, placeholders = _part("_standin"), _part("_placeholders")
    if standin.wanted_in(frame):
        return standin.stand_in(name)
    return placeholders.mentioned(name) if placeholders.only_mentions(frame, name) else None


def _module_instead(fullname: str) -> ModuleSpec | None:
    standin, placeholders = _part("_standin"), _part("_placeholders")
    frame = standin.importing_frame(sys._getframe(2))
    if standin.wanted_in(frame):
        return standin.module_spec(fullname)
    if not placeholders.imports(frame, fullname):
        return None
    return placeholders.module_spec(fullname) if placeholders.only_mentions(frame, fullname) else None


def _test_tool(fullname: str) -> ModuleSpec | None:
    """Return the spec that loads one of PyTorch's test tools from its own file, or None."""
    if not fullname.startswith("torch.testing."):
        return None
    return _part("_torch_test_tools").spec(fullname)


def _exists(our_name: str) -> bool:
    """Return True if the module exists."""
    return our_name in sys.modules or _has_file(our_name)


@functools.cache  # programs ask for an optional part at every call (`try: from torch.distributed.tensor import DTensor`)
def _has_file(our_name: str) -> bool:
    try:
        return importlib.util.find_spec(our_name) is not None
    except ModuleNotFoundError:
        return False


def _adopt(module: ModuleType) -> ModuleType:
    """Register an undertow module under its torch name; errors about missing names then use torch's names.

    Modules found as attributes are registered too, because attribute access does not use the import system.
    """
    pending = [module]
    while pending:
        current = pending.pop()
        name = _torch_name(current.__name__)
        if _test_tool(name) is not None:
            continue
        sys.modules[name] = current
        vars(current).setdefault("__path__", [])  # so that the import system looks for missing submodules here
        if hasattr(vars(current).get("__getattr__"), "__undertow_own__"):
            continue
        _explain_missing(current, name)
        inside = current.__name__ + "."
        # Also the submodules it has loaded: importing one by its torch name would replace a function of that name (autograd.gradcheck).
        loaded = [m for n, m in list(sys.modules.items()) if n.startswith(inside) and m is not None]
        pending += [
            value
            for value in (*vars(current).values(), *loaded)
            if _is_torchs(value) and value.__name__.startswith(inside) and _torch_name(value.__name__) not in sys.modules
        ]
        if current.__name__ in _READ_AS_DICTS:
            for public in current.__all__:
                getattr(current, public)  # which stores it
    return module


def _explain_missing(module: ModuleType, torch_name: str) -> None:
    """Give the module a `__getattr__` that finds its submodules, which torch imports eagerly, or raises with the reason why a name is missing."""
    own = vars(module).get("__getattr__")

    def __getattr__(name: str) -> Any:
        if own is not None:
            try:
                value = own(name)
            except AttributeError:
                pass
            else:
                _type_names.rename_value(name, value, torch_name)
                return _adopt(value) if _is_torchs(value) else value
        if name.startswith("__"):
            raise AttributeError(f"module {torch_name!r} has no attribute {name!r}", name=name, obj=module)
        if _test_tool(f"{torch_name}.{name}") is not None:  # `from torch.testing._internal import name` asks here before it imports
            return importlib.import_module(f"{torch_name}.{name}")
        with contextlib.suppress(AttributeError):
            value = _from_shim(torch_name, name)
            return _adopt(value) if _is_torchs(value) else value
        if hasattr(module, "__path__") and not name.startswith("_") and (ours := _our_name(f"{torch_name}.{name}")) is not None:
            return _adopt(importlib.import_module(ours))
        if (instead := _instead(sys._getframe(1), f"{torch_name}.{name}")) is not None:
            return instead
        raise AttributeError(_missing_names.sentence(f"{torch_name}.{name}"), name=name, obj=module)

    __getattr__.__undertow_own__ = own  # type: ignore[attr-defined]  # where the next one looks for it
    vars(module)["__getattr__"] = __getattr__


def _make_torch() -> ModuleType:
    """Create the module `torch`: undertow's names, torch's version. Names that undertow loads lazily are copied on first use."""
    module = ModuleType("torch", undertow.__doc__)
    own = {"__name__", "__spec__", "__loader__", "__package__", "__getattr__", "__dir__", "__all__", "__builtins__", "as_torch"}
    names = vars(module)
    names.update({k: v for k, v in vars(undertow).items() if k not in own})
    names["__package__"] = "torch"
    names["torch"] = module  # torch imports itself, and some programs use torch.torch
    names["__version__"] = TorchVersion(f"{TORCH_VERSION}+undertow.{undertow.__version__}")

    def __getattr__(name: str) -> Any:
        if (name.startswith("__") and name not in ("__config__", "__future__")) or name == "as_torch":
            raise AttributeError(f"module 'torch' has no attribute {name!r}", name=name, obj=module)
        try:
            value = getattr(undertow, name) if hasattr(undertow, name) else _from_shim("torch", name)
        except AttributeError:
            ours = None if name.startswith("_") and name != "__future__" else _our_name(f"torch.{name}")
            if ours is None:
                if not _part("_standin").wanted_in(sys._getframe(1)) and (dtype := _part("_dtypes").named(name)) is not None:
                    return dtype
                if (instead := _instead(sys._getframe(1), f"torch.{name}")) is not None:
                    return instead
                raise AttributeError(_missing_names.sentence(f"torch.{name}"), name=name, obj=module) from None
            value = importlib.import_module(ours)
        if _is_torchs(value):
            _adopt(value)
        _type_names.rename_value(name, value, "torch")
        names[name] = value
        return value

    names["__getattr__"] = __getattr__
    names["__dir__"] = lambda: sorted({*names, *dir(undertow), *_part("shims").__all__} - {"as_torch"})
    return module


class _AliasLoader(Loader):
    """Returns an existing module; the import system must not change its `__spec__`."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.spec = module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        if self.spec is not None:
            module.__spec__ = self.spec  # importlib has just replaced it with the alias's spec
        if module.__name__ != "torch":
            _adopt(module)
            return
        for value in list(vars(module).values()):
            if _is_torchs(value):
                _adopt(value)


class TorchFinder:
    """Finds `torch` and `torch.*`, before any finder that could find PyTorch itself."""

    def __init__(self) -> None:
        self.torch = _make_torch()

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname == "functorch" or fullname.startswith("functorch."):  # torch's second package
            shim = f"{_SHIMS}._functorch" + (fullname[len("functorch") :] or "._package")
            if not _exists(shim):
                return self.find_spec("torch._functorch" + fullname[len("functorch") :], path, target)
            return ModuleSpec(fullname, _AliasLoader(importlib.import_module(shim)), is_package=True)
        if fullname.startswith("undertow."):
            return _renaming_spec(fullname, path, target)
        if fullname in _children.LOKY:
            return _spec_then(fullname, path, target, _children.follow_module)
        if fullname != "torch" and not fullname.startswith("torch."):
            return None
        if fullname == "torch":
            module = self.torch
        elif (tool := _test_tool(fullname)) is not None:
            return tool
        elif (ours := _our_name(fullname)) is not None:
            module = importlib.import_module(ours)
        elif (absent := _module_instead(fullname)) is not None:
            return absent
        elif _asked_by_import():
            raise ModuleNotFoundError(f"No module named {fullname!r}: {_missing_names.sentence(fullname)}", name=fullname)
        else:
            return None  # importlib.util.find_spec returns None for a missing module
        return ModuleSpec(fullname, _AliasLoader(module), origin=getattr(module, "__file__", None), is_package=hasattr(module, "__path__"))


    def find_distributions(self, context: Any = None) -> list[Any]:
        """Provide the metadata of the package torch to `importlib.metadata`, whether or not PyTorch is installed."""
        if getattr(context, "name", None) != "torch":
            return []
        from email.message import EmailMessage
        from importlib.metadata import Distribution

        class Torch(Distribution):
            version = str(self.torch.__version__)

            def read_text(self, filename: str) -> str | None:
                if filename != "METADATA":
                    return None
                message = EmailMessage()
                message["Metadata-Version"], message["Name"], message["Version"] = "2.1", "torch", self.version
                return message.as_string()

            def locate_file(self, path: Any) -> Any:
                raise FileNotFoundError(f"torch is provided by Undertow and has no file {path}")

        return [Torch()]


def _renaming_spec(fullname: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
    """Return the spec of a module of ours, whose names get torch's module names after it is loaded; see _type_names.py."""
    return None if fullname.startswith(f"{__package__}._") else _spec_then(fullname, path, target, _rename)


def _rename(module: ModuleType) -> None:
    _type_names.rename(module, _torch_name)
    parent = module.__name__.rpartition(".")[0]
    if parent != _OURS and not parent.startswith(__package__) and _torch_name(parent) in sys.modules:
        _adopt(module)  # attribute access leads to it without an import


def _spec_then(
    fullname: str, path: Sequence[str] | None, target: ModuleType | None, action: Callable[[ModuleType], None]
) -> ModuleSpec | None:
    """Return the spec that the other finders have; after the module is loaded, `action` is called with it."""
    finders = (finder for finder in sys.meta_path if not isinstance(finder, TorchFinder) and hasattr(finder, "find_spec"))
    found = next((spec for finder in finders if (spec := finder.find_spec(fullname, path, target)) is not None), None)
    if found is not None and isinstance(found.loader, SourceFileLoader):
        run = found.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            if installed():
                action(module)

        found.loader.exec_module = exec_module  # type: ignore[method-assign]
    return found


def _asked_by_import() -> bool:
    """Return True for an import statement, whose error should give the reason; False for a call of importlib.util.find_spec."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_name in ("_find_spec", "find_spec"):
        if frame.f_code.co_filename.endswith("util.py") or "importlib.util" in frame.f_code.co_filename:
            return False
        frame = frame.f_back
    return True


def _finder() -> TorchFinder | None:
    return next((f for f in sys.meta_path if isinstance(f, TorchFinder)), None)


def installed() -> bool:
    """Return True if `import torch` imports Undertow in this process."""
    return _finder() is not None


def install() -> None:
    """Make `import torch`, and imports of its submodules, import Undertow in this process and its children.

    Call it before anything imports PyTorch itself::

        undertow.as_torch.install()
        import torch, torch.nn.functional as F  # torch.Tensor is undertow.Tensor, torch.__version__ is '2.13.0+undertow…'
        undertow.as_torch.uninstall()
    """
    if installed():
        return
    present = sys.modules.get("torch")
    if present is not None:
        raise RuntimeError(
            f"as_torch.install: torch is already imported, from {getattr(present, '__file__', 'somewhere')}; "
            "call install() before anything imports torch, or run the program with python -m undertow.as_torch"
        )
    sys.meta_path.insert(0, TorchFinder())
    undertow._C._print_as("torch")
    undertow.ops._more_functions = lambda name: _part("shims.ops").find(name)
    undertow.ops._is_torchs = lambda name: _part("shims.ops").is_torchs(name)
    _type_names.install(_torch_name)
    _missing_methods.mark_tensor_methods()
    _children.follow()


def uninstall() -> None:
    """Undo `install`; modules that are already imported keep their references."""
    finder = _finder()
    if finder is None:
        return
    sys.meta_path.remove(finder)
    for name in [n for n in sys.modules if n == "torch" or n.startswith("torch.")]:
        module = sys.modules.pop(name)
        fallback: Any = vars(module).get("__getattr__")
        if hasattr(fallback, "__undertow_own__"):
            if fallback.__undertow_own__ is None:
                del vars(module)["__getattr__"]
            else:
                vars(module)["__getattr__"] = fallback.__undertow_own__
    undertow._C._print_as("undertow")
    undertow.ops._more_functions = undertow.ops._is_torchs = None
    _type_names.restore()
    _missing_methods.unmark_tensor_methods()
    _children.unfollow()
