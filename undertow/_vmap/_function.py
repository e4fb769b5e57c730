"""Custom Functions under vmap: call their own `vmap`, or with `generate_vmap_rule` create a Function over all samples."""

from __future__ import annotations

from undertow import _C
from undertow._vmap._levels import Level, alive, outside, running
from undertow._vmap._wrapping import expand_over_samples, level_of, make_batched, value_of
from undertow.autograd.function import Function
from undertow.utils._pytree import broadcast_to, tree_flatten, tree_map, tree_unflatten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from undertow import Tensor


class VmapInfo(tuple):
    """Information for a Function's `vmap`: the batch size and the randomness mode."""

    __slots__ = ()
    _fields = ("batch_size", "randomness")

    def __new__(cls, batch_size: int, randomness: str) -> VmapInfo:
        return tuple.__new__(cls, (batch_size, randomness))

    @property
    def batch_size(self) -> int:
        """The number of samples."""
        return self[0]

    @property
    def randomness(self) -> str:
        """The `randomness` of vmap: "error", "same" or "different"."""
        return self[1]

    def __repr__(self) -> str:
        return f"VmapInfo(batch_size={self.batch_size}, randomness={self.randomness!r})"


def _is_batched(x: Any, level: Level) -> bool:
    return isinstance(x, _C.Tensor) and level_of(x) == level.number


def _running(number: int, name: str) -> Level:
    level = alive.get(number)
    if level is None:
        raise RuntimeError(
            "Either your tensor may have escaped from inside a function being vmapped and this is a user "
            f"error, or the vmap has ended: {name} got a tensor of a vmap that no longer runs"
        )
    return level


def apply(cls: type[Function], args: tuple[Any, ...]) -> Any:
    """Run `cls.apply(*args)` where at least one argument is a batched tensor, or a container with one."""
    number = max(level_of(a) for a in tree_flatten(args)[0] if isinstance(a, _C.Tensor))
    has_own = cls.vmap is not Function.vmap
    if cls.generate_vmap_rule:
        if has_own:
            raise RuntimeError(
                f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an "
                "overridden vmap staticmethod. Please set generate_vmap_rule=False or delete the overridden "
                "vmap staticmethod to avoid ambiguity."
            )
        return _generated(cls, _running(number, cls.__name__), args)
    if not has_own:
        _running(number, cls.__name__)
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and "
            "implement the vmap staticmethod or set generate_vmap_rule=True."
        )
    return apply_rule(cls.vmap, cls.__name__, number, args, {})


