"""Backward passes under a dispatch mode: the formulas of undertow/_aten/_formulas.py give the gradients of the nodes' own."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow._aten._formulas import FORMULAS
from undertow.utils._python_dispatch import TorchDispatchMode

F = ut.nn.functional


class Mode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def tied(*shape: int) -> ut.Tensor:
    """Numbers from -2 to 2 with ties and zeros."""
    count = ut.ones(shape).numel()
    return (ut.arange(count) * 7 % 9 - 4).to(ut.float64).div(2).reshape(shape)


PROGRAMS = {
    "maximum": lambda x, y: ut.maximum(x, y),
    "maximum, broadcast": lambda x, y: ut.maximum(x, y[0]),
    "minimum": lambda x, y: ut.minimum(x, y),
    "maximum of one that requires grad": lambda x, y: ut.maximum(x, y.detach()) + ut.minimum(x.detach(), y),
    "atan2": lambda x, y: ut.atan2(x, y),
    "atan2 of constants": lambda x, y: ut.atan2(x, y.detach()) + ut.atan2(x.detach(), y),
    "hypot": lambda x, y: ut.hypot(x, y + 3),
    "erf": lambda x, y: ut.erf(x),
    "square": lambda x, y: x.square(),
    "cube": lambda x, y: x**3,
    "to the power 0": lambda x, y: x**0,
    "square root": lambda x, y: (x * x + 1) ** 0.5,
    "pow": lambda x, y: x.abs() ** y,
    "pow of a constant": lambda x, y: (x.detach().abs() + 1) ** y + (x.abs() + 1) ** y.detach(),
    "clamp": lambda x, y: x.clamp(-1, 1) * y,
    "clamp min": lambda x, y: x.clamp(min=0) + y.clamp_min(1),
    "clamp max": lambda x, y: x.clamp(max=0) + y.clamp_max(1),
    "clamp by tensors": lambda x, y: x.clamp(min=y),
    "addcmul": lambda x, y: ut.addcmul(x, x, y, value=2),
    "addcmul, broadcast": lambda x, y: ut.addcmul(x, y, y[0], value=-0.5),
    "prelu": lambda x, y: F.prelu(x, y[0, :1]),
    "binary cross-entropy": lambda x, y: F.binary_cross_entropy_with_logits(x, y.detach().sigmoid()),
    "binary cross-entropy, sum": lambda x, y: F.binary_cross_entropy_with_logits(x, y.detach().sigmoid(), reduction="sum"),
    "binary cross-entropy, none": lambda x, y: F.binary_cross_entropy_with_logits(x, y.detach().sigmoid(), reduction="none"),
    "binary cross-entropy of both": lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid()),
    "binary cross-entropy, weighted": lambda x, y: F.binary_cross_entropy_with_logits(x, y.detach().sigmoid(), x.detach().exp(), pos_weight=y.detach().exp()),
    "var": lambda x, y: x.var() * y.var(correction=0),
    "var along a dimension": lambda x, y: x.var(1) + y.var((0, 1)),
    "std": lambda x, y: x.std() + (y * 0).std(correction=2),
    "max": lambda x, y: x.max() * y.min(),
    "median": lambda x, y: x.median() + y.nanmedian(),
    "amax": lambda x, y: x.amax(1) * y.amin(1),
    "amax, kept": lambda x, y: x.amax(0, keepdim=True) + y.amin((0, 1)),
    "amax of a transposed tensor": lambda x, y: x.t().amax(0) + y.amax(),
    "prod": lambda x, y: (x + 3).prod() * y.prod(),
    "prod of one": lambda x, y: x[0, 0].prod() + y[:1, :1].prod(),
    "stack": lambda x, y: ut.stack([x, y, x.detach()], -1) * 2,
    "unbind": lambda x, y: x.unbind(1)[2] + y.unbind()[0][0],
    "squeeze": lambda x, y: (x[None, :, None].squeeze() * y),
    "repeat": lambda x, y: x.repeat(2, 3) * 2 + y.repeat(2, 3),
    "repeat with more dimensions": lambda x, y: x.repeat(2, 1, 1) + y.repeat(1, 1),
    "cdist": lambda x, y: ut.cdist(x, y + 5),
    "cdist of one": lambda x, y: ut.cdist(x, y.detach() + 5, p=1.0),
    "one_hot": lambda x, y: x[:3, :3] * F.one_hot(ut.tensor([0, 2, 1])),
    "batch_norm": lambda x, y: F.batch_norm(x, None, None, training=True) * y,
    "inv": lambda x, y: ut.linalg.inv(x[:3, :3] + 5 * ut.eye(3, dtype=ut.float64)),
    "qr": lambda x, y: ut.linalg.qr(x.t())[0] * 2,
    "qr, both": lambda x, y: ut.linalg.qr(x.t())[0].sum() + ut.linalg.qr(y.t())[1].square().sum(),
    "qr, both factors": lambda x, y: sum(t.square().sum() * 3 + t.sum() for t in ut.linalg.qr(x.t())),
    "qr, complete": lambda x, y: ut.linalg.qr(x, mode="complete")[1],
    "cholesky": lambda x, y: ut.linalg.cholesky(x @ x.mT + 5 * ut.eye(3, dtype=ut.float64)),
}


def gradients(program, mode=None) -> list[ut.Tensor | None]:
    x, y = tied(3, 4).requires_grad_(), tied(4, 3).t().requires_grad_()
    weights = None
    if mode is not None:
        mode.__enter__()
    try:
        out = program(x, y)
        weights = ut.linspace(1, 2, out.numel(), dtype=out.dtype).reshape(out.shape)
        return list(ut.autograd.grad(out, (x, y), weights, allow_unused=True))
    finally:
        if mode is not None:
            mode.__exit__(None, None, None)


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_gradients_under_a_mode_are_those_without(name):
    for seen, wanted in zip(gradients(PROGRAMS[name], Mode()), gradients(PROGRAMS[name]), strict=True):
        assert (seen is None) == (wanted is None)
        if seen is not None:
            assert ut.allclose(seen, wanted, atol=1e-10, equal_nan=True)


def test_every_formula_belongs_to_a_node_of_these_programs():
    found = set()
    for program in PROGRAMS.values():
        x, y = tied(3, 4).requires_grad_(), tied(4, 3).t().requires_grad_()
        stack, seen = [program(x, y).grad_fn], set()
        while stack:
            node = stack.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            found.add(node.name())
            stack += [n for n, _ in node.next_functions]
    assert set(FORMULAS) <= found


def test_gradients_that_are_recorded_use_the_nodes_own_formula():
    x = tied(3, 4).requires_grad_()
    with Mode():
        (g,) = ut.autograd.grad(x.erf().sum(), x, create_graph=True)
        (h,) = ut.autograd.grad(g.sum(), x)
    (wanted,) = ut.autograd.grad(ut.autograd.grad(x.erf().sum(), x, create_graph=True)[0].sum(), x)
    assert ut.allclose(h, wanted)


def test_a_custom_function_with_the_name_of_a_node_keeps_its_backward():
    def backward(ctx, grad):
        return grad * 7

    own = type("Erf", (ut.autograd.Function,), {"forward": staticmethod(lambda ctx, x: x.erf()), "backward": staticmethod(backward)})
    own._backward_cls.__name__ = "ErfBackward0"
    x = tied(3).requires_grad_()
    with Mode():
        own.apply(x).sum().backward()
    assert x.grad.tolist() == [7.0] * 3


def test_a_freed_graph_raises_the_same_error_under_a_mode():
    y = tied(3).requires_grad_().erf().sum()
    y.backward()
    with Mode(), pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


def test_batched_gradients_under_a_mode_use_the_nodes_own_formula():
    x = tied(3, 4).requires_grad_()
    rows = ut.eye(12, dtype=ut.float64).reshape(12, 3, 4)
    with Mode():
        (found,) = ut.autograd.grad(x.square(), x, rows, is_grads_batched=True)
    assert ut.allclose(found, rows * 2 * x)
