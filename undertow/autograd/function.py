"""`Function`: an operation whose forward and backward are written in Python.

The core (`_C._FunctionBase`) implements `apply`, and the `ctx`, which is also the result's `grad_fn`. This
module has the classes that users derive from, and code that is not performance-critical.
"""

from __future__ import annotations

from undertow import _C
from undertow.utils._contextlib import _dressed_as

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from undertow import Tensor
    from undertow.utils.hooks import RemovableHandle

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "NestedIOFunction",
    "once_differentiable",
]


class FunctionCtx:
    """The context that passes attributes, saved tensors, and marks on inputs and outputs from `forward` to `backward`.

    Each method is called at most once, in `forward` or `setup_context`.
    """

    if TYPE_CHECKING:
        to_save: Any
        saved_for_forward: Any
        dirty_tensors: Any
        non_differentiable: Any
        materialize_grads: Any

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save inputs, outputs or other tensors for `backward`, where they are `ctx.saved_tensors`.

        `backward` checks that they are unchanged. They pass through saved-tensor hooks and are freed with the
        graph. A tensor that is neither input nor output has no history: second derivatives do not include its
        dependence on the inputs. Return it as an output too, or recompute it in `backward`, or decorate
        `backward` with `once_differentiable`.
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Save tensors for `jvp`, where they are `ctx.saved_tensors`."""
        for tensor in tensors:
            if not (tensor is None or isinstance(tensor, _C.Tensor)):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save "
                    f"non-tensors as attributes on ctx: got {type(tensor).__name__}"
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Mark inputs that `forward` modified in place; it must return each of them."""
        self.dirty_tensors = args

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Deprecated: does nothing."""
        import warnings

        warnings.warn(
            "`mark_shared_storage` is deprecated. Tensors with shared storages are automatically "
            "tracked. Note that calls to `set_()` are not tracked",
            FutureWarning,
            stacklevel=2,
        )

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Mark outputs that have no derivative; `backward` still gets a gradient of zeros for each."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether missing gradients are passed to `backward` and `jvp` as zeros (True) or None (False)."""
        self.materialize_grads = value


_ContextMethodMixin = FunctionCtx  # the name in old pickles


class _HookMixin:
    @staticmethod
    def _register_hook(
        backward_hooks: dict[int, Any] | None, hook: Callable[..., Any]
    ) -> tuple[dict[int, Any], RemovableHandle]:
        from undertow.utils.hooks import HookDict, RemovableHandle

        if backward_hooks is None:
            backward_hooks = HookDict()
        handle = RemovableHandle(backward_hooks)
        backward_hooks[handle.id] = hook
        return backward_hooks, handle


class BackwardCFunction(_C._FunctionBase, FunctionCtx, _HookMixin):
    """The class of a `ctx`, which is also the `grad_fn` of the results of `forward`. Not created directly."""

    _forward_cls: type[Function]

    def _get_user_fn(self) -> Callable[..., Any]:
        backward, vjp = self._forward_cls.backward, self._forward_cls.vjp
        if backward is not Function.backward and vjp is not Function.vjp:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
                "should only implement one of them."
            )
        return vjp if vjp is not Function.vjp else backward

    def apply(self, *args: Any) -> Any:  # type: ignore[override]  # of an instance
        """Call the user's backward as the engine does."""
        if self._forward_cls.boxed_grads_call:
            return self._get_user_fn()(self, list(args))
        return self._get_user_fn()(self, *args)

    def apply_boxed(self, *args: Any) -> Any:
        """Call the user's backward of a class with `boxed_grads_call`: the only argument is the list of gradients."""
        return self._get_user_fn()(self, *args)

    def apply_jvp(self, *args: Any) -> Any:
        """Call the user's jvp."""
        return self._forward_cls.jvp(self, *args)

    def _compiled_autograd_key(self) -> tuple[int, ...]:
        return self._forward_cls._compiled_autograd_key(self)


class FunctionMeta(type):
    """Creates the class of the `ctx`, `_backward_cls`, for every Function class."""

    _made = 0  # number of classes so far

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        number = FunctionMeta._made
        FunctionMeta._made += 1
        body = {"_forward_cls": cls, "_autograd_function_id": number, "__module__": __name__}
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,), body)
        super().__init__(name, bases, attrs)


