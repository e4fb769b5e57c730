"""Helpers of autograd.functional: inputs and outputs, vectors, gradients, and the checks of strict mode."""

from __future__ import annotations

import undertow
from undertow.autograd._backward import grad as _grad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow import Tensor


def as_tuple(given: Any, what: str, who: str) -> tuple[bool, tuple[Tensor, ...]]:
    """Return whether the argument was a tuple, and the tensors as a tuple."""
    is_tuple = isinstance(given, tuple)
    tensors = given if is_tuple else (given,)
    for i, t in enumerate(tensors):
        if isinstance(t, undertow.Tensor):
            continue
        found = f"the value at index {i} has type {type(t)}" if is_tuple else f"the given {what} has type {type(t)}"
        raise TypeError(f"The {what} given to {who} must be either a Tensor or a tuple of Tensors but {found}.")
    return is_tuple, tensors


def as_given(tensors: Sequence[Any], is_tuple: bool) -> Any:
    return tuple(tensors) if is_tuple else tensors[0]


def differentiable_inputs(inputs: Sequence[Tensor], create_graph: bool, need_graph: bool = True) -> tuple[Tensor, ...]:
    """Return the inputs to differentiate: views connected to the caller's graph with `create_graph`, otherwise new leaves."""
    return tuple(
        x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_(need_graph)
        for x in inputs
    )


def detach_unless_graph(result: Any, create_graph: bool) -> Any:
    """Detach the result unless `create_graph` is True."""
    if isinstance(result, (tuple, list)):
        return type(result)(detach_unless_graph(r, create_graph) for r in result)
    if isinstance(result, undertow.Tensor) and not create_graph:
        return result.detach()
    return result


def check_vector(v: Sequence[Tensor], like: Sequence[Tensor], like_is_tuple: bool) -> None:
    if len(v) != len(like):
        if like_is_tuple:
            raise RuntimeError(
                f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}."
            )
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (a, b) in enumerate(zip(v, like, strict=True)):
        if a.shape != b.shape:
            entry = f"Entry {i} in v" if like_is_tuple else "v"
            raise RuntimeError(f"{entry} has invalid size: should be {b.shape} but got {a.shape}.")


def vector(v: Any, like: Sequence[Tensor], like_is_tuple: bool, create_graph: bool, who: str, by_default: str) -> tuple[Tensor, ...]:
    """Return the vector to multiply with; 1 if `v` is None and `like` has a single element. `by_default` is part of the error message."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(
                f"The vector v can only be None if {by_default} a single Tensor with a single element."
            )
        return (undertow.ones_like(like[0]),)
    _, tensors = as_tuple(v, "v", who)
    tensors = differentiable_inputs(tensors, create_graph, need_graph=False)
    check_vector(tensors, like, like_is_tuple)
    return tensors


def check_outputs(outputs: Sequence[Tensor]) -> None:
    """Strict mode: raise if an output does not depend on the inputs."""
    for i, o in enumerate(outputs):
        if not o.requires_grad:
            raise RuntimeError(
                f"Output {i} of the user-provided function does not require gradients. The outputs must be "
                "computed in a differentiable manner from the input when running in strict mode."
            )


_INDEPENDENT = {
    "back": "The output of the user-provided function is independent of input {i}. This is not allowed in strict mode.",
    "back_trick": "The gradient with respect to the input is independent of entry {i} in the grad_outputs when using the double "
    "backward trick to compute forward mode gradients. This is not allowed in strict mode.",
    "double_back": "The jacobian of the user-provided function is independent of input {i}. This is not allowed in strict mode.",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {i} in the grad_jacobian. This is not "
    "allowed in strict mode as it prevents from using the double backward trick to replace forward mode AD.",
}


def gradients(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], weights: Sequence[Tensor | None] | None = None, *, create_graph: bool = False
) -> tuple[Tensor | None, ...]:
    """Return the gradients of the outputs that require grad."""
    given = [None] * len(outputs) if weights is None else list(weights)
    kept = [(o, g) for o, g in zip(outputs, given, strict=True) if o is not None and o.requires_grad]
    if not kept:
        return (None,) * len(inputs)
    roots, grads = zip(*kept, strict=True)
    return _grad(roots, inputs, grads, allow_unused=True, create_graph=create_graph, retain_graph=True)


def filled(grads: Sequence[Tensor | None], like: Sequence[Tensor], strict: bool, create_graph: bool, stage: str) -> tuple[Tensor, ...]:
    """Replace missing gradients by zeros. Strict mode raises for them, and for gradients that do not depend on the inputs."""
    out = []
    for i, (g, x) in enumerate(zip(grads, like, strict=True)):
        if g is None:
            if strict:
                raise RuntimeError(_INDEPENDENT[stage].format(i=i))
            g = undertow.zeros_like(x)
        elif strict and create_graph and not g.requires_grad:
            if "double" not in stage:
                raise RuntimeError(
                    f"The jacobian of the user-provided function is independent of input {i}. This is not "
                    "allowed in strict mode when create_graph=True."
                )
            raise RuntimeError(
                f"The hessian of the user-provided function is independent of input {i}. This is not allowed "
                "in strict mode when create_graph=True."
            )
        out.append(g)
    return tuple(out)


def check_hessian(jacobian: Sequence[Tensor]) -> None:
    """Strict mode: raise if the first derivative does not depend on the inputs."""
    for i, j in enumerate(jacobian):
        if not j.requires_grad:
            raise RuntimeError(
                "While computing the hessian, found that the jacobian of the user-provided function with "
                f"respect to input {i} is independent of the input. This is not allowed in strict mode. You "
                "should ensure that your function is twice differentiable and that the jacobian depends on "
                "the inputs (this would be violated by a linear function for example)."
            )
