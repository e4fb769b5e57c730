"""`grad`, `grad_and_value` and `vjp`: reverse mode as function transforms.

Note [Transforms In One Graph]: There is one graph. The inputs of a transform are views with history if the
caller differentiates with respect to them too, otherwise new leaves. Under vmap they are batched at every active
level, so each sample has its own row of the value, and the gradient of a sum over samples gives the gradient of
each sample. The map of jacfwd over its tangents is an exception: there all samples have one value, and a function
may write it into tensors that are not batched. Outputs are detached if their history leads only to the new leaves, so that they do not require grad
outside of the transform.
"""

from __future__ import annotations

from functools import wraps

import undertow
from undertow import _C
from undertow._vmap._levels import Level, outside_inference_mode, running, vmaps
from undertow._vmap._wrapping import level_of, lift, lower, make_batched, physical, unwrap_level, value_of
from undertow.autograd import enable_grad
from undertow.autograd.graph import _engine_run_backward
from undertow.utils._pytree import TreeSpec, tree_flatten, tree_unflatten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from undertow import Tensor

    ArgNums = int | tuple[int, ...]


def _tangent_of(t: Tensor) -> Tensor | None:
    return _C._unpack_dual(t)[1]


def recordable(t: Tensor) -> Tensor:
    """Return `t`; a copy if it is an inference tensor, which may neither require grad nor be saved."""
    return t.clone() if physical(t).is_inference() else t


def _levels_for(primals: Sequence[Any]) -> list[Level]:
    """Return the active vmaps at which the inputs of a transform must be batched."""
    tensors = [x for x in primals if isinstance(x, _C.Tensor)]
    return [level for level in vmaps() if not level.only_tangents or any(unwrap_level(x, level.number) is not None for x in tensors)]


