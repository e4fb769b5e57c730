"""`watch`: statistics of each layer's activations and gradients while a model trains: in the terminal, a notebook or TensorBoard."""

from __future__ import annotations

import sys
import time

from undertow import _C
from undertow.inspect._show import in_notebook
from undertow.inspect._statistics import statistics

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from undertow.nn import Module

_HEAD = ("layer", "activation", "zeros", "gradient", "grad/weight")


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.2e}"


class watch:
    """Context manager: shows live statistics of each layer of `model`, and keeps them.

    Each step of any optimizer is a row of `history`: for each layer the root mean square and the share of zeros of its last activation, the
    norm of its parameters' gradients and their ratio to the parameters. Every `every` steps the table is shown, at most twice a second: in place in a
    terminal, as one output in a notebook, and `writer.add_scalar` gets every figure if a TensorBoard writer is given.

    >>> import undertow as ut
    >>> model = ut.nn.Linear(2, 1)
    >>> optimizer = ut.optim.SGD(model.parameters(), lr=0.1)
    >>> with ut.inspect.watch(model, show=False) as seen:
    ...     model(ut.ones(3, 2)).sum().backward()
    ...     optimizer.step()
    >>> round(seen.history[0]["Linear"]["gradient"], 4)
    5.1962
    """

    def __init__(self, model: Module, *, every: int = 1, writer: Any = None, show: bool = True) -> None:
        self._model, self._every, self._writer, self._show = model, max(every, 1), writer, show
        self._layers = [(name or type(m).__name__, m) for name, m in model.named_modules() if not list(m.children())]
        self._activations: dict[str, dict[str, Any]] = {}
        #: One dictionary per optimizer step: the figures of each layer by its name.
        self.history: list[dict[str, dict[str, float | None]]] = []
        self._shown_lines = 0
        self._last_shown = 0.0
        self._output: Any = None

    def __enter__(self) -> watch:
        from undertow.optim.optimizer import register_optimizer_step_pre_hook

        self._handles = [m.register_forward_hook(self._hook(name)) for name, m in self._layers]
        self._handles.append(register_optimizer_step_pre_hook(self._stepped))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for handle in self._handles:
            handle.remove()
        if self._show and self.history:
            self._display()

    def _hook(self, name: str) -> Any:
        def after_forward(module: Module, args: Any, output: Any) -> None:
            if isinstance(output, _C.Tensor) and output.is_floating_point():
                self._activations[name] = statistics(output, histogram=False)

        return after_forward

    def _stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        row = {name: self._figures(name, module) for name, module in self._layers}
        self.history.append(row)
        step = len(self.history) - 1
        if self._writer is not None:
            for name, figures in row.items():
                for key, value in figures.items():
                    if value is not None:
                        self._writer.add_scalar(f"{name}/{key}", value, step)
        if self._show and step % self._every == 0 and time.monotonic() - self._last_shown >= 0.5:
            self._display()

    def _figures(self, name: str, module: Module) -> dict[str, float | None]:
        seen = self._activations.get(name)
        grads = [statistics(p.grad, histogram=False)["norm"] or 0.0 for p in module.parameters(recurse=False) if p.grad is not None]
        weights = [statistics(p, histogram=False)["norm"] or 0.0 for p in module.parameters(recurse=False) if p.grad is not None]
        grad = sum(g * g for g in grads) ** 0.5 if grads else None
        weight = sum(w * w for w in weights) ** 0.5
        norm = None if seen is None else seen["norm"]
        return {
            "activation": None if norm is None or seen is None else norm / max(seen["size"], 1) ** 0.5,
            "zeros": None if seen is None or seen["zeros"] is None else seen["zeros"] / max(seen["size"], 1),
            "gradient": grad,
            "ratio": None if grad is None or not weight else grad / weight,
        }

    def table(self) -> str:
        """Return the figures of the last step as a table."""
        if not self.history:
            return "no step yet"
        rows = [_HEAD]
        for name, f in self.history[-1].items():
            zeros = "-" if f["zeros"] is None else f"{f['zeros']:.0%}"
            rows.append((name, _figure(f["activation"]), zeros, _figure(f["gradient"]), _figure(f["ratio"])))
        widths = [max(len(row[k]) for row in rows) for k in range(len(_HEAD))]
        lines = ["  ".join(c.ljust(w) if k == 0 else c.rjust(w) for k, (c, w) in enumerate(zip(row, widths, strict=True))) for row in rows]
        return "\n".join([f"step {len(self.history) - 1}", *lines])

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(self.table())}</pre>"

    def _display(self) -> None:
        self._last_shown = time.monotonic()
        text = self.table()
        if in_notebook():
            from IPython.display import HTML, display  # type: ignore[import-not-found, unused-ignore]  # only in a notebook

            if self._output is None:
                self._output = display(HTML(self._repr_html_()), display_id=True)
            else:
                self._output.update(HTML(self._repr_html_()))
            return
        if sys.stdout.isatty() and self._shown_lines:
            sys.stdout.write(f"\x1b[{self._shown_lines}A\x1b[J")  # up and clear, so that the table stays in place
        print(text, flush=True)
        self._shown_lines = text.count("\n") + 1
