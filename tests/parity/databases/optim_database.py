"""Torch's database of optimizers, for both libraries: the options of each entry, its bad inputs, and the state after a run."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import torch
from torch.testing._internal.common_optimizers import _get_optim_inputs_including_global_cliquey_kwargs, optim_db

INFOS = {info.optim_cls.__name__: info for info in optim_db if info.optim_cls.__name__ != "SparseAdam"}
SHAPES = ((4, 3), (3, 2))
WIDE_SHAPES = ((4, 3), (5,), (), (2, 3, 2), (0, 3))


def in_library(x, lib):
    """Options, parameters and containers of torch's in `lib`; a parameter that occurs twice stays one object."""
    return _moved(x, lib, {})


def _moved(x, lib, seen):
    if isinstance(x, torch.Tensor):
        if id(x) not in seen:
            value = lib.tensor(x.detach().resolve_conj().numpy())
            seen[id(x)] = lib.nn.Parameter(value) if isinstance(x, torch.nn.Parameter) else value.requires_grad_(x.requires_grad)
        return seen[id(x)]
    if isinstance(x, dict):
        return {k: _moved(v, lib, seen) for k, v in x.items()}
    return type(x)(_moved(v, lib, seen) for v in x) if isinstance(x, (list, tuple)) else x


def inputs(name):
    """(description, options) of every configuration, with each of the flags; CUDA's, because only they have `capturable`."""
    return [(case.desc, case.kwargs) for case in _get_optim_inputs_including_global_cliquey_kwargs("cuda", None, INFOS[name])]


def error_inputs(name):
    return INFOS[name].optim_error_inputs_func("cpu", torch.float32)


def parameters(lib, shapes, dtype, rng):
    out = []
    for shape in shapes:
        value = rng.standard_normal(shape)
        if "complex" in dtype:
            value = value + 1j * rng.standard_normal(shape)
        out.append(lib.nn.Parameter(lib.tensor(value).to(getattr(lib, dtype))))
    return out


def described(x):
    """A state dict of either library as plain data: types, dtypes and shapes as strings, values as arrays."""
    if hasattr(x, "detach"):
        value = x.detach()
        words = (str(value.dtype).split(".")[-1], tuple(value.shape), bool(x.requires_grad))
        return words, np.asarray((value.float() if "float16" in words[0] else value).tolist())
    if isinstance(x, dict):
        return {k: described(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [type(x).__name__, *map(described, x)]
    return type(x).__name__, x


def assert_same(ours, theirs, rtol, atol, where="state"):
    assert type(ours) is type(theirs), where
    if isinstance(ours, dict):
        assert sorted(ours, key=str) == sorted(theirs, key=str), where
        for key in ours:
            assert_same(ours[key], theirs[key], rtol, atol, f"{where}[{key!r}]")
    elif isinstance(ours, (list, tuple)):
        assert len(ours) == len(theirs), where
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(a, b, rtol, atol, f"{where}[{i}]")
    elif isinstance(ours, (np.ndarray, float)):
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol, err_msg=where, equal_nan=True)
    else:
        assert ours == theirs, where


def run(lib, name, options, dtype="float64", steps=20, shapes=None):
    """The state after `steps` with the same gradients in both libraries, or the exception."""
    rng = np.random.default_rng(0)
    leaves = params = parameters(lib, shapes or (SHAPES if name == "Muon" else WIDE_SHAPES[:-1] if name == "Adafactor" else WIDE_SHAPES), dtype, rng)
    if options.get("differentiable"):
        params = [p.clone() for p in leaves]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            optimizer = getattr(lib.optim, name)(params, **in_library(copy.deepcopy(options), lib))
            for number in range(steps):
                pushes = [g.detach() for g in parameters(lib, [p.shape for p in params], dtype, rng)]

                def closure(pushes=pushes, number=number):
                    for i, (p, g) in enumerate(zip(params, pushes, strict=True)):
                        skipped = i == 1 and number == 2  # one gradient is missing once
                        skipped = skipped and name != "LBFGS"
                        p.grad = None if skipped else g.clone() + 0.1 * (p if options.get("differentiable") else p.detach())
                    return sum(0.05 * (abs(p.detach()) ** 2).sum() + (g * p.detach().conj()).real.sum() for p, g in zip(params, pushes, strict=True))

                if name == "LBFGS":
                    optimizer.step(closure)
                else:
                    closure()
                    optimizer.step()
            if options.get("differentiable"):
                lib.autograd.backward(sum((abs(p) ** 2).sum() for p in params), inputs=leaves)
        except Exception as error:
            return {"error": type(error).__name__, "says": str(error)}
    return {
        "params": described([p.detach() for p in params]),
        "grads": described([p.grad for p in leaves]),
        "state": described(optimizer.state_dict()),
        "repr": repr(optimizer),
        "warnings": [(w.category.__name__, str(w.message)[:50]) for w in said],
    }
