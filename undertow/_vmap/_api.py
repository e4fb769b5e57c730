"""`vmap`: inputs become batched tensors, the function runs once, its outputs become tensors again."""

from __future__ import annotations

import sys
from functools import partial, wraps

import undertow
from undertow import _C
from undertow._vmap._levels import alive, running
from undertow._vmap._wrapping import expand_over_samples, level_of, make_batched, value_of
from undertow.utils._pytree import TreeSpec, broadcast_to, tree_flatten, tree_unflatten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    InDims = int | tuple[Any, ...]
    OutDims = int | None | tuple[Any, ...]


def _name(func: Callable[..., Any]) -> str:
    if isinstance(func, partial):
        return f"functools.partial({_name(func.func)}, ...)"
    return getattr(func, "__name__", repr(func))


def _check_in_dim(who: str, x: Any, dim: Any) -> int | None:
    """Return the dimension to map over, non-negative; None if the input is not mapped over."""
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(
            f"{who}: Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
        )
    if not isinstance(x, _C.Tensor):
        raise ValueError(
            f"{who}: Got in_dim={dim} for an input but the input is of type {type(x)}. We cannot vmap "
            "over non-Tensor arguments, please use None as the respective in_dim"
        )
    if not -x.dim() <= dim < x.dim():
        raise ValueError(
            f"{who}: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality "
            f"{x.dim()} so expected in_dim to satisfy -{x.dim()} <= in_dim < {x.dim()}."
        )
    return dim % x.dim()


def _process_batched_inputs(in_dims: Any, args: tuple[Any, ...], func: Any) -> tuple[int, list[int | None], list[Any], TreeSpec]:
    """Return the batch size, the batch dimension of each leaf of the arguments, the leaves and their structure."""
    who = f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{who}: expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are "
            "trying to vmap over a function with no inputs. The latter is unsupported."
        )
    leaves, spec = tree_flatten(args)
    dims = broadcast_to(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"{who}: in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{tree_flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    checked = [_check_in_dim(who, x, d) for x, d in zip(leaves, dims, strict=True)]
    sizes = [x.shape[d] for x, d in zip(leaves, checked, strict=True) if d is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return sizes[0], checked, leaves, spec


def _check_out_dims(func: Any, out_dims: Any) -> None:
    if isinstance(out_dims, int):
        return
    if not all(d is None or isinstance(d, int) for d in tree_flatten(out_dims)[0]):
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a "
            "python collection of ints representing where in the outputs the vmapped dimension should "
            "appear."
        )


def _out_dims(func: Any, out_dims: Any, outputs: Any, spec: TreeSpec) -> list[int | None]:
    dims = broadcast_to(out_dims, spec)
    if dims is None and isinstance(outputs, _C.Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        dims = list(out_dims)
    if dims is None:
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with "
            f"the structure of `outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but outputs "
            f"has structure {spec}."
        )
    return dims


def _create_batched_inputs(flat_in_dims: list[int | None], flat_args: list[Any], vmap_level: int, args_spec: TreeSpec) -> Any:
    """Return the arguments, with batched tensors for those that are mapped over."""
    inputs = [x if d is None else add_batch_dim(x, d, vmap_level) for x, d in zip(flat_args, flat_in_dims, strict=True)]
    return tree_unflatten(inputs, args_spec)


def add_batch_dim(x: Any, in_dim: int, vmap_level: int) -> Any:
    """Return a batched tensor of a level, whose samples are the slices of `x` along a dimension."""
    return make_batched(x.movedim(in_dim, 0) if in_dim else x, vmap_level)


def remove_batch_dim(x: Any, vmap_level: int, batch_size: int, out_dim: int) -> Any:
    """Return the tensor with the samples of a level along a dimension; a tensor that is not batched there is expanded."""
    value = value_of(x) if level_of(x) == vmap_level else expand_over_samples(x, alive[vmap_level])
    return value.movedim(0, out_dim) if out_dim else value


def _maybe_remove_batch_dim(name: str, batched_output: Any, vmap_level: int, batch_size: int, out_dim: int | None) -> Any:
    """Return an output of the function as a tensor outside of the level, or as it is if `out_dim` is None."""
    if out_dim is None:
        if isinstance(batched_output, _C.Tensor) and level_of(batched_output) == vmap_level:
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return batched_output
    if not isinstance(batched_output, _C.Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(batched_output)}. "
            "Did you mean to set out_dims= to None for output?"
        )
    return remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)


def _unwrap_batched(batched_outputs: Any, out_dims: Any, vmap_level: int, batch_size: int, func: Any) -> Any:
    """Return the outputs as tensors outside of the level."""
    found, spec = tree_flatten(batched_outputs)
    places, name = _out_dims(func, out_dims, batched_outputs, spec), _name(func)
    return tree_unflatten([_maybe_remove_batch_dim(name, x, vmap_level, batch_size, d) for x, d in zip(found, places, strict=True)], spec)