def apply_rule(rule: Callable[..., Any], name: str, number: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Let a rule `rule(info, in_dims, *args, **kwargs)`, which returns results and their batch dimensions, compute one level of vmap."""
    level = _running(number, name)
    in_dims = tree_map(lambda a: 0 if _is_batched(a, level) else None, args)
    values, named = tree_map(lambda a: value_of(a) if _is_batched(a, level) else a, (args, kwargs))
    assert level.size is not None
    with outside(level):
        result = rule(VmapInfo(level.size, level.randomness), in_dims, *values, **named)
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"Expected the vmap staticmethod of {name} to have two returns, an output and out_dims "
            "with pytree structure compatible with the output."
        )
    output, out_dims = result
    leaves, spec = tree_flatten(output)
    dims = broadcast_to(out_dims, spec)
    if dims is None:
        raise RuntimeError(
            f"The vmap staticmethod of {name} returned an incompatible (output, out_dims) tuple. "
            f"out_dims has structure {tree_flatten(out_dims)[1]} but output has structure {spec}."
        )
    wrapped = [
        t if d is None or not isinstance(t, _C.Tensor) else make_batched(t.movedim(d, 0) if d else t, level.number)
        for t, d in zip(leaves, dims, strict=True)
    ]
    return tree_unflatten(wrapped, spec)


# ---- generate_vmap_rule ----


class _Context:
    """The ctx of one sample, passed to the user's methods; the Function over all samples has the real ctx."""

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self.saved_tensors: tuple[Any, ...] = ()
        self.materialize_grads = True
        self._saved: tuple[Any, ...] = ()
        self._saved_for_forward: tuple[Any, ...] | None = None
        self._constant: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        self._saved = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        self._saved_for_forward = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self._constant = tensors

    def set_materialize_grads(self, value: bool) -> None:
        self.materialize_grads = value

    def mark_dirty(self, *tensors: Any) -> None:
        raise NotImplementedError(
            "generate_vmap_rule: a forward that changes its inputs in place needs a vmap staticmethod of its own"
        )


class _Kept:
    """Tensors kept across levels: batched tensors are stored as values and batched again at the next level."""

    def __init__(self, tensors: tuple[Any, ...], level: Level) -> None:
        self.flags = [_is_batched(t, level) for t in tensors]
        self.values = [value_of(t) if b else t for t, b in zip(tensors, self.flags, strict=True)]

    def at(self, values: Any, level: Level) -> tuple[Any, ...]:
        return tuple(make_batched(t, level.number) if b else t for t, b in zip(values, self.flags, strict=True))


def _wrapped(values: Any, flags: list[Any], level: Level) -> list[Any]:
    return [_batched_where(v, b, level) for v, b in zip(values, flags, strict=True)]


def _batched_where(value: Any, flag: Any, level: Level) -> Any:
    """Batch a tensor if the flag is set; for a container, the flag is one too, with one for each item."""
    if isinstance(flag, bool):
        return make_batched(value, level.number) if flag and isinstance(value, _C.Tensor) else value
    leaves, spec = tree_flatten(value)
    return tree_unflatten(_wrapped(leaves, tree_flatten(flag)[0], level), spec)


def _generated(cls: type[Function], level: Level, args: tuple[Any, ...]) -> Any:
    """Run the user's forward, backward and jvp, each under its own vmap, in one Function over the values."""
    flags = [tree_map(lambda t: _is_batched(t, level), a) for a in args]
    values = [tree_map(lambda t: value_of(t) if _is_batched(t, level) else t, a) for a in args]
    assert level.size is not None
    batch, randomness = level.size, level.randomness
    shapes: dict[str, Any] = {}

    def forward(ctx: Any, *operands: Any) -> Any:
        inner = _Context(ctx.needs_input_grad)
        with running(batch, randomness) as own:
            inputs = tuple(_wrapped(operands, flags, own))
            if cls.setup_context is Function.setup_context:
                output = cls.forward(inner, *inputs)
            else:
                output = cls.forward(*inputs)
                cls.setup_context(inner, inputs, output)
            outputs = output if isinstance(output, tuple) else (output,)
            out = _Kept(outputs, own)
            saved = _Kept(inner._saved, own)
            forward_saved = None if inner._saved_for_forward is None else _Kept(inner._saved_for_forward, own)
            constant = [i for i, o in enumerate(outputs) if any(o is c for c in inner._constant)]
        shapes.update(is_tuple=isinstance(output, tuple), flags=out.flags)
        ctx.inner, ctx.kept, ctx.out_flags = inner, saved, out.flags
        ctx.save_for_backward(*saved.values)
        if forward_saved is not None:
            ctx.kept_for_forward = forward_saved
            ctx.save_for_forward(*forward_saved.values)
        ctx.mark_non_differentiable(*(out.values[i] for i in constant))
        ctx.set_materialize_grads(inner.materialize_grads)
        return tuple(out.values)

    def backward(ctx: Any, *grads: Any) -> Any:
        with running(batch, randomness) as own:
            inner = ctx.inner
            inner.saved_tensors = ctx.kept.at(ctx.saved_tensors, own)
            method = cls.backward if cls.backward is not Function.backward else cls.vjp
            found = method(inner, *_wrapped(grads, ctx.out_flags, own))
            found = found if isinstance(found, tuple) else (found,)
            return tuple(_gradient(g, b, own) for g, b in zip(found, flags, strict=True))

    def jvp(ctx: Any, *tangents: Any) -> Any:
        with running(batch, randomness) as own:
            inner = ctx.inner
            kept = getattr(ctx, "kept_for_forward", ctx.kept)
            inner.saved_tensors = kept.at(ctx.saved_tensors, own)
            found = cls.jvp(inner, *_wrapped(tangents, flags, own))
            found = found if isinstance(found, tuple) else (found,)
            return tuple(_tangent(t, b, own) for t, b in zip(found, ctx.out_flags, strict=True))

    body: dict[str, Any] = {"forward": staticmethod(forward), "backward": staticmethod(backward), "generate_vmap_rule": True}
    if cls.jvp is not Function.jvp:
        body["jvp"] = staticmethod(jvp)
    over_samples: type[Function] = type(f"Vmapped{cls.__name__}", (Function,), body)
    with outside(level):
        results = over_samples.apply(*values)
    wrapped = _wrapped(results, shapes["flags"], level)
    return tuple(wrapped) if shapes["is_tuple"] else wrapped[0]


def _gradient(g: Any, input_is_batched: bool, level: Level) -> Any:
    """Sum the gradients over the samples if the input is shared by all of them."""
    if not isinstance(g, _C.Tensor):
        return g
    if _is_batched(g, level):
        return value_of(g) if input_is_batched else value_of(g).sum(0)
    return expand_over_samples(g, level) if input_is_batched else g * level.size


def _tangent(t: Any, output_is_batched: bool, level: Level) -> Tensor | None:
    if not isinstance(t, _C.Tensor):
        return None
    if _is_batched(t, level):
        return value_of(t)
    return expand_over_samples(t, level) if output_is_batched else t
