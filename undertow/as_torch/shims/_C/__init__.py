"""Queries of torch._C that programs, mainly PyTorch's own test tools, call, with correct results for this build."""

from __future__ import annotations

import enum
import re
import sys

import undertow
from undertow import _missing_names, _settings, overrides
from undertow._tensor_methods import _disabled_torch_dispatch_impl
from undertow.as_torch.shims import _VF as _VariableFunctions
from undertow.as_torch.shims import _graph_internals
from undertow.as_torch.shims._C._dispatcher import *  # noqa: F403
from undertow.as_torch.shims._C._dispatcher import __all__ as _dispatcher_names
from undertow.utils import _python_dispatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_is_view_replay_enabled = undertow.autograd.grad_mode._is_view_replay_enabled
_set_view_replay_enabled = undertow.autograd.grad_mode._set_view_replay_enabled


def _get_privateuse1_backend_name() -> str:
    """Return the name of the custom device type; none is registered."""
    return "privateuseone"


def _get_cpu_capability() -> str:
    return undertow.backends.cpu.get_cpu_capability()


_vmap_fallback_warnings = False


def _debug_only_are_vmap_fallback_warnings_enabled() -> bool:
    """Return what `_debug_only_display_vmap_fallback_warnings` has set."""
    return _vmap_fallback_warnings


def _debug_only_display_vmap_fallback_warnings(enabled: bool) -> None:
    """Store the setting. No operator of vmap has a slow path, so nothing is ever warned about."""
    global _vmap_fallback_warnings
    _vmap_fallback_warnings = enabled


def _get_tracing_state() -> None:
    """Return None: nothing is traced."""


def _show_config() -> str:
    """Return how this build was made."""
    return undertow.__config__.show()


def _get_accelerator() -> undertow.device:
    """Return the kind of accelerator as a device, or the CPU if there is none."""
    return undertow.accelerator.current_accelerator() or undertow.device("cpu")


def _is_alias_of(self: Any, other: Any) -> bool:
    """Return True if two tensors share a storage; a tensor inside of vmap and a sparse one have none, and are only their own aliases."""
    if self is other:
        return True
    if any(undertow._C._batched_level(t) >= 0 or t.layout is not undertow.strided for t in (self, other)):
        return False
    return self.untyped_storage()._cdata == other.untyped_storage()._cdata


def _is_tracing() -> bool:
    """Return False: nothing is traced."""
    return False


def _mps_is_available() -> bool:
    """Return False: this build computes on the CPU."""
    return False


def _log_api_usage_once(name: str) -> None:
    """Do nothing: usage is not logged."""


def _are_functorch_transforms_active() -> bool:
    """Return True if vmap, grad or another transform is active."""
    levels = sys.modules.get("undertow._vmap._levels")
    return levels is not None and bool(levels._stack.levels)


def _get_default_device() -> str:
    return str(undertow.get_default_device())


class _DispatchKey(type):
    def __getattr__(cls, name: str) -> DispatchKey:
        if name.startswith("__"):
            raise AttributeError(name)
        return DispatchKey(name)


class DispatchKey(metaclass=_DispatchKey):
    """The name of a dispatch key of torch. Tables of them can be built; Undertow does not dispatch on them."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKey) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


class DispatchKeySet(frozenset):
    """A set of dispatch keys."""

    def __new__(cls, *keys: DispatchKey) -> DispatchKeySet:
        return super().__new__(cls, keys)

    def has(self, key: DispatchKey) -> bool:
        """Return True if the key is in the set."""
        return key in self


def _of_module(module: Any, name: str, torch_name: str) -> Any:
    """Return a function of a module of ours for a lookup in a part of torch._C, which is two frames up."""
    if hasattr(module, name):
        return getattr(module, name)
    from undertow.as_torch import _hook

    if (instead := _hook._instead(sys._getframe(2), torch_name)) is not None:
        return instead
    raise AttributeError(_missing_names.sentence(torch_name), name=name)


class _Layers:
    """torch._C._nn: the functions of nn.functional, and `_parse_to`, which programs call to parse arguments."""

    def __getattr__(self, name: str) -> Any:
        return _of_module(undertow.nn.functional, name, f"torch._C._nn.{name}")

    @staticmethod
    def _parse_to(*args: Any, non_blocking: bool = False, copy: bool = False, memory_format: Any = None, **named: Any) -> tuple[Any, ...]:
        """Parse the arguments of `Tensor.to`: return device, dtype, non_blocking and memory format."""
        device, dtype = named.pop("device", None), named.pop("dtype", None)
        args = (*args, *named.values())
        for at, arg in enumerate(args):
            if isinstance(arg, undertow.Tensor):
                device, dtype = arg.device, arg.dtype
            elif isinstance(arg, undertow.dtype):
                dtype = arg
            elif isinstance(arg, bool):
                non_blocking = arg
                break
            elif arg is not None and at == 0:
                device = arg
            elif arg is not None:
                raise TypeError(f"to() received an invalid combination of arguments: {arg!r} at position {at}")
        return None if device is None else undertow.device(device), dtype, non_blocking, memory_format


_nn = _Layers()


class _Prefixed:
    """torch._C._linalg, _fft and _special: the functions of a module, with its name in front of theirs."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return _of_module(getattr(undertow, self._module), name.removeprefix(f"{self._module}_"), f"torch._C._{self._module}.{name}")


