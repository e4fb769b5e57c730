"""`backward` and `grad`: parse and check the arguments, then call the engine.

The core checks and completes the gradients of the outputs (core/autograd/root_gradient.h); the
engine checks whether outputs and inputs are part of a graph.
"""

from __future__ import annotations

import undertow
from undertow import _C
from undertow._C import Tensor, _has_torch_function
from undertow.autograd._node import GradientEdge
from undertow.autograd.graph import _engine_run_backward

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal, overload

    Output = Tensor | GradientEdge
    Outputs = Output | Sequence[Output]
    Inputs = Output | Sequence[Output] | dict[str, Tensor]
    Grads = Tensor | Sequence[Tensor | None] | None

_ONE_OUTPUT = (Tensor, GradientEdge)


def _as_outputs(outputs: Outputs) -> tuple[Output, ...]:
    if isinstance(outputs, _ONE_OUTPUT):
        return (outputs,)
    other: Any = outputs  # an object that overrides functions as a tensor does is one output too
    return (other,) if hasattr(other, "__torch_function__") else tuple(other)


def _as_grads(grads: Grads, count: int) -> tuple[Tensor | None, ...]:
    if grads is None:
        return (None,) * count
    return (grads,) if isinstance(grads, Tensor) else tuple(grads)


def _as_inputs(inputs: Inputs, caller: str) -> tuple[Output, ...]:
    if isinstance(inputs, _ONE_OUTPUT):
        return (inputs,)
    found = _as_outputs(inputs.values() if isinstance(inputs, dict) else inputs)  # type: ignore[arg-type]  # any iterable
    if not found:
        raise RuntimeError(f"`inputs` argument to `{caller}()` cannot be empty.")
    return found


def _make_grads(outputs: Sequence[Output], grads: Sequence[Tensor | None], is_grads_batched: bool = False) -> tuple[Tensor | None, ...]:
    """Check the gradients of the outputs, and use 1 for each real scalar output without one."""
    return _C._root_gradients(tuple(outputs), tuple(grads), is_grads_batched)


def backward(
    tensors: Outputs,
    grad_tensors: Grads = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Grads = None,
    inputs: Inputs | None = None,
) -> None:
    """Compute the gradients of `tensors`, each weighted by its grad tensor, and add them to `.grad` of the leaves.

    `grad_tensors` may be None for real scalars. The graph is freed unless `retain_graph` is True; it
    defaults to `create_graph`, with which the gradients can be differentiated again. `inputs` are the
    tensors to accumulate into, leaves or not; by default all leaves of the graph.

    >>> import undertow as ut
    >>> x = ut.tensor([1.0, 2.0], requires_grad=True)
    >>> ut.autograd.backward([x * 2, (x * x).sum()], [ut.ones(2), None])
    >>> x.grad
    tensor([4., 6.])
    """
    if _C._is_in_transform():
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use "
            "undertow.func.grad or undertow.func.vjp, or call backward() outside of the function that "
            "is transformed"
        )
    if grad_variables is not None:
        grad_tensors = _renamed_grads(grad_tensors, grad_variables)
    wanted = () if inputs is None else _as_inputs(inputs, "backward")
    outputs = _as_outputs(tensors)
    if _has_torch_function(outputs + wanted):
        from undertow.overrides import handle_torch_function

        options = {"grad_tensors": grad_tensors, "retain_graph": retain_graph, "create_graph": create_graph}
        handle_torch_function(backward, outputs + wanted, outputs, **options, inputs=None if inputs is None else wanted)
        return
    grads = _make_grads(outputs, _as_grads(grad_tensors, len(outputs)))
    _engine_run_backward(
        outputs,
        grads,
        create_graph if retain_graph is None else retain_graph,
        create_graph,
        wanted,
        allow_unreachable=True,
        accumulate_grad=True,
    )


def _renamed_grads(grad_tensors: Grads, grad_variables: Grads) -> Grads:
    """Handle `grad_variables`, the deprecated name of `grad_tensors`."""
    import warnings

    warnings.warn(
        "`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=3
    )
    if grad_tensors is not None:
        raise RuntimeError(
            "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
            "`backward()`: use `grad_tensors` alone."
        )
    return grad_variables


if TYPE_CHECKING:

    @overload
    def grad(  # type: ignore[overload-overlap]  # True is a bool too; the first that fits counts
        outputs: Outputs,
        inputs: Output | Sequence[Output],
        grad_outputs: Grads = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        only_inputs: bool = True,
        *,
        allow_unused: Literal[True],
        is_grads_batched: bool = False,
        materialize_grads: Literal[False] = False,
    ) -> tuple[Tensor | None, ...]: ...
    @overload
    def grad(
        outputs: Outputs,
        inputs: Output | Sequence[Output],
        grad_outputs: Grads = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        only_inputs: bool = True,
        allow_unused: bool | None = None,
        is_grads_batched: bool = False,
        materialize_grads: bool = False,
    ) -> tuple[Tensor, ...]: ...
    @overload
    def grad(
        outputs: Outputs,
        inputs: dict[str, Tensor],
        grad_outputs: Grads = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        only_inputs: bool = True,
        allow_unused: bool | None = None,
        is_grads_batched: bool = False,
        materialize_grads: bool = False,
    ) -> dict[str, Tensor]: ...


