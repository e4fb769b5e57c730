"""Count the floating-point operations of matrix products, convolutions and attention in a block, by operator and module.

A `__torch_dispatch__` mode sees the operators of the forward and of the backward pass. Other operators are not counted, as in torch.
"""

from __future__ import annotations

from collections import defaultdict
from math import prod

import undertow
from undertow._ops import OpOverloadPacket
from undertow.ops import aten
from undertow.utils._python_dispatch import TorchDispatchMode
from undertow.utils.module_tracker import ModuleTracker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

__all__ = ["FlopCounterMode", "register_flop_formula"]

flop_registry: dict[Any, Callable[..., int]] = {}


def _shape(value: Any) -> Any:
    if isinstance(value, (list, tuple)) and any(isinstance(v, undertow.Tensor) for v in value):
        return type(value)(_shape(v) for v in value)
    return value.shape if isinstance(value, undertow.Tensor) else value


def shape_wrapper(f: Callable[..., int]) -> Callable[..., int]:
    """Return a function that calls `f` with the shapes of tensors instead of the tensors."""

    def counted(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        return f(*map(_shape, args), out_shape=_shape(out_val), **{name: _shape(value) for name, value in kwargs.items()})

    return counted


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Decorate a function that counts the operations of the given operators, such as `ops.aten.mm`.

    It gets the arguments with shapes in place of tensors, and the shape of the result as `out_shape`; with `get_raw`, the tensors themselves and
    `out_val`.

    >>> import undertow as ut
    >>> @register_flop_formula(ut.ops.aten.exp)
    ... def exp_flop(shape, out_shape=None, **kwargs):
    ...     return shape.numel()
    >>> with FlopCounterMode(display=False) as counter:
    ...     ut.ones(3).exp()
    tensor([2.7183, 2.7183, 2.7183])
    >>> counter.get_total_flops()
    3
    >>> _ = flop_registry.pop(ut.ops.aten.exp)
    """

    def register(f: Callable[..., int]) -> Callable[..., int]:
        formula = f if get_raw else shape_wrapper(f)
        for target in targets if isinstance(targets, (list, tuple)) else (targets,):
            if not isinstance(target, OpOverloadPacket):
                what = "expected each target to be OpOverloadPacket (i.e. torch.ops.mylib.foo)"
                raise ValueError(f"register_flop_formula(targets): {what}, got {target} which is of type {type(target)}")
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = formula
        return f

    return register


@register_flop_formula(aten.mm)
def mm_flop(a_shape: Sequence[int], b_shape: Sequence[int], *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """Count a product of matrices."""
    return a_shape[0] * b_shape[1] * 2 * a_shape[1]


@register_flop_formula(aten.addmm)
def addmm_flop(self_shape: Any, a_shape: Sequence[int], b_shape: Sequence[int], out_shape: Any = None, **kwargs: Any) -> int:
    """Count the product; the addition is not counted."""
    return mm_flop(a_shape, b_shape)


@register_flop_formula(aten.bmm)
def bmm_flop(a_shape: Sequence[int], b_shape: Sequence[int], out_shape: Any = None, **kwargs: Any) -> int:
    """Count a batch of products."""
    return a_shape[0] * mm_flop(a_shape[1:], b_shape[1:])


@register_flop_formula(aten.baddbmm)
def baddbmm_flop(self_shape: Any, a_shape: Sequence[int], b_shape: Sequence[int], out_shape: Any = None, **kwargs: Any) -> int:
    """Count a batch of products; the addition is not counted."""
    return bmm_flop(a_shape, b_shape)


def conv_flop_count(x_shape: Sequence[int], w_shape: Sequence[int], out_shape: Sequence[int], transposed: bool = False) -> int:
    """Count a convolution: every weight is used once at each position of the kernel, which moves over the output or, transposed, over the input."""
    return prod((x_shape if transposed else out_shape)[2:]) * prod(w_shape) * x_shape[0] * 2


@register_flop_formula(aten.convolution)
def conv_flop(
    x_shape: Any, w_shape: Any, _bias: Any, _stride: Any, _padding: Any, _dilation: Any, transposed: bool, *args: Any,
    out_shape: Any = None, **kwargs: Any,
) -> int:  # fmt: skip
    """Count a convolution."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed)


@register_flop_formula(aten.convolution_backward)
def conv_backward_flop(
    grad_out_shape: Any, x_shape: Any, w_shape: Any, _bias: Any, _stride: Any, _padding: Any, _dilation: Any, transposed: bool, _output_padding: Any,
    _groups: int, output_mask: Sequence[bool], out_shape: Any = None,
) -> int:  # fmt: skip
    """Count the gradients of a convolution for its input and its weight: each takes as many operations as the convolution."""
    return (bool(output_mask[0]) + bool(output_mask[1])) * conv_flop_count(x_shape, w_shape, grad_out_shape, transposed)


def sdpa_flop_count(query_shape: Any, key_shape: Any, value_shape: Any) -> int:
    """Count attention: two products for each head."""
    b, h, s_q, d_q = query_shape
    s_k, d_v = key_shape[-2], value_shape[-1]
    return bmm_flop((b * h, s_q, d_q), (b * h, d_q, s_k)) + bmm_flop((b * h, s_q, s_k), (b * h, s_k, d_v))


@register_flop_formula(aten._scaled_dot_product_flash_attention_for_cpu)
def sdpa_flop(query_shape: Any, key_shape: Any, value_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """Count attention."""
    return sdpa_flop_count(query_shape, key_shape, value_shape)


@register_flop_formula(aten._scaled_dot_product_flash_attention_for_cpu_backward)
def sdpa_backward_flop(grad_out_shape: Any, query_shape: Any, key_shape: Any, value_shape: Any, *args: Any, **kwargs: Any) -> int:
    """Count the gradients of attention: the scores are computed again, and there are two gradients for each of the two products."""
    b, h, s_q, d_q = query_shape
    s_k, d_v = key_shape[-2], value_shape[-1]
    heads = b * h
    scores = bmm_flop((heads, s_q, d_q), (heads, d_q, s_k))
    into_scores = bmm_flop((heads, s_q, d_v), (heads, d_v, s_k))
    into_value = bmm_flop((heads, s_k, s_q), (heads, s_q, d_v))
    into_query = bmm_flop((heads, s_q, s_k), (heads, s_k, d_q))
    into_key = bmm_flop((heads, d_q, s_q), (heads, s_q, s_k))
    return scores + into_scores + into_value + into_query + into_key


class FlopCounterMode:
    """Context manager that counts operations; with `display` it prints a table at the end, with modules down to `depth`.

    `custom_mapping` has functions for more operators, as `register_flop_formula` takes them.

    >>> import undertow as ut
    >>> with FlopCounterMode(display=False) as counter:
    ...     ut.nn.Linear(4, 8)(ut.ones(5, 4)).sum().backward()
    >>> counter.get_total_flops(), {str(op): n for op, n in counter.get_flop_counts()["Linear"].items()}
    (640, {'aten.addmm': 320, 'aten.mm': 320})
    """

    def __init__(self, mods: Any = None, depth: int | None = 2, display: bool = True, custom_mapping: dict[Any, Any] | None = None) -> None:
        if mods is not None:
            import warnings

            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=2)
        self.depth = depth
        self.display = display
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        custom = {op: f if getattr(f, "_get_raw", False) else shape_wrapper(f) for op, f in (custom_mapping or {}).items()}
        self.flop_registry: dict[Any, Callable[..., Any]] = flop_registry | custom
        self.mod_tracker: ModuleTracker = ModuleTracker()

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self._mode = _Counting(self)
        self._mode.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._mode.__exit__(*exception)
        self.mod_tracker.__exit__(*exception)
        if self.display:
            print(self.get_table(self.depth))

    def _count_flops(self, packet: Any, out: Any, args: Any, kwargs: Any) -> Any:
        if packet in self.flop_registry:
            flops = self.flop_registry[packet](*args, **kwargs, out_val=out)
            for name in set(self.mod_tracker.parents):
                self.flop_counts[name][packet] += flops
        return out

    # -- results ---------------------------------------------------------------------------------------------------

    def get_total_flops(self) -> int:
        """Return the total number of operations."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Return the counts by module ("Global" for all) and by operator."""
        return {name: dict(row) for name, row in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """Format the counts as a table."""
        depth = self.depth if depth is None else depth
        counts, total = self.get_flop_counts(), self.get_total_flops()
        unit, size = next(((u, s) for u, s in (("T", 10**12), ("B", 10**9), ("M", 10**6), ("K", 10**3)) if total >= s), ("", 1))
        rows = [("Module", "FLOP", "% Total")]

        def add(name: str, indent: str) -> None:
            row = counts[name]
            for label, flops in ((name, sum(row.values())), *((f" - {op}", n) for op, n in row.items())):
                rows.append((indent + label, f"{flops / size:.3f}{unit}" if unit else str(flops), f"{flops / total:.2%}" if total else "0%"))

        modules = sorted(name for name in counts if name != "Global" and (depth is None or name.count(".") < depth))
        if not any(sum(counts[name].values()) >= total for name in modules):
            add("Global", "")
        for name in modules:
            add(name, " " * (name.count(".") + (len(rows) > 1 and rows[1][0] == "Global")))
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = [f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}" for a, b, c in rows]
        return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])


class _Counting(TorchDispatchMode):
    """The mode of a counter."""

    def __init__(self, counter: FlopCounterMode) -> None:
        super().__init__()
        self.counter = counter

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        return self.counter._count_flops(func.overloadpacket, func(*args, **kwargs), args, kwargs)
