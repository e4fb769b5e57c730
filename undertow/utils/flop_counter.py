"""Count the floating-point operations of matrix products and convolutions in a block, by operator and module.

The counts come from a profile with shapes, which includes the operators of backward passes; a backward node counts for the
module in which its forward operator ran. Other operators are not counted, as in torch.
"""

from __future__ import annotations

from math import prod

import undertow
from undertow.autograd.profiler import profile, record_function
from undertow.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from undertow.overrides import TorchFunctionMode
from undertow.utils.module_tracker import ModuleNames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow.autograd.profiler import FunctionEvent

__all__ = ["FlopCounterMode"]

_PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm")
_CONV_PARTS = ("aten::convolution", "aten::convolution_input", "aten::convolution_weight")  # of a backward node
_MODULE = "module "


def _product_flops(shapes: list[list[int]]) -> int:
    a, b = shapes[-2:]
    return 2 * prod(a) * b[-1]


class _Convolutions(TorchFunctionMode):
    """Records each convolution, because a profile does not have the sizes of results."""

    def __init__(self) -> None:
        self.noted: list[tuple[list[int], list[int], int]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        if name.startswith("conv") and isinstance(result, undertow.Tensor):
            given = dict(zip(("input", "weight"), args, strict=False)) | (kwargs or {})
            x, w = given.get("input"), given.get("weight")
            if isinstance(x, undertow.Tensor) and isinstance(w, undertow.Tensor):
                places = x if "transpose" in name else result  # the positions of the kernel
                batch = x.shape[0] if x.dim() == w.dim() else 1
                self.noted.append((list(x.shape), list(w.shape), 2 * batch * prod(places.shape[2 - w.dim() :]) * prod(w.shape)))
        return result

    def take(self, shapes: list[list[int]]) -> int | None:
        for i, (x, w, flops) in enumerate(self.noted):
            if w == shapes[1] and x in (shapes[0], shapes[0][1:]):
                del self.noted[i]
                return flops
        return None


class FlopCounterMode:
    """Context manager that counts operations; with `display` it prints a table at the end, with modules down to `depth`.

    >>> import undertow as ut
    >>> with FlopCounterMode(display=False) as counter:
    ...     ut.nn.Linear(4, 8)(ut.ones(5, 4)).sum().backward()
    >>> counter.get_total_flops(), counter.get_flop_counts()["Linear"]
    (640, {'aten.addmm': 320, 'aten.mm': 320})
    """

    def __init__(self, mods: Any = None, depth: int | None = 2, display: bool = True, custom_mapping: dict[Any, Any] | None = None) -> None:
        if mods is not None:
            import warnings

            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=2)
        if custom_mapping:
            raise NotImplementedError("FlopCounterMode: custom_mapping is not planned: there are no operator objects to use as keys")
        self.depth = depth
        self.display = display
        self._counts: dict[str, dict[str, int]] = {}
        self._profile: profile | None = None

    # -- running ---------------------------------------------------------------------------------------------------

    def _enter_module(self, module: Any, args: Any) -> None:
        part = record_function(_MODULE + self._names[module])
        part.__enter__()
        self._open.append(part)

    def _leave_module(self, module: Any, args: Any, output: Any) -> None:
        if self._open:
            self._open.pop().__exit__(None, None, None)

    def __enter__(self) -> FlopCounterMode:
        self._counts = {"Global": {}}
        self._names = ModuleNames()
        self._open: list[record_function] = []
        self._handles = (
            register_module_forward_pre_hook(self._enter_module),
            register_module_forward_hook(self._leave_module, always_call=True),
        )
        self._begin()
        return self

    def __exit__(self, *exception: object) -> None:
        for handle in self._handles:
            handle.remove()
        self._end()
        if self.display:
            print(self.get_table(self.depth))

    def _begin(self) -> None:
        self._convolutions = _Convolutions()
        self._convolutions.__enter__()
        self._profile = profile(record_shapes=True)
        self._profile.__enter__()

    def _end(self) -> None:
        if self._profile is None:
            return
        self._profile.__exit__(None, None, None)
        self._convolutions.__exit__(None, None, None)
        events: list[FunctionEvent] = self._profile.function_events or []
        self._profile = None
        of_convolution: dict[int, int] = {}
        for event in events:
            if event.name in _PRODUCTS and len(event.input_shapes) >= 2:
                self._add(event, "aten." + event.name[6:], _product_flops(event.input_shapes))
            elif event.name == "aten::matmul" and not any(e.name in _PRODUCTS for e in _inside(event)):
                a, b = event.input_shapes[:2]
                if len(a) > 1 and len(b) > 1:  # products with vectors are not counted
                    batch = prod(undertow.broadcast_shapes(a[:-2], b[:-2]))
                    self._add(event, "aten.bmm" if len(b) > 2 else "aten.mm", 2 * batch * a[-2] * a[-1] * b[-1])
            elif event.name == "aten::convolution" and _forward_of(event) is None:
                flops = self._convolutions.take(event.input_shapes)
                if flops is None:
                    raise NotImplementedError(f"FlopCounterMode: a convolution of {event.input_shapes} outside of nn.functional cannot be counted")
                of_convolution[id(event)] = flops
                self._add(event, "aten.convolution", flops)
            elif event.name in _CONV_PARTS:  # each takes as many operations as the forward convolution
                known = [of_convolution[id(e)] for e in _inside(_forward_of(event)) if id(e) in of_convolution]
                self._add(event, "aten.convolution_backward", sum(known[:1]))

    def _add(self, event: FunctionEvent, operator: str, flops: int) -> None:
        for name in {"Global", *_modules(event)}:
            row = self._counts.setdefault(name, {})
            row[operator] = row.get(operator, 0) + flops

    def _settled(self) -> None:
        """Count the operations so far; also works inside the context."""
        if self._profile is not None:
            self._end()
            self._begin()

    # -- results ---------------------------------------------------------------------------------------------------

    def get_total_flops(self) -> int:
        """Return the total number of operations."""
        self._settled()
        return sum(self._counts.get("Global", {}).values())

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        """Return the counts by module ("Global" for all) and by operator."""
        self._settled()
        return {name: dict(row) for name, row in self._counts.items()}

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


def _inside(event: FunctionEvent | None) -> list[FunctionEvent]:
    found = [] if event is None else [event]
    for e in found:
        found += e.cpu_children
    return found


def _forward_of(event: FunctionEvent) -> FunctionEvent | None:
    """Return the forward operation of the backward node in which the event ran."""
    at: FunctionEvent | None = event
    while at is not None:
        if at.forward_event is not None:
            return at.forward_event
        at = at.cpu_parent
    return None


def _modules(event: FunctionEvent) -> list[str]:
    """Return the names of the modules in which the event, or its forward operation, ran."""
    names: list[str] = []
    at: FunctionEvent | None = _forward_of(event) or event
    while at is not None:
        if at.name.startswith(_MODULE):
            names.append(at.name[len(_MODULE) :])
        at = at.cpu_parent
    return names