def grad(
    outputs: Outputs,
    inputs: Inputs,
    grad_outputs: Grads = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """Return the gradient of `outputs`, weighted by `grad_outputs`, with respect to each of `inputs`.

    Nothing is accumulated in `.grad`. If `inputs` is a dictionary, so is the result. An input that the
    outputs do not depend on raises; its gradient is None with `allow_unused`, zeros with
    `materialize_grads`. With `is_grads_batched`, each grad output and each result has an additional
    leading batch dimension.

    >>> import undertow as ut
    >>> x = ut.tensor(3.0, requires_grad=True)
    >>> (dx,) = ut.autograd.grad(x * x, x, create_graph=True)
    >>> dx, ut.autograd.grad(dx, x)
    (tensor(6., grad_fn=<AddBackward0>), (tensor(2.),))
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, "
            "but got: allow_unused=False."
        )
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    wanted = _as_inputs(inputs, "grad")
    roots = _as_outputs(outputs)
    if _has_torch_function(roots + wanted):
        from undertow.overrides import handle_torch_function

        results = handle_torch_function(
            grad,
            roots + wanted,
            roots,
            wanted,
            grad_outputs=grad_outputs,
            retain_graph=retain_graph,
            create_graph=create_graph,
            only_inputs=only_inputs,
            allow_unused=allow_unused,
            is_grads_batched=is_grads_batched,
            materialize_grads=materialize_grads,
        )
        return dict(zip(inputs, results, strict=True)) if isinstance(inputs, dict) else results
    if not only_inputs:
        _warn_only_inputs()
    grads = _make_grads(roots, _as_grads(grad_outputs, len(roots)), is_grads_batched)
    run = _run_batched if is_grads_batched else _engine_run_backward
    if _is_batched(roots + wanted):
        run = _run_under_vmap
    results = run(
        roots,
        grads,
        create_graph if retain_graph is None else retain_graph,
        create_graph,
        wanted,
        allow_unreachable=allow_unused,
        accumulate_grad=False,
    )
    if materialize_grads:
        results = _materialized(results, wanted, requires_grad=create_graph)
    if isinstance(inputs, dict):
        return dict(zip(inputs, results, strict=True))
    return results


def _warn_only_inputs() -> None:
    import warnings

    warnings.warn(
        "only_inputs argument is deprecated and is ignored now (defaults to True): to accumulate "
        "gradients in other leaves, use undertow.autograd.backward.",
        FutureWarning,
        stacklevel=3,
    )


def _materialized(
    results: tuple[Tensor | None, ...], inputs: tuple[Output, ...], requires_grad: bool
) -> tuple[Tensor, ...]:
    """Replace each gradient that is None by zeros."""
    made: list[Tensor] = []
    for result, wanted in zip(results, inputs, strict=True):
        if result is None:
            if not isinstance(wanted, Tensor):
                raise RuntimeError(
                    "materialize_grads cannot be used when the given input is a GradientEdge"
                )
            result = undertow.zeros_like(wanted, requires_grad=requires_grad)
        made.append(result)
    return tuple(made)


def _run_batched(
    outputs: tuple[Output, ...],
    grads: tuple[Tensor | None, ...],
    retain_graph: bool,
    create_graph: bool,
    inputs: tuple[Output, ...],
    **options: bool,
) -> tuple[Tensor | None, ...]:
    """Run the engine once for the whole batch, with gradients batched by vmap."""
    from undertow._vmap._levels import running
    from undertow._vmap._wrapping import expand_over_samples, make_batched, unwrap_level

    sizes = [g.shape[0] if g.dim() else None for g in grads if g is not None]
    if not sizes or None in sizes:
        raise ValueError(
            "grad: with is_grads_batched=True the first dimension of every grad_output must be the batch: "
            f"got batches of {sizes}"
        )
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    with running(sizes[0], internal=True) as level:
        rows = tuple(None if g is None else make_batched(g, level.number) for g in grads)
        results = _engine_run_backward(outputs, rows, retain_graph, create_graph, inputs, **options)
        values = []
        for g in results:
            value = None if g is None else unwrap_level(g, level.number)
            # A gradient that does not depend on the batch is the same for every row.
            values.append(expand_over_samples(g, level) if value is None and g is not None else value)
    return tuple(values)


def _run_under_vmap(
    outputs: tuple[Output, ...],
    grads: tuple[Tensor | None, ...],
    retain_graph: bool,
    create_graph: bool,
    inputs: tuple[Output, ...],
    **options: bool,
) -> tuple[Tensor | None, ...]:
    """Run the engine on the values of batched outputs and inputs; the graph belongs to the values."""
    from undertow._vmap._levels import vmaps
    from undertow._vmap._wrapping import lift, lower

    for i, o in enumerate(outputs):
        if isinstance(o, Tensor) and not o.requires_grad:
            raise RuntimeError(
                f"element {i} of tensors does not require grad and does not have a grad_fn"
            )
    levels = vmaps()
    results = _engine_run_backward(
        tuple(lower(o, levels) for o in outputs),  # type: ignore[arg-type]  # an edge raises
        tuple(None if g is None else lower(g, levels) for g in grads),
        retain_graph,
        create_graph,
        tuple(lower(x, levels) for x in inputs),  # type: ignore[arg-type]  # an edge raises
        **options,
    )
    return tuple(None if g is None else lift(g, levels) for g in results)


def _is_batched(tensors: tuple[Any, ...]) -> bool:
    return any(_C._batched_level(t) >= 0 for t in tensors)
