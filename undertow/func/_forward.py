"""`jvp` and `linearize`: forward mode as function transforms."""

from __future__ import annotations

import undertow
from undertow import _C
from undertow._vmap._levels import innermost_grad, outside_inference_mode, running
from undertow._vmap._wrapping import make_dual, physical, unpack_dual
from undertow.autograd import forward_ad
from undertow.func._reverse import check_tensors, output_and_aux, recordable, vjp, vjp_among
from undertow.utils._pytree import TreeSpec, tree_flatten, tree_unflatten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from undertow import Tensor

_WHO = "jvp(f, primals, tangents)"


def _check(primals: Any, tangents: Any) -> tuple[list[Any], list[Any], TreeSpec]:
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{_WHO}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    flat, spec = tree_flatten(primals)
    flat_tangents, tangents_spec = tree_flatten(tangents)
    if spec != tangents_spec:
        raise RuntimeError(
            f"{_WHO}: Expected primals and tangents to have the same python structure. For example, if "
            "primals is a tuple of 3 tensors, tangents also must be. Got primals with structure "
            f"{spec} and tangents with structure {tangents_spec}"
        )
    for which, leaves in (("primals", flat), ("tangents", flat_tangents)):
        if not leaves:
            raise RuntimeError(f"{_WHO}: Expected {which} to contain at least one Tensor.")
        for leaf in leaves:
            if not isinstance(leaf, _C.Tensor):
                raise RuntimeError(f"{_WHO}: Expected {which} to only contain Tensors, got {type(leaf)}")
    for x, t in zip(flat, flat_tangents, strict=True):
        for name, value in (("primal", x), ("tangent", t)):
            if not (value.is_floating_point() or value.is_complex()):
                raise ValueError(f"Expected {name} to be floating point or complex, but got: {value.dtype}")
        if x.shape != t.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the original "
                f"Tensor, this is not supported. Tensor is of size {list(x.shape)} while the given forward "
                f"gradient is of size {list(t.shape)}."
            )
    return flat, flat_tangents, spec


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """Return the output of `func` at `primals`, and its derivative in the direction of `tangents`.

    With `strict`, an output that does not depend on the primals raises; otherwise its derivative is
    zeros. With `has_aux`, func returns (output, aux), and aux is the third result.

    >>> import undertow as ut
    >>> ut.func.jvp(ut.sin, (ut.zeros(2),), (ut.ones(2),))
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    return jvp_among(primals, func, primals, tangents, strict, has_aux)


def jvp_among(arguments: Any, func: Callable[..., Any], primals: Any, tangents: Any, strict: bool, has_aux: bool) -> Any:
    """`jvp(func, primals, tangents)` for a function that may write to the tensors in `arguments`."""
    flat, directions, spec = _check(primals, tangents)
    with outside_inference_mode():
        flat, directions = [recordable(x) for x in flat], [recordable(t) for t in directions]
    if forward_ad._current_level >= 0:
        return _by_pulling_twice(arguments, func, flat, directions, spec, strict, has_aux)
    # Enabled also inside of a custom Function's forward.
    with running(arguments=(*tree_flatten(arguments)[0], *directions)), forward_ad.dual_level(), forward_ad._set_fwd_grad_enabled(True):
        duals = [make_dual(x, t) for x, t in zip(flat, directions, strict=True)]
        result = func(*tree_unflatten(duals, spec))
        output, aux = output_and_aux(result, has_aux, _WHO)
        leaves, out_spec = tree_flatten(output)
        check_tensors(leaves, f"{_WHO}: expected f(*primals)")
        halves = [unpack_dual(t) for t in leaves]
        if strict and any(t is None for _, t in halves):
            _raise_independent()
        moved = [undertow.zeros_like(p) if t is None else t for p, t in halves]
        out = tree_unflatten([p for p, _ in halves], out_spec), tree_unflatten(moved, out_spec)
        return (*out, _primals_of(aux)) if has_aux else out


def _raise_independent() -> None:
    raise RuntimeError(
        "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is "
        "not allowed with strict=True."
    )


def _primals_of(aux: Any) -> Any:
    leaves, spec = tree_flatten(aux)
    for leaf in leaves:
        if not isinstance(leaf, _C.Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(leaf)}")
    return tree_unflatten([unpack_dual(t)[0] for t in leaves], spec)


def _by_pulling_twice(
    arguments: Any, func: Any, flat: list[Tensor], directions: list[Tensor], spec: TreeSpec, strict: bool, has_aux: bool
) -> Any:
    """Compute a jvp inside another jvp with reverse mode, because one level of tangents is already open.

    The vjp is linear in the cotangent, so the vjp of the vjp is the jvp.
    """

    def checked(*args: Any) -> Any:
        level = innermost_grad()
        assert level is not None
        level.by_reverse = True
        result = func(*args)
        output, _ = output_and_aux(result, has_aux, _WHO)
        leaves, _ = tree_flatten(output)
        check_tensors(leaves, f"{_WHO}: expected f(*primals)")
        if strict and not all(physical(t).requires_grad for t in leaves):
            _raise_independent()
        return result

    output, push, *aux = _linearize(arguments, checked, flat, spec, has_aux)
    return (output, push(directions), *aux)


def _linearize(arguments: Any, func: Any, flat: list[Tensor], spec: TreeSpec, has_aux: bool = False) -> Any:
    """Return the output, a function that maps a list of tangents to the output's tangents, and aux."""

    def on_leaves(*leaves: Any) -> Any:
        return func(*tree_unflatten(leaves, spec))

    output, pull, *aux = vjp_among(arguments, on_leaves, tuple(flat), has_aux)
    leaves, out_spec = tree_flatten(output)
    zeros = [undertow.zeros_like(t) for t in leaves]

    def pull_flat(*cotangents: Any) -> Any:
        return pull(tree_unflatten(cotangents, out_spec), create_graph=True)

    _, push = vjp(pull_flat, *zeros)

    def moved(tangents: list[Tensor]) -> Any:
        return tree_unflatten(push(tuple(tangents)), out_spec)

    return (output, moved, *aux)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Return the output of `func` at `primals`, and a function that maps tangents to the output's tangents.

    `func` runs once for any number of tangents; `jvp` runs it for each.

    >>> import undertow as ut
    >>> output, push = ut.func.linearize(ut.sin, ut.zeros(2))
    >>> push(ut.ones(2))
    tensor([1., 1.])
    """
    flat, spec = tree_flatten(primals)
    for leaf in flat:
        if not isinstance(leaf, _C.Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(leaf)}")
    output, moved = _linearize(flat, func, flat, spec)

    def push(*tangents: Any) -> Any:
        given, given_spec = tree_flatten(tangents)
        if given_spec != spec:
            raise RuntimeError(
                f"Expected the tangents {given_spec} to have the same argspec as the primals {spec}"
            )
        for i, (t, x) in enumerate(zip(given, flat, strict=True)):
            for what in ("shape", "dtype"):
                got, wanted = getattr(t, what), getattr(x, what)
                if got != wanted:
                    raise RuntimeError(
                        f"tangent:{i} with {what} {got} in flattened pytree doesn't match the {what} "
                        f"{wanted} of the corresponding primal."
                    )
        return moved(given)

    return output, push