_linalg, _fft, _special = _Prefixed("linalg"), _Prefixed("fft"), _Prefixed("special")


_NODE = re.compile(r"[A-Z]\w*Backward\d*|AccumulateGrad|CopySlices|Error|Identity")


class _Functions:
    """torch._C._functions: the types of the graph's nodes."""

    DelayedError, UndefinedGrad = _graph_internals.DelayedError, _graph_internals.UndefinedGrad

    def __getattr__(self, name: str) -> Any:
        if not _NODE.fullmatch(name):
            raise AttributeError(f"module 'torch._C._functions' has no attribute {name!r}")
        return undertow._C._node_type(name)


_functions = _Functions()
_autograd = _graph_internals.AutogradBindings
_WeakTensorRef = _graph_internals.WeakTensorRef
_set_cached_tensors_enabled, _is_cached_tensor = _graph_internals.set_cached_tensors_enabled, _graph_internals.is_cached_tensor
_add_cached_tensor, _remove_cached_tensor = _graph_internals.add_cached_tensor, _graph_internals.remove_cached_tensor
_stash_obj_in_tls, _get_obj_in_tls = _graph_internals.stash_obj_in_tls, _graph_internals.get_obj_in_tls
_is_key_in_tls = _graph_internals.is_key_in_tls


class _TorchFunctionState(enum.Enum):
    """Whether `__torch_function__` is called for subclasses and modes."""

    ENABLED = 0
    SUBCLASSES_DISABLED = 1
    ALL_DISABLED = 2


def _get_torch_function_state() -> _TorchFunctionState:
    disabled = undertow._C._set_overrides(overrides._DISABLED, True)
    undertow._C._set_overrides(overrides._DISABLED, disabled)
    if not disabled:
        return _TorchFunctionState.ENABLED
    modes = undertow._C._set_overrides(overrides._MODES, False)
    undertow._C._set_overrides(overrides._MODES, modes)
    silent = bool(overrides._stack.modes) and not modes
    return _TorchFunctionState.ALL_DISABLED if silent else _TorchFunctionState.SUBCLASSES_DISABLED


def _set_torch_function_state(state: _TorchFunctionState) -> None:
    undertow._C._set_overrides(overrides._DISABLED, state is not _TorchFunctionState.ENABLED)
    undertow._C._set_overrides(overrides._MODES, bool(overrides._stack.modes) and state is not _TorchFunctionState.ALL_DISABLED)


def _is_torch_function_mode_enabled() -> bool:
    """Return True if a mode is active and not disabled."""
    return _len_torch_function_stack() > 0 and _get_torch_function_state() is not _TorchFunctionState.ALL_DISABLED


def _is_torch_function_enabled() -> bool:
    """Return True if `__torch_function__` is called for subclasses."""
    return _get_torch_function_state() is _TorchFunctionState.ENABLED


def _is_torch_function_all_disabled() -> bool:
    """Return True if `__torch_function__` is called neither for subclasses nor for modes."""
    return _get_torch_function_state() is _TorchFunctionState.ALL_DISABLED


def _len_torch_function_stack() -> int:
    return len(overrides._stack.modes)


def _pop_torch_function_stack() -> Any:
    mode = overrides._stack.modes[-1]
    mode.__exit__(None, None, None)
    return mode


def _len_torch_dispatch_stack() -> int:
    return len(_python_dispatch._stack.modes)


def _get_dispatch_stack_at(index: int) -> Any:
    return _python_dispatch._stack.modes[index]


_push_on_torch_dispatch_stack = _python_dispatch._push_mode
_pop_torch_dispatch_stack = _python_dispatch._pop_mode
_DisableTorchDispatch = _python_dispatch._DisableTorchDispatch


def _get_dispatch_mode(key: Any = None) -> None:
    """Return None: there are no modes of the infrastructure, such as fake tensors."""


_get_warnAlways = undertow.is_warn_always_enabled
_get_deterministic_algorithms = undertow.are_deterministic_algorithms_enabled
_get_deterministic_algorithms_warn_only = undertow.is_deterministic_algorithms_warn_only_enabled
_get_deterministic_fill_uninitialized_memory = _settings._fills_uninitialized
_set_deterministic_fill_uninitialized_memory = _settings._set_fills_uninitialized
_parallel_info, _InferenceMode = undertow.__config__.parallel_info, undertow.inference_mode
_to_dlpack, _from_dlpack = undertow.to_dlpack, undertow.from_dlpack


