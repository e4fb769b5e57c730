"""Full backward hooks: identity functions around a module's inputs and outputs, through which gradients pass.

The node of the wrapped outputs runs when grad_output is known, the node of the wrapped inputs when grad_input is known.
"""

from __future__ import annotations

import warnings

import undertow
from undertow._C import Tensor
from undertow.autograd.function import Function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class BackwardHookFunction(Function):
    """The identity, used for its node."""

    @staticmethod
    def forward(ctx: Any, *args: Tensor) -> tuple[Tensor, ...]:
        ctx.mark_non_differentiable(*[a for a in args if not a.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        return grads


class BackwardHook:
    """The backward and backward-pre hooks of one call of a module."""

    def __init__(self, module: Any, user_hooks: list[Callable], user_pre_hooks: list[Callable]) -> None:
        self.module, self.user_hooks, self.user_pre_hooks = module, user_hooks, user_pre_hooks
        self.grad_outputs: tuple[Any, ...] | None = None
        self.n_outputs = self.n_inputs = -1
        self.output_indices: list[int] | None = None
        self.input_indices: list[int] | None = None

    @staticmethod
    def _spread(indices: list[int], values: tuple[Any, ...], size: int) -> tuple[Any, ...]:
        full: list[Any] = [None] * size
        for i, value in zip(indices, values, strict=True):
            full[i] = value
        return tuple(full)

    @staticmethod
    def _gather(indices: list[int] | None, values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(values[i] for i in indices or [])

    def _apply(self, on_node: Callable[[Any], None], values: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[int] | None]:
        indices = [i for i, v in enumerate(values) if isinstance(v, Tensor)]
        tensors = [values[i] for i in indices]
        if not (undertow.is_grad_enabled() and any(t.requires_grad for t in tensors)):
            return values, None
        passed = BackwardHookFunction.apply(*tensors)
        nodes = [t.grad_fn for t in passed if t.grad_fn is not None and t.grad_fn.name() == "BackwardHookFunctionBackward"]
        if not nodes:
            raise RuntimeError("Error while setting up backward hooks. Please open an issue with a code sample to reproduce this.")
        on_node(nodes[0])
        out = list(values)
        for i, t in zip(indices, passed, strict=True):
            out[i] = t
        return type(values)(*out) if hasattr(values, "_fields") else tuple(out), indices

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Pass the arguments through an identity whose node runs the hooks."""

        def on_node(node: Any) -> None:
            def hook(grad_input: tuple[Any, ...], _: tuple[Any, ...]) -> Any:
                if self.grad_outputs is None:
                    return None  # no gradient came through the outputs, so the hooks are not called
                grad_input = self._spread(self.input_indices or [], grad_input, self.n_inputs)
                replaced = None
                for user_hook in self.user_hooks:
                    out = user_hook(self.module, grad_input, self.grad_outputs)
                    if out is None:
                        continue
                    out = out if isinstance(out, tuple) else (out,)
                    if len(out) != len(grad_input):
                        raise RuntimeError(f"Backward hook returned an invalid number of grad_input, got {len(out)}, but expected {len(grad_input)}")
                    grad_input = replaced = out
                self.grad_outputs = None
                return None if replaced is None else self._gather(self.input_indices, grad_input)

            node.register_hook(hook)

        result, self.input_indices = self._apply(on_node, args)
        self.n_inputs = len(args)
        return result

    def setup_output_hook(self, result: Any) -> Any:
        """Pass the results through an identity whose node receives grad_output."""

        def on_node(node: Any) -> None:
            def hook(_: Any, grad_output: tuple[Any, ...]) -> Any:
                self.grad_outputs = self._spread(self.output_indices or [], grad_output, self.n_outputs)
                if self.user_pre_hooks:
                    expected = len(self.grad_outputs)
                    for pre_hook in self.user_pre_hooks:
                        out = pre_hook(self.module, self.grad_outputs)
                        if out is None:
                            continue
                        out = out if isinstance(out, tuple) else (out,)
                        if len(out) != expected:
                            raise RuntimeError(
                                f"Backward pre hook returned an invalid number of grad_output, got {len(out)}, but expected {expected}"
                            )
                        self.grad_outputs = out
                local = self._gather(self.output_indices, self.grad_outputs)
                if self.input_indices is None:
                    # No input requires a gradient, so the hooks run here, without grad_input.
                    warnings.warn(
                        "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require "
                        "gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module."
                        "register_full_backward_hook for more details.",
                        stacklevel=5,
                    )
                    empty = self._spread([], (), self.n_inputs)
                    for user_hook in self.user_hooks:
                        out = user_hook(self.module, empty, self.grad_outputs)
                        if out is not None and not (isinstance(out, tuple) and all(g is None for g in out)):
                            raise RuntimeError(
                                "Backward hook for Modules where no input requires gradient should always return None or None for all gradients."
                            )
                    self.grad_outputs = None
                return local if self.user_pre_hooks else None

            node.register_prehook(lambda grads: hook(None, grads))

        if not isinstance(result, (Tensor, tuple)):
            if isinstance(result, (list, dict)):
                warnings.warn(
                    f"For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received {type(result)}",
                    stacklevel=4,
                )
            return result
        values = (result,) if isinstance(result, Tensor) else result
        self.n_outputs = len(values)
        wrapped, self.output_indices = self._apply(on_node, values)
        return wrapped[0] if isinstance(result, Tensor) else wrapped
