"""The torch modules of our classes and functions: used by `save`, which writes torch's names, and by as_torch."""

from __future__ import annotations

# Where torch defines what a module of ours defines, if the module's own name does not say it; a single name comes first.
TORCH_MODULES = {
    "undertow._type_info": "torch",
    "undertow._ops": "torch._ops",
    "undertow._vmap._api": "torch.func",
    "undertow._functions.histogram.histogram": "torch.return_types",
    "undertow._functions.histogram.histogramdd": "torch.return_types",
    "undertow.autograd._functional.jacobian": "torch.autograd.functional",
    "undertow.autograd._multi_grad_hook": "torch.autograd.graph",
    "undertow.autograd._node": "torch.autograd.graph",
    "undertow.autograd._profiler.events": "torch.autograd.profiler_util",
    "undertow.autograd._saved_hooks": "torch.autograd.graph",
    "undertow.distributions._transforms_elementwise": "torch.distributions.transforms",
    "undertow.distributions._transforms_matrix": "torch.distributions.transforms",
    "undertow.distributions._transforms_shape": "torch.distributions.transforms",
    "undertow.nn.modules._hooks._WrappedHook": "torch.nn.modules.module",
    "undertow.nn.modules._lazy_layers.LazyLinear": "torch.nn.modules.linear",
    "undertow.nn.modules._rnn_cells": "torch.nn.modules.rnn",
    "undertow.nn.modules.attention.MultiheadAttention": "torch.nn.modules.activation",
    "undertow.nn.modules.attention.NonDynamicallyQuantizableLinear": "torch.nn.modules.linear",
    "undertow.nn.modules.linear_cross_entropy": "torch.nn.modules.loss",
    "undertow.optim.adafactor.Adafactor": "torch.optim",
    "undertow.optim.muon.Muon": "torch.optim",
    "undertow.optim._lr_cycles": "torch.optim.lr_scheduler",
    "undertow.utils._checkpoint_device": "torch.utils.checkpoint",
    "undertow.utils._checkpoint_frames.CheckpointError": "torch.utils.checkpoint",
    "undertow.utils._checkpoint_frames.GraphExecGroup": "torch.utils.checkpoint",
    "undertow.utils._checkpoint_policy": "torch.utils.checkpoint",
    "undertow.utils._checkpoint_reentrant": "torch.utils.checkpoint",
    **{f"undertow.nn.modules._lazy_layers.LazyConv{kind}{d}d": "torch.nn.modules.conv" for kind in ("", "Transpose") for d in (1, 2, 3)},
    **{f"undertow.nn.modules._lazy_norms.LazyBatchNorm{d}d": "torch.nn.modules.batchnorm" for d in (1, 2, 3)},
    **{f"undertow.nn.modules._lazy_norms.LazyInstanceNorm{d}d": "torch.nn.modules.instancenorm" for d in (1, 2, 3)},
}


def torch_module_of(module: str, name: str) -> str:
    """Return torch's module for a name of one of our modules, or ours if torch has none.

    >>> torch_module_of("undertow.nn.modules.linear", "Linear"), torch_module_of("undertow.nn.modules._rnn_cells", "LSTMCell")
    ('torch.nn.modules.linear', 'torch.nn.modules.rnn')
    """
    found = TORCH_MODULES.get(f"{module}.{name}") or TORCH_MODULES.get(module)
    if found is not None:
        return found
    return module if "._" in module or module.startswith("undertow.train") else "torch" + module.removeprefix("undertow")
