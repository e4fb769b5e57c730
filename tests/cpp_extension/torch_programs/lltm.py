"""The Python side of lltm.cpp, written for torch: an autograd Function on the extension, its gradients, and the operators."""

import math
import sys

import torch
from torch.utils.cpp_extension import load

lltm_cpp = load(name="lltm_cpp", sources=[sys.argv[1]], build_directory=sys.argv[2], extra_cflags=["-O0", "-std=c++17"], use_pch=False)


class LLTMFunction(torch.autograd.Function):
    """The cell."""

    @staticmethod
    def forward(ctx, input, weights, bias, old_h, old_cell):
        """Compute the new state."""
        outputs = lltm_cpp.forward(input, weights, bias, old_h, old_cell)
        new_h, new_cell = outputs[:2]
        ctx.save_for_backward(*outputs[1:], weights)
        return new_h, new_cell

    @staticmethod
    def backward(ctx, grad_h, grad_cell):
        """Compute the gradients."""
        d_old_h, d_input, d_weights, d_bias, d_old_cell = lltm_cpp.backward(grad_h.contiguous(), grad_cell.contiguous(), *ctx.saved_tensors)
        return d_input, d_weights, d_bias, d_old_h, d_old_cell


class LLTM(torch.nn.Module):
    """The cell as a module."""

    def __init__(self, input_features, state_size):
        super().__init__()
        self.weights = torch.nn.Parameter(torch.empty(3 * state_size, input_features + state_size))
        self.bias = torch.nn.Parameter(torch.empty(1, 3 * state_size))
        stdv = 1.0 / math.sqrt(state_size)
        for weight in self.parameters():
            weight.data.uniform_(-stdv, +stdv)

    def forward(self, input, state):
        """Return the new state."""
        return LLTMFunction.apply(input, self.weights, self.bias, *state)


torch.manual_seed(0)
rnn = LLTM(4, 3).double()
x, h, c = torch.randn(2, 4, dtype=torch.float64), torch.randn(2, 3, dtype=torch.float64), torch.randn(2, 3, dtype=torch.float64)
new_h, new_c = rnn(x, (h, c))
(new_h.sum() + new_c.sum()).backward()
assert rnn.weights.grad.abs().sum() > 0
inputs = [t.detach().clone().requires_grad_() for t in (x, rnn.weights, rnn.bias, h, c)]
assert torch.autograd.gradcheck(LLTMFunction.apply, inputs)
assert torch.equal(lltm_cpp.forward_no_gil(*inputs)[0], lltm_cpp.forward(*inputs)[0])
try:
    lltm_cpp.forward(x.t(), *inputs[1:])
except RuntimeError as error:
    assert "input must be contiguous" in str(error), error
else:
    raise AssertionError("a tensor that is not contiguous was accepted")

for dtype in (torch.float32, torch.float64, torch.half, torch.bfloat16):
    a, b = torch.tensor([1.0, 2.0], dtype=dtype), torch.tensor([3.0, 4.0], dtype=dtype)
    assert torch.ops.tutorial.mymuladd(a, b, 1).tolist() == [4.0, 9.0]
    assert torch.ops.tutorial.mymul.default(a, b).tolist() == [3.0, 8.0]
try:
    torch.ops.tutorial.mymul(torch.ones(2, dtype=torch.int64), torch.ones(2, dtype=torch.int64))
except NotImplementedError as error:
    assert "\"mymuladd\" not implemented for 'Long'" in str(error), error
else:
    raise AssertionError("integers were accepted")
a = torch.randn(3, dtype=torch.float64, requires_grad=True)
assert torch.autograd.gradcheck(torch.ops.tutorial.myadd, (a, a.detach().clone().requires_grad_()))


def _setup(ctx, inputs, output):
    ctx.save_for_backward(*inputs[:2])


torch.library.register_autograd("tutorial::mymuladd", lambda ctx, g: (g * ctx.saved_tensors[1], g * ctx.saved_tensors[0], None), setup_context=_setup)
torch.library.register_fake("tutorial::mymuladd", lambda a, b, c: torch.empty_like(a))
assert torch.autograd.gradcheck(lambda t: torch.ops.tutorial.mymuladd(t, t * 2, 1.0), (a,))
assert torch.ops.tutorial.mymuladd(torch.empty(2, device="meta"), torch.empty(2, device="meta"), 1.0).shape == (2,)
print("lltm: ok")
