"""Derivatives of functions: Jacobians, Hessians, and their products with vectors.

Inputs are tensors or tuples of tensors; results have the same structure. With `create_graph`, the results can
be differentiated. With `strict`, an output that does not depend on an input raises; otherwise its derivative is
zero.
"""

from __future__ import annotations

import undertow
from undertow.autograd._functional.checks import (
    as_given,
    as_tuple,
    check_hessian,
    check_outputs,
    detach_unless_graph,
    differentiable_inputs,
    filled,
    gradients,
    vector,
)
from undertow.autograd._functional.jacobian import hessian, jacobian
from undertow.autograd.grad_mode import enable_grad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from undertow import Tensor

    Tensors: TypeAlias = Tensor | tuple[Tensor, ...]

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

_OUTPUTS = "outputs of the user-provided function"


def _run(func: Callable[..., Any], inputs: Any, who: str, create_graph: bool) -> tuple[bool, tuple[Tensor, ...], bool, tuple[Tensor, ...]]:
    """Run the function; return its inputs and outputs, each with whether it was a tuple."""
    in_tuple, given = as_tuple(inputs, "inputs", who)
    x = differentiable_inputs(given, create_graph)
    out_tuple, outputs = as_tuple(func(*x), _OUTPUTS, who)
    return in_tuple, x, out_tuple, outputs


def vjp(func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """Return the output of `func`, and the product of the vector `v` with its Jacobian.

    >>> import undertow as ut
    >>> ut.autograd.functional.vjp(lambda x: x**2, ut.tensor([1.0, 2.0]), ut.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        in_tuple, x, out_tuple, outputs = _run(func, inputs, "vjp", create_graph)
        if strict:
            check_outputs(outputs)
        weights = vector(v, outputs, out_tuple, create_graph, "vjp", "the user-provided function returns")
    with undertow.set_grad_enabled(create_graph and undertow.is_grad_enabled()):
        grads = gradients(outputs, x, weights, create_graph=create_graph)
        result = filled(grads, x, strict, create_graph, "back")
    return as_given(detach_unless_graph(outputs, create_graph), out_tuple), as_given(detach_unless_graph(result, create_graph), in_tuple)


def jvp(func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """Return the output of `func`, and the product of its Jacobian with the vector `v`, computed by differentiating the vjp.

    `undertow.func.jvp` computes it in one forward pass.

    >>> import undertow as ut
    >>> ut.autograd.functional.jvp(lambda x: x**2, ut.tensor([1.0, 2.0]), ut.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        in_tuple, given = as_tuple(inputs, "inputs", "jvp")
        x = differentiable_inputs(given, create_graph)
        tangents = vector(v, x, in_tuple, create_graph, "jvp", "the input to the user-provided function is")
        out_tuple, outputs = as_tuple(func(*x), _OUTPUTS, "jvp")
        if strict:
            check_outputs(outputs)
        # The gradient is linear in the cotangents, so their values do not matter.
        cotangents = tuple(undertow.zeros_like(o).requires_grad_() for o in outputs)
        back = filled(gradients(outputs, x, cotangents, create_graph=True), x, strict, create_graph, "back")
    with undertow.set_grad_enabled(create_graph and undertow.is_grad_enabled()):
        moved = gradients(back, cotangents, tangents, create_graph=create_graph)
        result = filled(moved, outputs, strict, create_graph, "back_trick")
    return as_given(detach_unless_graph(outputs, create_graph), out_tuple), as_given(detach_unless_graph(result, create_graph), out_tuple)


def _scalar(outputs: tuple[Tensor, ...], is_tuple: bool, who: str) -> None:
    if is_tuple:
        raise RuntimeError(f"The function given to {who} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {who} should contain a single element")


def _first_gradients(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None, create_graph: bool, strict: bool, who: str
) -> tuple[bool, tuple[Tensor, ...], tuple[Tensor, ...], Tensor, tuple[Tensor, ...]]:
    """Return what `vhp` and `hvp` start from: whether the inputs are a tuple, the inputs, the vector, the output and its gradients."""
    with enable_grad():
        in_tuple, given = as_tuple(inputs, "inputs", who)
        x = differentiable_inputs(given, create_graph)
        weights = vector(v, x, in_tuple, create_graph, who, "the input to the user-provided function is")
        out_tuple, outputs = as_tuple(func(*x), _OUTPUTS, who)
        if strict:
            check_outputs(outputs)
        _scalar(outputs, out_tuple, who)
        first = filled(gradients(outputs, x, create_graph=True), x, strict, False, "back")
        if strict:
            check_hessian(first)
    return in_tuple, x, weights, outputs[0], first


def vhp(func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """Return the output of `func`, a scalar, and the product of the vector `v` with its Hessian.

    >>> import undertow as ut
    >>> ut.autograd.functional.vhp(lambda x: (x**3).sum(), ut.tensor([1.0, 2.0]), ut.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    in_tuple, x, weights, output, first = _first_gradients(func, inputs, v, create_graph, strict, "vhp")
    with undertow.set_grad_enabled(create_graph and undertow.is_grad_enabled()):
        second = gradients(first, x, weights, create_graph=create_graph)
        result = filled(second, x, strict, create_graph, "double_back")
    return detach_unless_graph(output, create_graph), as_given(detach_unless_graph(result, create_graph), in_tuple)


def hvp(func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """Return the output of `func`, a scalar, and the product of its Hessian with the vector `v`.

    The Hessian is symmetric, so this equals vhp; it is slower.

    >>> import undertow as ut
    >>> ut.autograd.functional.hvp(lambda x: (x**3).sum(), ut.tensor([1.0, 2.0]), ut.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    in_tuple, x, tangents, output, first = _first_gradients(func, inputs, v, create_graph, strict, "hvp")
    with enable_grad():
        cotangents = tuple(undertow.zeros_like(x_).requires_grad_() for x_ in x)
        double = filled(gradients(first, x, cotangents, create_graph=True), x, strict, create_graph, "double_back")
    with undertow.set_grad_enabled(create_graph and undertow.is_grad_enabled()):
        moved = gradients(double, cotangents, tangents, create_graph=create_graph)
        result = filled(moved, x, strict, create_graph, "double_back_trick")
    return detach_unless_graph(output, create_graph), as_given(detach_unless_graph(result, create_graph), in_tuple)
