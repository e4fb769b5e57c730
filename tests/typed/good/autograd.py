"""Custom functions, gradients, hooks, modes and function transforms."""

from typing import Any

import undertow as ut
from undertow.autograd import Function


class Cube(Function):
    @staticmethod
    def forward(ctx: Any, x: ut.Tensor, scale: float) -> ut.Tensor:
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * x**3

    @staticmethod
    def backward(ctx: Any, grad: ut.Tensor) -> tuple[ut.Tensor, None]:
        (x,) = ctx.saved_tensors
        return 3 * ctx.scale * grad * x**2, None


x = ut.tensor([1.0, 2.0], requires_grad=True)
y = Cube.apply(x, 2.0)
y.sum().backward()
assert x.grad is not None
print(x.grad + 1)
(dx,) = ut.autograd.grad((x * x).sum(), x, create_graph=True)
print(dx.sum().item())
handle = x.register_hook(lambda grad: grad * 2)
handle.remove()
node = (x * 2).grad_fn
if node is not None:
    print(node.name(), node.next_functions)
with ut.enable_grad(), ut.autograd.set_detect_anomaly(True):
    z = x.exp()
with ut.inference_mode():
    w = x + 1


@ut.enable_grad()
def square(t: ut.Tensor) -> ut.Tensor:
    return t * t


print(ut.func.grad(lambda t: square(t).sum())(x.detach()), ut.func.vmap(square)(ut.ones(3, 2)))
print(ut.autograd.gradcheck(square, (ut.ones(2, dtype=ut.float64, requires_grad=True),)))
print(ut.autograd.functional.jacobian(square, x.detach()), z, w)
with ut.autograd.graph.save_on_cpu():
    print(square(x).sum())
with ut.profiler.profile() as prof:
    square(x)
print(prof.key_averages().table(row_limit=3))