class Tape:
    """The inputs of one transform that differentiates, and the gradients of its outputs with respect to them."""

    def __init__(self, primals: Sequence[Any]) -> None:
        self.levels = _levels_for(primals)
        self.outer_records = undertow.is_grad_enabled()
        self.leaves: list[Tensor] = []
        self.values = [self._input(x) for x in primals]  # the tensors to differentiate with respect to
        self.versions = [v._version for v in self.values]
        self.inputs = [lift(v, self.levels) for v in self.values]  # the arguments of the function

    def _input(self, x: Any) -> Tensor:
        if not isinstance(x, _C.Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
        value = lower(x, self.levels)
        if value.requires_grad:  # also in no_grad: the function that vjp returns may be called where gradients are recorded
            with enable_grad():
                return value[...]  # its gradient is no view, unlike that of view_as: a caller may write to it
        leaf = recordable(value.detach())
        leaf.requires_grad = True
        self.leaves.append(leaf)
        tangent = _tangent_of(value)
        return leaf if tangent is None else _C._make_dual(leaf, tangent)

    def end_forward(self) -> None:
        """Called after the function has returned: from now on only gradients() differentiates with respect to the new leaves."""
        self._let_leaves_require(False)

    def _let_leaves_require(self, grad: bool) -> None:
        for leaf in self.leaves:
            leaf.requires_grad = grad

    def check_not_written(self) -> None:
        for value, version in zip(self.values, self.versions, strict=True):
            if value._version != version and value.grad_fn is not None and value._is_view():
                raise RuntimeError(
                    "a leaf Variable that requires grad is being used in an in-place operation: an "
                    "input of a function that is being differentiated was modified; clone it first"
                )

    def detach_output(self, t: Tensor, records: bool | None = None) -> Tensor:
        """Return an output for the caller: with history only if it leads beyond the transform's own leaves.

        `records`: whether the caller records; by default, whether it did when the transform started.
        """
        records = self.outer_records if records is None else records
        number = level_of(t)
        if number >= 0:
            return make_batched(self.detach_output(value_of(t), records), number)
        tangent = _tangent_of(t)
        kept = t if not t.requires_grad or (records and self._leads_out(t)) else t.detach()
        if tangent is None or (kept is t and not physical(tangent).requires_grad):
            return kept
        return _C._make_dual(_C._unpack_dual(kept)[0], self.detach_output(tangent, records))

    def _leads_out(self, t: Tensor) -> bool:
        return _C._reaches_other_leaves(t, tuple(self.leaves))

    def _depends_on_others(self, t: Tensor) -> bool:
        """Whether derivatives of `t`, or of its tangent, can be asked for outside of the transform."""
        tangent = _tangent_of(t)
        return self._leads_out(t) or (tangent is not None and self._leads_out(physical(tangent)))

    def gradients(self, outputs: Sequence[Tensor], cotangents: Sequence[Tensor], retain_graph: bool, create_graph: bool) -> list[Tensor]:
        """Return the gradients of values produced by lower(), weighted by cotangents of the same shape."""
        found: Sequence[Tensor | None] = [None] * len(self.values)
        self._let_leaves_require(True)  # before checking requires_grad, because an output may be a leaf itself
        try:
            kept = [(o, v) for o, v in zip(outputs, cotangents, strict=True) if o.requires_grad]
            if kept and self.values:
                roots, weights = (tuple(side) for side in zip(*kept, strict=True))
                create = create_graph and any(map(self._depends_on_others, (*roots, *map(physical, weights))))
                found = _engine_run_backward(
                    roots, weights, retain_graph or create, create, tuple(self.values), allow_unreachable=True, accumulate_grad=False
                )
        finally:
            self._let_leaves_require(False)
        return [
            lift(undertow.zeros_like(value) if g is None else self.detach_output(g, create_graph), self.levels)
            for value, g in zip(self.values, found, strict=True)
        ]


# ---- arguments ----


def check_argnums(argnums: Any, count: int) -> tuple[int, ...]:
    """Return the non-negative positions of the arguments to differentiate with respect to."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    given = (argnums,) if isinstance(argnums, int) else argnums
    if not given:
        raise RuntimeError("argnums must be non-empty")
    for n in given:
        if not isinstance(n, int):
            raise RuntimeError(f"argnum must be int, got: {type(n)}")
        if not -count <= n < count:
            raise RuntimeError(f"Got argnum={n}, but only {count} positional inputs")
    positive = tuple(n % count for n in given)
    if len(set(positive)) != len(positive):
        raise RuntimeError(f"argnums elements must be unique, got {positive}")
    return positive


def replaced(args: tuple[Any, ...], argnums: tuple[int, ...], values: Sequence[Any]) -> tuple[Any, ...]:
    out = list(args)
    for n, v in zip(argnums, values, strict=True):
        out[n] = v
    return tuple(out)


def check_tensors(leaves: list[Any], who: str) -> None:
    if not leaves or (len(leaves) == 1 and leaves[0] is None):
        raise RuntimeError(f"{who.partition(': expected')[0]}: Expected f to be a function that has non-empty output (got output = {leaves})")
    for leaf in leaves:
        if not isinstance(leaf, _C.Tensor):
            raise RuntimeError(f"{who} to return only tensors, got unsupported type {type(leaf)}")


def output_and_aux(output: Any, has_aux: bool, who: str) -> tuple[Any, Any]:
    if not has_aux:
        return output, None
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(
            f"{who}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    return output


def detach_aux(tape: Tape, aux: Any) -> Any:
    leaves, spec = tree_flatten(aux)
    for leaf in leaves:
        if not isinstance(leaf, _C.Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(leaf)}")
    return tree_unflatten([tape.detach_output(t) for t in leaves], spec)


# ---- transforms ----


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Return the output of `func` at `primals`, and a function that maps cotangents of the output to gradients of the primals.

    With `has_aux`, func returns (output, aux), and aux is the third result.

    >>> import undertow as ut
    >>> output, pull = ut.func.vjp(ut.sin, ut.zeros(2))
    >>> pull(ut.ones(2))
    (tensor([1., 1.]),)
    """
    return vjp_among(primals, func, primals, has_aux)


def vjp_among(arguments: Any, func: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool) -> Any:
    """`vjp(func, *primals)` for a function that may write to the tensors in `arguments`."""
    leaves, spec = tree_flatten(primals)
    with running(arguments=tuple(tree_flatten(arguments)[0])):
        tape = Tape(leaves)
        with enable_grad():
            result = func(*tree_unflatten(tape.inputs, spec))
            tape.check_not_written()
            output, aux = output_and_aux(result, has_aux, "vjp(f, *primals)")
            flat, out_spec = tree_flatten(output)
            check_tensors(flat, "vjp(f, *primals): expected f(*primals)")
            for t in flat:
                if not (t.is_floating_point() or t.is_complex()):
                    raise RuntimeError(f"vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype {t.dtype}")
            values = [lower(t, tape.levels) for t in flat]
        tape.end_forward()
        aux = detach_aux(tape, aux) if has_aux else None
    shown = tree_unflatten([tape.detach_output(t) for t in flat], out_spec)
    pull = _puller(tape, values, out_spec, spec)
    return (shown, pull, aux) if has_aux else (shown, pull)


def _puller(tape: Tape, values: list[Tensor], out_spec: TreeSpec, spec: TreeSpec) -> Callable[..., Any]:
    def pull(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        flat, given = tree_flatten(cotangents)
        if given != out_spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs "
                f"to the function. cotangents: {given}, primal output: {out_spec}"
            )
        weights = [lower(v, tape.levels) for v in flat]
        for i, (o, v) in enumerate(zip(values, weights, strict=True)):
            if o.shape != v.shape:
                n = len(tape.levels)
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{i}] has a shape of {v.shape[n:]} and output[{i}] has "
                    f"a shape of {o.shape[n:]}."
                )
        records = undertow.is_grad_enabled() if create_graph is None else create_graph
        with outside_inference_mode():
            return tree_unflatten(tape.gradients(values, [recordable(w) for w in weights], retain_graph, records), spec)

    return pull


