"""Reverse-mode differentiation: backward and grad, the graph, and the modes of recording."""

from undertow._C import SavedTensor, _pop_saved_tensors_default_hooks, _push_saved_tensors_default_hooks
from undertow._C import _is_multithreading_enabled as is_multithreading_enabled
from undertow.autograd import anomaly_mode, forward_ad, function, grad_mode, graph, variable
from undertow.autograd._backward import _make_grads, backward, grad
from undertow.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from undertow.autograd.function import Function, NestedIOFunction
from undertow.autograd.grad_mode import (
    _unsafe_preserve_version_counter,
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from undertow.autograd.gradcheck import gradcheck, gradgradcheck
from undertow.autograd.graph import _engine_run_backward
from undertow.autograd.variable import Variable

__all__ = [
    "Function",
    "NestedIOFunction",
    "SavedTensor",
    "Variable",
    "_engine_run_backward",
    "_make_grads",
    "_pop_saved_tensors_default_hooks",
    "_push_saved_tensors_default_hooks",
    "_unsafe_preserve_version_counter",
    "anomaly_mode",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "enforce_grad_layout_policy",
    "explain_grad",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "is_multithreading_enabled",
    "no_grad",
    "profiler",
    "saved_tensors_report",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "variable",
]

# Tools that watch a graph; loaded when asked for.
_LAZY = {"explain_grad": "_explain", "saved_tensors_report": "_saved_report"}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in ("functional", "profiler"):
        return import_module(f"undertow.autograd.{name}")
    if name in _LAZY:
        value = globals()[name] = getattr(import_module(f"undertow.autograd.{_LAZY[name]}"), name)
        return value
    raise AttributeError(f"module 'undertow.autograd' has no attribute {name!r}")
