"""Inference tensors outside inference mode, compared with torch."""

from __future__ import annotations

import pytest

VIEWS = {
    "view": lambda c: c.view(-1),
    "select": lambda c: c[0],
    "slice": lambda c: c[:1],
    "t": lambda c: c.t(),
    "unsqueeze": lambda c: c.unsqueeze(0),
    "expand": lambda c: c.expand(2, 2),
    "reshape": lambda c: c.reshape(2),
    "unbind": lambda c: c.unbind()[0],
    "split": lambda c: c.split(1)[0],
    "detach": lambda c: c.detach(),
    "alias": lambda c: c.view_as(c),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_view_of_an_inference_tensor(same_as_torch, view, inside, requires_grad):
    def scenario(lib):
        with lib.inference_mode():
            c = lib.ones(2, requires_grad=requires_grad)
            if inside:
                v = VIEWS[view](c)
        if not inside:
            v = VIEWS[view](c)
        return [v.requires_grad, v.is_leaf, v.is_inference(), v.grad_fn is None, v._is_view()]

    same_as_torch(scenario)


RESIZED = [(op, inside, kind) for op in ("resize_", "resize_as_") for inside in (False, True) for kind in ("inference", "plain", "result")]


@pytest.mark.parametrize(("op", "inside", "kind"), [c for c in RESIZED if c != ("resize_as_", False, "inference")])  # raises, with another sentence
def test_resizing_a_tensor_that_requires_grad(same_as_torch, op, inside, kind):
    def scenario(lib):
        def resized(c):
            return (c.resize_(3) if op == "resize_" else c.resize_as_(lib.ones(3))).shape

        with lib.inference_mode():
            c = lib.ones(2, requires_grad=True)
        if kind == "plain":
            c = lib.ones(2, requires_grad=True)
        if kind == "result":
            c = lib.ones(2, requires_grad=True) * 2
        if inside:
            with lib.inference_mode():
                return [resized(c), c.requires_grad]
        return [resized(c), c.requires_grad]

    same_as_torch(scenario)


def test_increment_version_of_an_inference_tensor(same_as_torch):
    def scenario(lib):
        with lib.inference_mode():
            c = lib.ones(2, requires_grad=True)
        d = lib.ones(2)
        lib.autograd.graph.increment_version(c)
        lib.autograd.graph.increment_version([c, d])
        return d._version

    same_as_torch(scenario)


@pytest.mark.parametrize("op", ["add", "backward", "requires_grad_", "save", "clone"])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_what_an_inference_tensor_may_be_used_for(same_as_torch, op, requires_grad):
    def scenario(lib):
        with lib.inference_mode():
            c = lib.ones(2, requires_grad=requires_grad)
        w = lib.ones(2, requires_grad=True)
        if op == "add":
            r = c + 1
        elif op == "backward":
            (w + c).sum().backward()
            return w.grad
        elif op == "requires_grad_":
            r = c.requires_grad_()
        elif op == "save":
            r = w * c
        else:
            r = c.clone()
        return [r.requires_grad, r.is_inference(), r.is_leaf]

    same_as_torch(scenario)
