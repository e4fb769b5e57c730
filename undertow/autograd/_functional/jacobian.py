"""jacobian and hessian of autograd.functional: one backward pass per row, or one pass for all rows with vmap."""

from __future__ import annotations

import undertow
from undertow.autograd import forward_ad
from undertow.autograd._backward import grad as _grad
from undertow.autograd._functional.checks import (
    as_given,
    as_tuple,
    check_hessian,
    check_outputs,
    detach_unless_graph,
    differentiable_inputs,
    gradients,
)
from undertow.autograd.grad_mode import enable_grad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from undertow import Tensor

    Tensors: TypeAlias = Tensor | tuple[Tensor, ...]

_OUTPUTS = "outputs of the user-provided function"


def _rows(i: int, o: Tensor, inputs: tuple[Tensor, ...], strict: bool, create_graph: bool) -> tuple[Tensor, ...]:
    """Compute the Jacobian of one output with respect to each input, with one backward pass per element."""
    from undertow.func._jacobian import zeros_for

    found: list[list[Tensor]] = [[] for _ in inputs]
    flat = o.reshape(-1)
    for k in range(o.numel()):
        grads = gradients((flat[k],), inputs, create_graph=create_graph)
        for j, (g, x) in enumerate(zip(grads, inputs, strict=True)):
            if g is None:
                if strict:
                    raise RuntimeError(
                        f"Output {i} of the user-provided function is independent of input {j}. This is not "
                        "allowed in strict mode."
                    )
                g = undertow.zeros_like(x)
            elif strict and create_graph and not g.requires_grad:
                raise RuntimeError(
                    "The jacobian of the user-provided function is independent of input "
                    f"{i}. This is not allowed in strict mode when create_graph=True."
                )
            found[j].append(g)
    return tuple(
        (undertow.stack(rows) if rows else zeros_for(x, (0, *x.shape))).reshape((*o.shape, *x.shape))
        for rows, x in zip(found, inputs, strict=True)
    )


def _all_rows(outputs: tuple[Tensor, ...], inputs: tuple[Tensor, ...], create_graph: bool) -> list[tuple[Tensor, ...]]:
    """Compute the Jacobians of all outputs in one pass over a batch of cotangents, one per element."""
    from undertow.func._jacobian import basis, zeros_for

    kept = [o.requires_grad for o in outputs]
    used = [o for o, k in zip(outputs, kept, strict=True) if k]
    grads: Any = [None] * len(inputs)
    if used:
        flat = [o.reshape(-1) for o in used]
        grads = _grad(flat, inputs, basis(flat), create_graph=create_graph, allow_unused=True, is_grads_batched=True, retain_graph=True)
    out = []
    start = 0
    for o, k in zip(outputs, kept, strict=True):
        blocks = []
        for g, x in zip(grads, inputs, strict=True):
            if g is None or not k:
                blocks.append(zeros_for(x, (*o.shape, *x.shape)))
            else:
                blocks.append(g[start : start + o.numel()].reshape((*o.shape, *x.shape)))
        start += o.numel() if k else 0
        out.append(tuple(blocks))
    return out


def _by_forward_mode(func: Callable[..., Any], inputs: Any) -> Any:
    """Compute the Jacobians in forward mode, with one tangent per element of the inputs."""
    from undertow._vmap._api import _internal_vmap
    from undertow.func._jacobian import basis

    in_tuple, given = as_tuple(inputs, "inputs", "jacobian")
    is_tuple = False

    def push(units: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        nonlocal is_tuple
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(x, u) for x, u in zip(given, units, strict=True)]
            is_tuple, outputs = as_tuple(func(*duals), _OUTPUTS, "jacobian")
            halves = [forward_ad.unpack_dual(o) for o in outputs]
            return tuple(undertow.zeros_like(p) if t is None else t.detach() for p, t in halves)

    columns = _internal_vmap(push)(tuple(basis(given)))
    rows = []
    for column in columns:
        shape = column.shape[1:]
        turned = column.movedim(0, -1)
        start, blocks = 0, []
        for x in given:
            blocks.append(turned[..., start : start + x.numel()].reshape((*shape, *x.shape)))
            start += x.numel()
        rows.append(as_given(blocks, in_tuple))
    return as_given(rows, is_tuple)


def jacobian(
    func: Callable[..., Any], inputs: Tensors, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Compute the Jacobian of `func` at `inputs`: one tensor per output and input, with the output's shape followed by the input's.

    With `vectorize`, one pass computes all rows; with `strategy` "forward-mode", it computes all columns with tangents.

    >>> import undertow as ut
    >>> ut.autograd.functional.jacobian(lambda x: x * x.sum(), ut.tensor([1.0, 2.0]))
    tensor([[4., 1.],
            [2., 5.]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more '
            'outputs than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use '
            '"reverse-mode".'
        )
    who = "undertow.autograd.functional.jacobian"
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(
                f'{who}: `create_graph=True` and `strategy="forward-mode"` are not supported together (yet). '
                'Please either set `create_graph=False` or `strategy="reverse-mode"`.'
            )
        if strict:
            raise RuntimeError(
                f'{who}: `strict=True` and `strategy="forward-mode"` are not supported together (yet). Please '
                'either set `strict=False` or `strategy="reverse-mode"`.'
            )
        if not vectorize:
            raise NotImplementedError(
                "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for "
                "`vectorize=True`."
            )
        return _by_forward_mode(func, inputs)
    if strict and vectorize:
        raise RuntimeError(
            f"{who}: `strict=True` and `vectorized=True` are not supported together. Please either set "
            "`strict=False` or `vectorize=False`."
        )
    with enable_grad():
        in_tuple, given = as_tuple(inputs, "inputs", "jacobian")
        x = differentiable_inputs(given, create_graph)
        out_tuple, outputs = as_tuple(func(*x), _OUTPUTS, "jacobian")
        if strict:
            check_outputs(outputs)
        if vectorize:
            blocks = _all_rows(outputs, x, create_graph)
        else:
            blocks = [_rows(i, o, x, strict, create_graph) for i, o in enumerate(outputs)]
    found = [as_given(detach_unless_graph(b, create_graph), in_tuple) for b in blocks]
    return as_given(found, out_tuple)


def hessian(
    func: Callable[..., Any], inputs: Tensors, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Compute the Hessian of a scalar function: the Jacobian of its gradient, for each pair of inputs.

    >>> import undertow as ut
    >>> ut.autograd.functional.hessian(lambda x: (x**3).sum(), ut.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    in_tuple, given = as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def scalar(*x: Tensor) -> Tensor:
        is_tuple, outputs = as_tuple(func(*x), _OUTPUTS, "hessian")
        if is_tuple:
            raise RuntimeError("The function given to hessian should return a single Tensor")
        if outputs[0].numel() != 1:
            raise RuntimeError("The Tensor returned by the function given to hessian should contain a single element")
        if strict:
            check_outputs(outputs)
        return outputs[0].reshape(())

    def first(*x: Tensor) -> tuple[Tensor, ...]:
        if outer_jacobian_strategy == "forward-mode":
            x = tuple(t.requires_grad_() for t in x)
        result = jacobian(scalar, x, create_graph=True)
        if strict:
            check_hessian(result)
        return result

    found = jacobian(first, given, create_graph=create_graph, strict=strict, vectorize=vectorize, strategy=outer_jacobian_strategy)
    return as_given(tuple(as_given(row, in_tuple) for row in found), in_tuple)