# Where vmap looks up `_process_batched_inputs`, `_create_batched_inputs` and `_unwrap_batched`. Programs written for torch replace these functions
# in torch._functorch.vmap, to map over containers of their own; as_torch then sets that module here.
steps: Any = sys.modules[__name__]


def _map_once(
    func: Callable[..., Any], out_dims: Any, randomness: str, size: int, dims: list[int | None], leaves: list[Any], spec: TreeSpec,
    kwargs: dict[str, Any], *, internal: bool = False, only_tangents: bool = False, steps: Any = sys.modules[__name__],
) -> Any:
    """Run the function once, on batched tensors; return its outputs."""
    with running(size, randomness, internal=internal, only_tangents=only_tangents) as level:
        inputs = steps._create_batched_inputs(dims, leaves, level.number, spec)
        return steps._unwrap_batched(func(*inputs, **kwargs), out_dims, level.number, size, func)


def vmap(
    func: Callable[..., Any], in_dims: InDims = 0, out_dims: OutDims = 0, randomness: str = "error", *, chunk_size: int | None = None
) -> Callable[..., Any]:
    """Return a function that maps `func` over a dimension of its inputs, computing all samples at once.

    `in_dims` is the dimension of each input to map over, None for an input that is the same for every
    sample: one int for all inputs, or a tuple nested like the positional arguments. `out_dims` is the
    position of the mapped dimension in the outputs. Keyword arguments are not mapped over. `randomness`
    ("error", "same" or "different") controls random operators. `chunk_size` is the number of samples to
    compute at a time.

    >>> import undertow as ut
    >>> ut.vmap(ut.dot)(ut.tensor([[1.0, 2.0], [3.0, 4.0]]), ut.ones(2, 2))
    tensor([3., 7.])
    >>> ut.vmap(ut.vmap(ut.mul, (None, 0)), (0, None))(ut.tensor([1, 2, 3]), ut.tensor([1, 2]))
    tensor([[1, 2],
            [2, 4],
            [3, 6]])
    """
    _check_randomness(randomness)
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        _check_out_dims(func, out_dims)
        size, dims, leaves, spec = steps._process_batched_inputs(in_dims, args, func)
        if chunk_size is None or chunk_size >= size:
            return _map_once(func, out_dims, randomness, size, dims, leaves, spec, kwargs, steps=steps)
        return _in_chunks(func, out_dims, randomness, chunk_size, size, dims, leaves, spec, kwargs)

    return mapped


def vmap_over_tangents(func: Callable[..., Any], randomness: str) -> Callable[..., Any]:
    """vmap over the first dimension of tensors that `func` uses as tangents only: no value differs between the samples."""
    _check_randomness(randomness)

    @wraps(func)
    def mapped(*args: Any) -> Any:
        size, dims, leaves, spec = _process_batched_inputs(0, args, func)
        # Random numbers that differ between the samples are values that differ.
        only = randomness != "different"
        return _map_once(func, 0, randomness, size, dims, leaves, spec, {}, only_tangents=only)

    return mapped


def _internal_vmap(func: Callable[..., Any], randomness: str = "different") -> Callable[..., Any]:
    """vmap over the first dimension, for internal use: the function may set requires_grad."""

    def mapped(*args: Any) -> Any:
        size, dims, leaves, spec = _process_batched_inputs(0, args, func)
        return _map_once(func, 0, randomness, size, dims, leaves, spec, {}, internal=True)

    return mapped


def _check_randomness(randomness: str) -> None:
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
        )


def _in_chunks(
    func: Callable[..., Any], out_dims: Any, randomness: str, chunk: int, size: int, dims: list[int | None], leaves: list[Any],
    spec: TreeSpec, kwargs: dict[str, Any],
) -> Any:
    """Map in chunks of samples; for randomness "same", each chunk starts from the same generator state."""
    state = undertow.get_rng_state() if randomness == "same" else None
    bounds = list(range(chunk, size, chunk))
    cut = [None if d is None else x.tensor_split(bounds, d) for x, d in zip(leaves, dims, strict=True)]
    parts: list[list[Any]] = []
    for k in range(len(bounds) + 1):
        if state is not None:
            undertow.set_rng_state(state)
        some = [x if pieces is None else pieces[k] for x, pieces in zip(leaves, cut, strict=True)]
        length = min(chunk, size - k * chunk)
        outputs = _map_once(func, out_dims, randomness, length, dims, some, spec, kwargs, steps=steps)
        results, out_spec = tree_flatten(outputs)
        parts.append(results)
    places = _out_dims(func, out_dims, outputs, out_spec)
    joined = [
        each[0] if d is None else undertow.cat(each, d)
        for each, d in zip(zip(*parts, strict=True), places, strict=True)
    ]
    return tree_unflatten(joined, out_spec)


__all__ = ["vmap"]