def grad_and_value(func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the gradient of `func`'s scalar output, and the output.

    With `has_aux`, func returns (output, aux), and the result is (gradient, (output, aux)).

    >>> import undertow as ut
    >>> ut.func.grad_and_value(lambda x: (x * x).sum())(ut.tensor([1.0, 2.0]))
    (tensor([2., 4.]), tensor(5.))
    """

    @wraps(func)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        positions = check_argnums(argnums, len(args))
        leaves, spec = tree_flatten(tuple(args[n] for n in positions))
        with running(arguments=tuple(tree_flatten((args, kwargs))[0])):
            tape = Tape(leaves)
            with enable_grad():
                inputs = replaced(args, positions, tree_unflatten(tape.inputs, spec))
                result = func(*inputs, **kwargs)
                tape.check_not_written()
                output, aux = output_and_aux(result, has_aux, "grad_and_value(f)(*args)")
                _check_scalar(output)
                value = lower(output, tape.levels)
            tape.end_forward()
            aux = detach_aux(tape, aux) if has_aux else None
            grads = tape.gradients([value], [undertow.ones_like(value)], False, tape.outer_records)
        found = tree_unflatten(grads, spec)
        gradient = found[0] if isinstance(argnums, int) else found
        shown = tape.detach_output(output)
        return gradient, ((shown, aux) if has_aux else shown)

    return transformed


def _check_scalar(output: Any) -> None:
    who = "grad_and_value(f)(*args): Expected f(*args) to return a"
    if not isinstance(output, _C.Tensor):
        raise RuntimeError(f"{who} Tensor, got {type(output)}")
    if output.dim():
        raise RuntimeError(
            f"{who} scalar Tensor, got tensor with {output.dim()} dims. Maybe you wanted to use the vjp "
            "or jacrev APIs instead?"
        )
    if not output.is_floating_point():
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs but got {output.dtype}"
        )


def grad(func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the gradient of `func`'s scalar output with respect to the arguments at `argnums`.

    With `has_aux`, func returns (output, aux), and the result is (gradient, aux). Transforms
    can be nested; under vmap every sample has its own gradient.

    >>> import undertow as ut
    >>> ut.func.grad(ut.func.grad(lambda x: x**3))(ut.tensor(2.0))
    tensor(12.)
    >>> w, x = ut.ones(2), ut.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> ut.vmap(ut.func.grad(lambda w, x: (w @ x).sin()), (None, 0))(w, x)
    tensor([[-0.9900, -1.9800],
            [ 2.2617,  3.0156]])
    """
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return transformed