class Function(_C._FunctionBase, FunctionCtx, _HookMixin, metaclass=FunctionMeta):
    """Base class of operations written in Python: define `forward` and `backward` in a subclass and call `apply`.

    >>> import undertow as ut
    >>> class Exp(ut.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         y = x.exp()
    ...         ctx.save_for_backward(y)
    ...         return y
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (y,) = ctx.saved_tensors
    ...         return grad * y
    >>> x = ut.zeros(2, requires_grad=True)
    >>> Exp.apply(x)
    tensor([1., 1.], grad_fn=<ExpBackward>)
    >>> ut.autograd.grad(Exp.apply(x).sum(), x)
    (tensor([1., 1.]),)
    """

    if TYPE_CHECKING:
        # Methods of the ctx, implemented in the core.
        _backward_cls: type[BackwardCFunction]

        @classmethod
        def apply(cls, *args: Any, **kwargs: Any) -> Any:
            """Run `forward`, and record the function if an argument requires grad."""

    # Whether vmap may derive its rule from forward, backward and jvp, which must then consist of Undertow's operations.
    generate_vmap_rule = False
    # Free each saved tensor as soon as backward drops it: `ctx.saved_tensors` can be read only once.
    clear_saved_tensors_on_access = False
    # backward(ctx, grads) gets the gradients as one list, from which it may remove those it has used.
    boxed_grads_call = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        import warnings

        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself: use apply",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            f"new-style autograd function with static forward method: {type(self).__name__}.apply(...)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs: `forward(ctx, *args)`, or `forward(*args)` with a separate `setup_context`.

        Runs with gradients disabled. Arguments and results may be any objects; only tensors are differentiated.
        Return several results as a tuple.
        """
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Prepare `ctx` from the inputs and outputs of `forward(*args)`, which then gets no `ctx`."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any, **kwargs: Any) -> Any:  # so that type checkers accept any arguments in a subclass
        """Compute the gradients of the inputs from those of the outputs, one per argument of `forward`.

        Return None for an argument that is not a tensor or whose gradient is not needed; `ctx.needs_input_grad`
        tells, for the current pass, which are needed.
        """
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    vjp = backward  # alternative name: a subclass defines one of them

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any, **kwargs: Any) -> Any:
        """Compute the tangents of the outputs from those of the inputs, for forward mode.

        Called right after `forward`. For an input changed in place it must change the tangent in
        place; for an output that is a view of an input it must return a view of the tangent.
        """
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any, **kwargs: Any) -> Any:
        """Apply the function to a batch; return `(output, out_dims)`.

        `info` has vmap's `batch_size` and `randomness`; `in_dims` has, for each argument, the
        dimension it is mapped over, or None.
        """
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or "
            "set generate_vmap_rule=True."
        )

    @staticmethod
    def _compiled_autograd_key(ctx: Any) -> tuple[int, ...]:
        return (ctx._autograd_function_id,)


_SingleLevelFunction = Function
_C._set_function_base(Function)


def _is_setup_context_defined(fn: Callable[..., Any]) -> bool:
    return fn is not Function.setup_context


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for a `backward` that cannot be differentiated: second derivatives through it raise.

    It runs with gradients disabled.

    >>> import undertow as ut
    >>> class Cube(ut.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**3
    ...
    ...     @staticmethod
    ...     @ut.autograd.function.once_differentiable
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensors
    ...         return grad * 3 * x * x
    >>> x = ut.ones(1, requires_grad=True)
    >>> (g,) = ut.autograd.grad(Cube.apply(x) ** 2, x, create_graph=True)
    >>> ut.autograd.grad(g, x)
    Traceback (most recent call last):
    RuntimeError: trying to differentiate twice a function that was marked with @once_differentiable
    """
    def wrapper(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        recording = _C.is_grad_enabled()
        _C._set_grad_enabled(False)
        try:
            outputs = fn(ctx, *args, **kwargs)
        finally:
            _C._set_grad_enabled(recording)
        if not recording:
            return outputs
        # If a gradient with history was passed in, the results have lost that history here; otherwise they are complete.
        if not any(isinstance(arg, _C.Tensor) and arg.requires_grad for arg in args):
            return outputs
        several = isinstance(outputs, tuple)
        results = _C._delayed_error(
            "trying to differentiate twice a function that was marked with @once_differentiable",
            outputs if several else (outputs,),
            args,
        )
        return results if several else results[0]

    return _dressed_as(wrapper, fn)


class InplaceFunction(Function):
    """For old programs only: use `Function` instead."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


from undertow.autograd._nested_io import NestedIOFunction  # noqa: E402 - it derives from Function
