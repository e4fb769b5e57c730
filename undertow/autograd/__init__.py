"""Reverse-mode differentiation: backward and grad, the graph, and the modes of recording. `__init__.pyi` lists the names."""

from undertow._C import SavedTensor, _pop_saved_tensors_default_hooks, _push_saved_tensors_default_hooks
from undertow._lazy import attach_stub as _attach_stub
from undertow.autograd import anomaly_mode, forward_ad, function, grad_mode, graph, variable
from undertow.autograd._backward import _make_grads, backward, grad
from undertow.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from undertow.autograd.function import Function, NestedIOFunction
from undertow.autograd.grad_mode import (
    _force_original_view_tracking,
    _unsafe_preserve_version_counter,
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    is_grad_enabled,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from undertow.autograd.gradcheck import gradcheck, gradgradcheck
from undertow.autograd.graph import _engine_run_backward
from undertow.autograd.variable import Variable

__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)
