"""Converts values between torch and undertow, and reports where two results differ. Imported only where torch is installed."""

from __future__ import annotations

import importlib

import numpy as np
import torch

import undertow as ut


class Untranslatable(Exception):
    """An argument that has no counterpart here."""


def short(dtype) -> str:
    return str(dtype).rpartition(".")[2]


def tensor_to_ut(t: torch.Tensor) -> ut.Tensor:
    """The same values, strides and requires_grad."""
    d = t.detach().resolve_conj().resolve_neg()
    if d.device.type != "cpu":
        raise Untranslatable(str(d.device))
    if d.layout != torch.strided:
        raise Untranslatable(str(d.layout))
    wider = {torch.bfloat16: torch.float32, torch.complex32: torch.complex64}.get(d.dtype)  # NumPy has neither
    if wider:
        d = d.to(wider)
    if short(d.dtype) not in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"):
        raise Untranslatable(str(d.dtype))
    if d.dim() == 0:
        out = ut.tensor(d.item(), dtype=getattr(ut, short(t.dtype)))
    elif d.is_contiguous() or d.numel() == 0:
        out = ut.from_numpy(np.array(d.numpy(), copy=True))
    else:
        extent = 1 + sum((size - 1) * stride for size, stride in zip(d.shape, d.stride(), strict=True))
        memory = torch.as_strided(d, (extent,), (1,), d.storage_offset()).clone().numpy()
        out = ut.as_strided(ut.from_numpy(memory), tuple(d.shape), tuple(d.stride()), 0)
    if wider and d.dim():
        out = out.to(getattr(ut, short(t.dtype)))
    return out.requires_grad_() if t.requires_grad else out


def to_ut(x):
    """Any argument: tensors, dtypes and containers of them become ours, numbers stay."""
    if isinstance(x, torch.Tensor):
        return tensor_to_ut(x)
    if isinstance(x, (torch.dtype, torch.memory_format, torch.layout)):
        if not hasattr(ut, short(x)):
            raise Untranslatable(str(x))
        return getattr(ut, short(x))
    if isinstance(x, torch.device):
        return ut.device(str(x))
    if isinstance(x, torch.Size) or (isinstance(x, tuple) and hasattr(x, "_fields")):
        return tuple(to_ut(v) for v in x)
    if isinstance(x, (list, tuple)):
        return type(x)(to_ut(v) for v in x)
    if isinstance(x, dict):
        return {k: to_ut(v) for k, v in x.items()}
    if isinstance(x, slice):
        return slice(to_ut(x.start), to_ut(x.stop), to_ut(x.step))
    if str(getattr(x, "__module__", "") or "").startswith("torch") or isinstance(x, torch.Generator):
        raise Untranslatable(repr(x))
    return x


def to_numpy(t) -> np.ndarray:
    t = t.detach()
    if isinstance(t, torch.Tensor) and t._is_zerotensor():
        t = t.clone()  # torch's zero tensors, which have no memory
    if short(t.dtype) == "bfloat16":
        t = t.float() if isinstance(t, torch.Tensor) else t.to(ut.float32)
    return np.asarray(t.resolve_conj().resolve_neg().numpy())


def tensors_in(x, kind) -> list:
    if isinstance(x, kind):
        return [x]
    if isinstance(x, (list, tuple)):
        return [t for v in x for t in tensors_in(v, kind)]
    if isinstance(x, dict):
        return [t for v in x.values() for t in tensors_in(v, kind)]
    return []


def difference(want, got, what: str, tolerance: float) -> str | None:
    """None if two results agree, else the first difference. None and a gradient of zeros count as equal."""
    if want is None or got is None:
        there = want if got is None else got
        return None if there is None or not np.any(to_numpy(there)) else f"{what}: only one of the two is None"
    if not isinstance(want, torch.Tensor):
        return None if want == got else f"{what}: torch {want!r}, here {got!r}"
    if tuple(want.shape) != tuple(got.shape):
        return f"{what}: shape, torch {tuple(want.shape)}, here {tuple(got.shape)}"
    if short(want.dtype) != short(got.dtype):
        return f"{what}: dtype, torch {short(want.dtype)}, here {short(got.dtype)}"
    a, b = to_numpy(want), to_numpy(got)
    # For integer inputs, for example: the precision of the result counts, not that of the input. A sum is rounded by its largest
    # terms, so an element that is almost zero has the error of the others.
    rounding = {"float32": 3e-6, "complex64": 3e-6, "float64": 1e-14, "complex128": 1e-14}.get(short(want.dtype), 0)
    finite = np.abs(a[np.isfinite(a)])
    largest = finite.max() if finite.size else 0.0
    if np.allclose(a, b, rtol=max(tolerance, rounding), atol=max(tolerance, rounding * max(1.0, largest)), equal_nan=True):
        return None
    with np.errstate(all="ignore"):
        apart = np.nanmax(np.abs(a.astype(complex) - b.astype(complex)))
        return f"{what}: differs by up to {apart:.3g} of {largest:.3g} over shape {a.shape}"


def find(path: str):
    """Our function with torch's dotted name, or None."""
    if path.startswith("__"):
        return getattr(ut.Tensor, path, None)
    place = ut
    for part in path.split("."):
        found = getattr(place, part, None)
        if found is None and place is not ut:
            try:
                found = importlib.import_module(f"{place.__name__}.{part}")
            except (ImportError, AttributeError):
                return None
        if found is None or isinstance(found, type(ut.float32)):  # Tensor.float, not the dtype
            found = getattr(ut.Tensor, part, None)
            if found is not None and not callable(found):
                return lambda x, *a, **k: getattr(x, part)
        if found is None:
            return None
        place = found
    return place
