"""Custom Functions that several test files use."""

from __future__ import annotations


def define(forward, backward=lambda ctx, *grads: grads[0], **attributes) -> type:
    """A custom Function of these static methods and attributes."""
    import undertow as ut

    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    body |= {k: staticmethod(v) if callable(v) else v for k, v in attributes.items()}
    return type("F", (ut.autograd.Function,), body)


def exp_function(library) -> type:
    """exp(x) of either library, saving its output, with a separate setup_context."""

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
