"""`FlopCounterMode`: how many floating point operations products and convolutions take, by module, as torch.utils.flop_counter.

Counted where the program calls them, so a backward pass is not seen: what is recorded for one is refused rather than counted by half.
"""

from __future__ import annotations

from collections import defaultdict
from math import prod

import undertow
from undertow.overrides import TorchFunctionMode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["FlopCounterMode"]

_PRODUCTS = ("linear", "matmul", "__matmul__", "mm", "bmm", "mv", "addmm", "addmm_", "baddbmm", "baddbmm_", "einsum", "bilinear", "dot", "addmv")
_CONVOLUTIONS = ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
_OTHERS = ("scaled_dot_product_attention", "multi_head_attention_forward", "lstm", "gru", "rnn_tanh", "rnn_relu")


def _count(name: str, args: Any, kwargs: Any, out: Any) -> int:
    """Two for each multiplication with its addition."""
    if name in _CONVOLUTIONS:
        x, w = args[0], args[1] if len(args) > 1 else kwargs["weight"]
        transposed = "transpose" in name
        places = (x if transposed else out).shape[-(w.dim() - 2) :]
        batch = out.shape[0] if out.dim() == w.dim() else 1
        return 2 * batch * prod(places) * w.numel()
    if name in ("linear", "matmul", "__matmul__", "mm", "bmm", "mv"):
        return 2 * out.numel() * args[0].shape[-1]
    if name in ("addmm", "addmm_", "baddbmm", "baddbmm_", "addmv"):
        return 2 * out.numel() * args[1].shape[-1]
    if name == "scaled_dot_product_attention":
        q, k, v = args[:3]
        return 2 * prod(q.shape[:-1]) * k.shape[-2] * (q.shape[-1] + v.shape[-1])
    raise NotImplementedError(f"FlopCounterMode: the operations of {name} are not counted yet")


class FlopCounterMode(TorchFunctionMode):
    """Counts while it is entered; inside `no_grad`, or for tensors that require no gradient.

    >>> import undertow as ut
    >>> with ut.no_grad(), FlopCounterMode(display=False) as counter:
    ...     _ = ut.nn.Linear(3, 4)(ut.ones(2, 3))
    >>> counter.get_total_flops()
    48
    """

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: Any = None) -> None:
        super().__init__()
        if custom_mapping:
            raise NotImplementedError("FlopCounterMode: custom_mapping is by torch's internal operators, which are not here")
        self.depth, self.display = depth, display
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self._names: dict[Any, str] = {}
        self._inside: list[str] = []
        self._hooks: list[Any] = []

    def get_total_flops(self) -> int:
        """All that was counted."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """By module, "Global" for all, and by function."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """A line for each module."""
        depth = self.depth if depth is None else depth
        total = max(self.get_total_flops(), 1)
        rows = [(n, sum(c.values())) for n, c in self.flop_counts.items() if n.count(".") < depth]
        return "\n".join(f"{n:<40} {count:>16,} {count / total:>8.2%}" for n, count in rows)

    def _enter(self, module: Any, inputs: Any) -> None:
        if not self._inside:
            name = type(module).__name__
            self._names.update({m: f"{name}.{n}" if n else name for n, m in module.named_modules()})
        self._inside.append(self._names.get(module, type(module).__name__))

    def _leave(self, module: Any, inputs: Any, output: Any) -> None:
        self._inside.pop()

    def __enter__(self) -> FlopCounterMode:
        from undertow.nn.modules import module

        self.flop_counts.clear()
        self._hooks = [module.register_module_forward_pre_hook(self._enter), module.register_module_forward_hook(self._leave, always_call=True)]
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        for hook in self._hooks:
            hook.remove()
        if self.display and error[0] is None:
            print(self.get_table())

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name not in (*_PRODUCTS, *_CONVOLUTIONS, *_OTHERS):
            return func(*args, **kwargs)
        out = func(*args, **kwargs)
        if isinstance(out, undertow.Tensor) and out.requires_grad:
            raise NotImplementedError("FlopCounterMode: a backward pass cannot be counted here; count inside undertow.no_grad()")
        flops = _count(name, args, kwargs, out)
        for where in {"Global", *self._inside}:
            self.flop_counts[where][func] += flops
        return out
