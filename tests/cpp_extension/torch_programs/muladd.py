"""muladd.cpp used from Python: loaded as a library, with a derivative and a shape function registered in Python.

Usage: muladd.py SOURCE FOLDER
"""

import sys

import torch
from torch.utils.cpp_extension import load

load("muladd", [sys.argv[1]], build_directory=sys.argv[2], extra_cflags=["-O0"], is_python_module=False, use_pch=False)


def backward(ctx, grad):
    a, b = ctx.saved_tensors
    return grad * b if ctx.needs_input_grad[0] else None, grad * a if ctx.needs_input_grad[1] else None, None


def setup_context(ctx, inputs, output):
    a, b, _ = inputs
    ctx.save_for_backward(a, b)


@torch.library.register_fake("muladd::mymuladd")
def _(a, b, c):
    torch._check(a.shape == b.shape)
    return torch.empty_like(a)


torch.library.register_autograd("muladd::mymuladd", backward, setup_context=setup_context)
op = torch.ops.muladd.mymuladd
a, b = torch.randn(3, 4, requires_grad=True), torch.randn(3, 4, requires_grad=True)
assert torch.equal(op(a, b, 1.5), a * b + 1.5)
assert str(op.default._schema) == "muladd::mymuladd(Tensor a, Tensor b, float c) -> Tensor", op.default._schema
op(a, b, 2.0).sum().backward()
assert torch.equal(a.grad, b) and torch.equal(b.grad, a)
assert op(torch.empty(2, device="meta"), torch.empty(2, device="meta"), 0.0).device.type == "meta"
try:
    op(a.double(), b.double(), 1.0)
except RuntimeError as e:
    assert "float tensors expected" in str(e)
else:
    raise AssertionError("no error")

out = torch.empty(3, 4)
torch.ops.muladd.myadd_out(a.detach(), b.detach(), out)
assert torch.equal(out, a + b)

x = torch.randn(5, requires_grad=True)
total, squares = torch.ops.muladd.moments(x)
assert "Moments" in total.grad_fn.name() and torch.allclose(squares, (x * x).sum())
(gradient,) = torch.autograd.grad(total + squares, x, create_graph=True)
assert torch.allclose(gradient, 1 + 2 * x)
assert torch.allclose(torch.autograd.grad(gradient.sum(), x)[0], torch.full((5,), 2.0))
print("muladd: ok")
