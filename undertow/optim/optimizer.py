"""`Optimizer`: parameter groups, state, state dicts, hooks. Subclasses define the step."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Hashable, Iterable
from copy import deepcopy
from itertools import chain
from types import MappingProxyType

import undertow
from undertow._C import Tensor
from undertow.utils.hooks import RemovableHandle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

_global_pre_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_post_hooks: OrderedDict[int, Callable] = OrderedDict()


class _Required:
    """Marker for an option that every group must specify."""

    def __repr__(self) -> str:
        return "<required parameter>"


required: _Required = _Required()


def _registered(hooks: OrderedDict, hook: Any, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before every optimizer's step; a result replaces the arguments."""
    return _registered(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after every optimizer's step."""
    return _registered(_global_post_hooks, hook)


def _number(value: Any) -> float:
    """Convert an option, which may be a one-element tensor, to a number."""
    return value.item() if isinstance(value, Tensor) else value


def _fill_in(optimizer: Optimizer, options: dict[str, Any], counters: tuple[str, ...] = ("step",)) -> None:
    """Complete a state that an older version saved: options that did not exist yet, and counters that were numbers."""
    for group in optimizer.param_groups:
        for key, value in options.items():
            group.setdefault(key, value)
        for p in group["params"]:
            state = optimizer.state.get(p) or {}
            for key in counters if state else ():
                if not isinstance(state[key], Tensor):
                    state[key] = undertow.tensor(float(state[key]), dtype=undertow.float32)


class Optimizer:
    """Base class of all optimizers: `params` are tensors, (name, tensor) pairs, or groups with their own options."""

    if TYPE_CHECKING:
        _optimizer_step_pre_hooks: OrderedDict[int, Callable[..., Any]]
        _optimizer_step_post_hooks: OrderedDict[int, Callable[..., Any]]
    # Wrappers that never call __init__ have no hooks.
    _optimizer_step_pre_hooks = _optimizer_step_post_hooks = MappingProxyType({})  # type: ignore[assignment]  # an empty one that cannot be filled

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._optimizer_step_pre_hooks = OrderedDict()
        self._optimizer_step_post_hooks = OrderedDict()
        self._optimizer_state_dict_pre_hooks: OrderedDict = OrderedDict()
        self._optimizer_state_dict_post_hooks: OrderedDict = OrderedDict()
        self._optimizer_load_state_dict_pre_hooks: OrderedDict = OrderedDict()
        self._optimizer_load_state_dict_post_hooks: OrderedDict = OrderedDict()
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got " + undertow.typename(params))
        self.state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(dict(group))

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__ and not getattr(cls.step, "hooked", False):
            cls.step = Optimizer.profile_hook_step(cls.step)  # type: ignore[method-assign]  # the same, with hooks around it

    @staticmethod
    def profile_hook_step(func: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap `func` with the step hooks."""
        import functools

        @functools.wraps(func)
        def step(*args: Any, **kwargs: Any) -> Any:
            self, *rest = args
            if not (_global_pre_hooks or _global_post_hooks or self._optimizer_step_pre_hooks or self._optimizer_step_post_hooks):
                return func(*args, **kwargs)
            for hook in (*_global_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()):
                changed = hook(self, args, kwargs)
                if changed is None:
                    continue
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(f"{func} must return None or a tuple of (new_args, new_kwargs), but got {changed}.")
                args, kwargs = changed
            out = func(*args, **kwargs)
            for hook in (*self._optimizer_step_post_hooks.values(), *_global_post_hooks.values()):
                hook(self, args, kwargs)
            return out

        step.hooked = True  # type: ignore[attr-defined]  # __init_subclass__ looks for it
        return step

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in (
            "_optimizer_step_pre_hooks",
            "_optimizer_step_post_hooks",
            "_optimizer_state_dict_pre_hooks",
            "_optimizer_state_dict_post_hooks",
            "_optimizer_load_state_dict_pre_hooks",
            "_optimizer_load_state_dict_post_hooks",
        ):
            self.__dict__.setdefault(name, OrderedDict())
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        lines = [type(self).__name__ + " ("]
        for i, group in enumerate(self.param_groups):
            lines += ["", f"Parameter Group {i}"] if i else [f"Parameter Group {i}"]
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])

    # -- groups ------------------------------------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with their own options."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will change between "
                "runs. Please use a list instead."
            )
        params = list(params)
        if any(isinstance(p, tuple) for p in params):
            if not all(isinstance(p, tuple) for p in params):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = [name for name, _ in params]
            params = [p for _, p in params]
        param_group["params"] = params
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError("optimizer can only optimize Tensors, but one of the params is " + type(param).__name__)
            if not self.defaults.get("differentiable") and not (param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        if len(params) != len(set(params)):
            import warnings

            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see github.com/pytorch/"
                "pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        seen = set(chain.from_iterable(group["params"] for group in self.param_groups))
        if not seen.isdisjoint(params):
            raise ValueError("some parameters appear in more than one parameter group")
        if self.param_groups and ("param_names" in param_group) != ("param_names" in self.param_groups[0]):
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with' if 'param_names' in param_group else 'without'} names to the optimizer"
            )
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of all parameters to None, or to zero."""
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                if set_to_none:
                    p.grad = None
                    continue
                if p.grad.grad_fn is not None:
                    p.grad.detach_()
                else:
                    p.grad.requires_grad_(False)
                p.grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters; `closure` recomputes the loss for algorithms that need it."""
        raise NotImplementedError

    def _loss_of(self, closure: Callable[[], Any] | None) -> Any:
        if closure is None:
            return None
        with undertow.enable_grad():
            return closure()

    # -- hooks -------------------------------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before step; a result replaces the arguments."""
        return _registered(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after step."""
        return _registered(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` before the state dict is created."""
        return _registered(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after the state dict is created; a result replaces it."""
        return _registered(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before a state dict is loaded; a result replaces it."""
        return _registered(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` after a state dict is loaded."""
        return _registered(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # -- state dicts -------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return the options of the groups and the state of every parameter, with parameters by number."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            packed = {k: v for k, v in group.items() if k != "params"}
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {(numbers[id(k)] if isinstance(k, Tensor) else k): v for k, v in self.state.items()}
        result = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, result)
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load options and state from a state dict; parameters are matched by order."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        from undertow._torch_bridge import is_pytorchs

        groups = self.param_groups
        saved = deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved, strict=True)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
        by_number = dict(zip(chain.from_iterable(g["params"] for g in saved), chain.from_iterable(g["params"] for g in groups), strict=True))

        def taken(param: Any, value: Any, key: Any = None) -> Any:
            if is_pytorchs(value):
                value = undertow.from_torch(value)  # a state dict of PyTorch itself
            if isinstance(value, Tensor):
                if key == "step" or not param.is_floating_point():
                    return value.clone() if key == "step" else value
                return value.to(dtype=param.dtype, device=param.device, copy=True)
            if isinstance(value, dict):
                return {k: taken(param, v, k) for k, v in value.items()}
            if isinstance(value, Iterable) and not isinstance(value, str):
                return type(value)(taken(param, v) for v in value)  # type: ignore[call-arg]  # a list, tuple or set
            return value

        state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if isinstance(key, Hashable) and key in by_number:
                state[by_number[key]] = taken(by_number[key], value)
            else:
                state[key] = value
        for group, new in zip(groups, saved, strict=True):
            new["params"] = group["params"]
            if "param_names" in group and "param_names" not in new:
                new["param_names"] = group["param_names"]
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    # -- internal methods of torch's optimizer that optimizers written for torch call ------------------------------------

    _warned_capturable_if_run_uncaptured = True

    def _cuda_graph_capture_health_check(self) -> None:
        """Do nothing: there is no graph capture."""

    _accelerator_graph_capture_health_check = _patch_step_function = _optimizer_step_code = _cuda_graph_capture_health_check

    @staticmethod
    def _group_tensors_by_device_and_dtype(tensorlistlist: list[list[Any]], with_indices: bool = False) -> dict[Any, Any]:
        """Group the lists by the device and dtype of the tensors in the first list."""
        groups: dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]] = {}
        for i, first in enumerate(tensorlistlist[0]):
            lists, indices = groups.setdefault((first.device, first.dtype), ([[] for _ in tensorlistlist], []))
            for part, whole in zip(lists, tensorlistlist, strict=True):
                if whole:
                    part.append(whole[i])
            indices.append(i)
        return groups
