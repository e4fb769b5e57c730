"""A custom Function that several test files use, for either library."""

from __future__ import annotations


def exp_function(library) -> type:
    """exp(x), saving its output, with a separate setup_context."""

    class Exp(library.autograd.Function):
        @staticmethod
        def forward(x):
            return x.exp()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx, grad):
            (y,) = ctx.saved_tensors
            return grad * y

    return Exp
