"""Runs a function on the CPU and on a GPU and compares results and gradients."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import undertow as ut

HALF = (ut.float16, ut.bfloat16)


def tolerance(dtype: ut.dtype) -> float:
    return {ut.float64: 1e-10, ut.float32: 1e-5, ut.float16: 4e-3, ut.bfloat16: 3e-2, ut.complex64: 1e-5, ut.complex128: 1e-10}.get(dtype, 0.0)


def close(got: ut.Tensor, expected: ut.Tensor, tol: float | None = None, what: str = "") -> None:
    """Same shape, dtype and values, up to `tol` relative to the largest one."""
    assert got.shape == expected.shape and got.dtype == expected.dtype, f"{what}: {got.shape} {got.dtype}, expected {expected.shape} {expected.dtype}"
    got = got.cpu()
    if tol is None:
        tol = tolerance(expected.dtype)
    if not tol:
        assert ut.equal(got, expected), f"{what}: {got} instead of {expected}"
        return
    if expected.dtype.is_complex:
        got, expected = ut.view_as_real(got.resolve_conj()), ut.view_as_real(expected.resolve_conj())
    a, b = got.double(), expected.double()
    assert ut.equal(a.isnan(), b.isnan()), f"{what}: NaN differ"
    assert ut.equal(a.isinf(), b.isinf()), f"{what}: infinities differ"
    a, b = ut.where(b.isfinite(), a, 0.0), ut.where(b.isfinite(), b, 0.0)
    if b.numel():
        error, scale = (a - b).abs().max().item(), max(1.0, b.abs().max().item())
        assert error <= tol * scale, f"{what}: differs by {error}, allowed {tol * scale}"


def tensors_of(result: Any) -> list[ut.Tensor]:
    return [result] if isinstance(result, ut.Tensor) else [t for t in result if isinstance(t, ut.Tensor)]


def same_on_both(f: Callable[..., Any], *inputs: Any, tol: float | None = None, grads: bool = True) -> None:
    """f(*inputs) with tensors on the CPU and on the GPU, and its gradients with respect to floating inputs that require them."""
    def on(device: str) -> tuple[list[ut.Tensor], list[ut.Tensor]]:
        moved = [t.detach().clone().to(device).requires_grad_(t.requires_grad) if isinstance(t, ut.Tensor) else t for t in inputs]
        results = tensors_of(f(*moved))
        wanted = [t for t in moved if isinstance(t, ut.Tensor) and t.requires_grad] if grads else []
        seeds = [(r, seeded_like(r).to(device)) for r in results if r.requires_grad]
        if not wanted or not seeds:
            return results, []
        return results, list(ut.autograd.grad([r for r, _ in seeds], wanted, [s for _, s in seeds]))
    (expected, expected_grads), (got, got_grads) = on("cpu"), on("cuda")
    assert len(expected) == len(got)
    for i, (a, b) in enumerate(zip(got, expected)):
        assert a.device.type == "cuda"
        close(a.detach(), b.detach(), tol, f"result {i}")
    for i, (a, b) in enumerate(zip(got_grads, expected_grads)):
        close(a, b, tol, f"gradient {i}")


def seeded_like(t: ut.Tensor) -> ut.Tensor:
    g = ut.Generator().manual_seed(t.numel() + 7)
    return ut.randn(t.shape, generator=g, dtype=ut.float64).to(t.dtype)


def numbers(*shape: int, dtype: ut.dtype = ut.float32, grad: bool = False, seed: int = 0) -> ut.Tensor:
    """Normal numbers, the same in every run."""
    g = ut.Generator().manual_seed(seed * 1000 + sum(shape))
    return ut.randn(shape, generator=g, dtype=ut.float64).to(dtype).requires_grad_(grad)