def _get_cudnn_enabled() -> bool:
    from undertow.backends import cudnn

    return bool(cudnn.enabled)


def _get_mkldnn_enabled() -> bool:
    from undertow.as_torch.shims.backends import mkldnn

    return mkldnn.enabled


def _cxx_flags() -> str:
    """Return the compiler's flags: they are not recorded."""
    return ""


def _autocast_supported_devices() -> list[str]:
    return ["cpu"]


def _storage_address(tensor: Any) -> int:
    """Return the identity of a tensor's storage."""
    return tensor.untyped_storage()._cdata


def _group_tensors_by_device_and_dtype(lists: list[list[Any]], with_indices: bool = False) -> dict[Any, Any]:
    """Group parallel lists by the device and dtype of the first list's tensors; with the positions, if asked for."""
    groups: dict[Any, Any] = {}
    for at, first in enumerate(lists[0]):
        columns, indices = groups.setdefault((first.device, first.dtype), ([[] for _ in lists], []))
        for column, tensors in zip(columns, lists, strict=True):
            if tensors:
                column.append(tensors[at])
        if with_indices:
            indices.append(at)
    return groups


def _switch(*args: Any) -> None:
    """Do nothing: there is no compiler."""


_jit_set_profiling_executor = _jit_set_profiling_mode = _jit_override_can_fuse_on_cpu = _jit_override_can_fuse_on_gpu = _switch
_jit_set_texpr_fuser_enabled = _jit_set_nvfuser_enabled = _switch


has_lapack = has_spectral = True
_has_mkldnn = has_mkl = has_openmp = has_cuda = has_mps = _has_cuda = _has_mps = False
DisableTorchFunction, DisableTorchFunctionSubclass = overrides.DisableTorchFunction, overrides.DisableTorchFunctionSubclass
TensorBase = _TensorBase = undertow.Tensor
StorageBase = undertow.UntypedStorage
_TensorMeta = type  # the class of Tensor

def __getattr__(name: str) -> Any:
    if name == "_functorch":  # loads vmap
        import importlib

        return importlib.import_module(f"{__name__}._functorch")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)


__all__ = [
    *_dispatcher_names,
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "DispatchKey",
    "DispatchKeySet",
    "StorageBase",
    "TensorBase",
    "has_cuda",
    "has_lapack",
    "has_mkl",
    "has_mps",
    "has_openmp",
    "has_spectral",
    "_DisableTorchDispatch",
    "_TensorBase",
    "_TensorMeta",
    "_TorchFunctionState",
    "_VariableFunctions",
    "_WeakTensorRef",
    "_InferenceMode",
    "_autocast_supported_devices",
    "_cxx_flags",
    "_debug_only_are_vmap_fallback_warnings_enabled",
    "_debug_only_display_vmap_fallback_warnings",
    "_fft",
    "_from_dlpack",
    "_get_cudnn_enabled",
    "_get_deterministic_algorithms",
    "_get_deterministic_algorithms_warn_only",
    "_get_deterministic_fill_uninitialized_memory",
    "_get_dispatch_mode",
    "_get_mkldnn_enabled",
    "_get_warnAlways",
    "_group_tensors_by_device_and_dtype",
    "_has_mkldnn",
    "_is_torch_function_all_disabled",
    "_is_torch_function_enabled",
    "_is_view_replay_enabled",
    "_linalg",
    "_parallel_info",
    "_set_deterministic_fill_uninitialized_memory",
    "_set_view_replay_enabled",
    "_special",
    "_storage_address",
    "_to_dlpack",
    "_add_cached_tensor",
    "_are_functorch_transforms_active",
    "_disabled_torch_dispatch_impl",
    "_autograd",
    "_functions",
    "_mps_is_available",
    "_functorch",
    "_get_accelerator",
    "_get_cpu_capability",
    "_get_default_device",
    "_get_dispatch_stack_at",
    "_get_obj_in_tls",
    "_get_privateuse1_backend_name",
    "_get_torch_function_state",
    "_get_tracing_state",
    "_has_cuda",
    "_has_mps",
    "_is_alias_of",
    "_is_torch_function_mode_enabled",
    "_is_cached_tensor",
    "_is_key_in_tls",
    "_is_tracing",
    "_jit_override_can_fuse_on_cpu",
    "_jit_override_can_fuse_on_gpu",
    "_jit_set_nvfuser_enabled",
    "_jit_set_profiling_executor",
    "_jit_set_profiling_mode",
    "_jit_set_texpr_fuser_enabled",
    "_len_torch_dispatch_stack",
    "_len_torch_function_stack",
    "_log_api_usage_once",
    "_nn",
    "_pop_torch_dispatch_stack",
    "_pop_torch_function_stack",
    "_push_on_torch_dispatch_stack",
    "_remove_cached_tensor",
    "_set_cached_tensors_enabled",
    "_set_torch_function_state",
    "_show_config",
    "_stash_obj_in_tls",
]
